import { setTimeout as sleep } from 'node:timers/promises';
import { scopes } from '../../../contract/index.ts';
import { Database } from '../../../src/db/database.ts';
import { idFromBytes, type Bytes } from '../../../src/db/values.ts';
import { createKey } from '../../../src/auth/service.ts';
import { schema } from '../../../src/app/schema.ts';
import { createUser } from '../../../src/user/service.ts';
import { type Ending, openClient } from '../app/client.ts';
import { PLANTED } from '../documents/secrets.ts';

/** Runs `work` on a database, beside the service that uses it. */
export const withDatabase = async <T>(url: string, work: (db: Database) => Promise<T>): Promise<T> => {
  const db = await Database.open(url, schema);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
};

/** A new user's key of all scopes; the database is migrated first. */
export const aKey = (url: string): Promise<string> =>
  withDatabase(url, async (db) => {
    await db.migrate();
    const now = new Date();
    const userId = await createUser(db, 'author', now);
    const { key } = await createKey(db, { userId, name: 'load', scopes, expiresAt: null }, now);
    return key;
  });

/** The ids of all games that are stored. */
export const storedGames = (url: string): Promise<Set<string>> =>
  withDatabase(
    url,
    async (db) => new Set((await db.read<{ id: Bytes }>('SELECT id FROM games')).map((row) => idFromBytes(row.id))),
  );

type Answered = Extract<Ending, { kind: 'answered' }>;
const isSuccess = (ending: Ending): ending is Answered => ending.kind === 'answered' && ending.status === 200;
/** The id of what a call published, in its answer. */
export const idIn = (text: string): string =>
  (JSON.parse(text) as { result: { data: { json: { id: string } } } }).result.data.json.id;

/** Games that are being published. */
export interface Load {
  /** How each call ended so far. */
  endings: Ending[];
  /** The ids of the games whose publication was answered so far. */
  published(): string[];
  /** Resolves when this many calls have ended. */
  reached(calls: number): Promise<void>;
  /** Resolves when no client calls any more: each was asked to stop, or met a connection that was refused. */
  done: Promise<void>;
  stop(): void;
}

/** Publishes games as fast as the service takes them, each client on a kept-alive connection of its own. */
export const startLoad = (base: string, key: string, clients: number): Load => {
  const endings: Ending[] = [];
  let isStopped = false;
  const run = async (name: number): Promise<void> => {
    const client = openClient(base, key);
    for (let n = 0; !isStopped; n += 1) {
      const ending = await client.call('game.create', {
        title: `game ${n} of client ${name}`,
        description: PLANTED,
        gameType: `T${n % 3}`,
        tagNames: ['load', `tag ${(name + n) % 5}`],
      });
      endings.push(ending);
      if (ending.kind === 'refused') break;
    }
    client.close();
  };
  return {
    endings,
    published: () => endings.flatMap((ending) => (isSuccess(ending) ? [idIn(ending.text)] : [])),
    reached: async (calls) => {
      while (endings.length < calls) await sleep(5);
    },
    done: Promise.all(Array.from({ length: clients }, (_, name) => run(name))).then(() => undefined),
    stop: () => {
      isStopped = true;
    },
  };
};
