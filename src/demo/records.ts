import {
  exampleGame,
  exampleGameInput,
  exampleImagePost,
  exampleImagePostInput,
  exampleUser,
  plainGame,
  plainGameInput,
} from '../../contract/examples.ts';
import { scopes } from '../../contract/index.ts';
import { gameKind } from '../game/kind.ts';
import { imageKind } from '../image/kind.ts';
import { publish } from '../content/publish.ts';
import type { Database } from '../db/database.ts';
import { gameDraft } from '../game/service.ts';
import { imagePostDraft } from '../image/service.ts';
import { insertKey } from '../key/service.ts';
import { insertUser } from '../user/service.ts';

/**
 * Fills a database without users with what the contract's examples talk about: the user `demo` and their records, under
 * the very ids of the examples, so that each example works as it stands.
 * @returns a key of `demo` with every scope, or undefined for a database that has users
 */
export const createDemo = (db: Database, now: Date): Promise<string | undefined> =>
  db.transaction(async (tx) => {
    if ((await tx.read('SELECT 1 FROM users LIMIT 1')).length > 0) return undefined;
    const published = new Date(exampleGame.createdAt);
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
    const { key } = await insertKey(tx, { userId, name: 'demo', scopes, expiresAt: null }, now);
    return key;
  });
