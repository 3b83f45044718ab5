import {
  exampleApiKey,
  exampleGame,
  exampleGameInput,
  exampleImagePost,
  exampleImagePostInput,
  exampleUser,
  plainGame,
  plainGameInput,
} from '../../contract/examples.ts';
import { type Scope, scopes } from '../../contract/index.ts';
import { gameKind } from '../game/kind.ts';
import { imageKind } from '../image/kind.ts';
import { publish } from '../content/write/publisher.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { gameDraft } from '../game/service.ts';
import { imagePostDraft } from '../image/service.ts';
import { insertKey } from '../auth/service.ts';
import { insertUser } from '../user/service.ts';

const DAY_MS = 86_400_000;
/** The lifetime of the demo's key in days, the same as the default for other keys. */
const KEY_DAYS = 90;

/** Inserts the records of the contract's examples, under the same ids, dated `published`. */
export const insertDemo = async (tx: Transaction, published: Date): Promise<void> => {
  await insertUser(tx, exampleUser, published);
  const { id: userId } = exampleUser;
  await publish(
    tx,
    gameKind,
    userId,
    [
      { ...gameDraft(exampleGameInput), id: exampleGame.id },
      { ...gameDraft({ isFree: true, ...plainGameInput }), id: plainGame.id },
    ],
    published,
  );
  await publish(
    tx,
    imageKind,
    userId,
    [{ ...imagePostDraft(exampleImagePostInput), id: exampleImagePost.id }],
    published,
  );
  // The secret of this key is unknown.
  const { id, name, scopes: held } = exampleApiKey;
  await insertKey(tx, { userId, name, scopes: held, expiresAt: null }, published, undefined, id);
};

/** The user and the key of the demo. */
export interface Demo {
  userId: string;
  /** The scopes of the key, or of a key to be created. */
  scopes: readonly Scope[];
  /** A key of `demo`; undefined without a terminal to show it. */
  key: string | undefined;
  expiresAt: Date;
}

/**
 * Fills a database without users with the records of the contract's examples: the user `demo` and their records, under
 * the same ids, so that each example works unchanged. Makes a key only on demand.
 * @returns undefined for a database that has users
 */
export const createDemo = (db: Database, now: Date, { withKey }: { withKey: boolean }): Promise<Demo | undefined> =>
  db.transaction(async (tx) => {
    if ((await tx.read('SELECT 1 FROM users LIMIT 1')).length > 0) return undefined;
    await insertDemo(tx, new Date(exampleGame.createdAt));
    const demo = { userId: exampleUser.id, scopes, expiresAt: new Date(now.getTime() + KEY_DAYS * DAY_MS) };
    return { ...demo, key: withKey ? (await insertKey(tx, { ...demo, name: 'demo' }, now)).key : undefined };
  });
