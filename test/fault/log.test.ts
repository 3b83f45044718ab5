/**
 * @engines sqlite server
 * @tier fault
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import type { Input, ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';
import { PLANTED } from '../harness/documents/secrets.ts';
import { holdWriteLock } from '../harness/servers/sqlite-lock.ts';

// What the log says of failures, which is nothing of what callers sent: `stop` looks through it for planted values too.

let database: TestDatabase;
let key: string;
let served: ServeProcess;
let client: Client;

const start = async (env: Environment = {}): Promise<void> => {
  served = await startServe({ url: database.url, env: { LOG_LEVEL: 'debug', ...env } });
  client = openClient(served.base, key);
};

describe('faults and', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    await start();
  });
  afterEach(async () => {
    client.close();
    await served.stop('SIGKILL');
    await database.drop();
  });

  let serial = 0;
  /** A value that no log may show, each a different one, with what a statement or message could break on. */
  const secret = (): string => `${(serial += 1)} ${PLANTED} 'it\\'s" 🐉`;
  const secretUrl = (): string => `https://example.com/${PLANTED}/${(serial += 1)}`;

  const games = (): Input<'game.create'> => ({
    title: secret(),
    description: secret(),
    coverUrl: secretUrl(),
    gameType: `${PLANTED} ${(serial += 1)}`,
    tagNames: [secret(), secret()],
    extraInfo: {
      originalName: secret(),
      originalAuthor: secret(),
      platforms: [secret()],
      screenshots: [secretUrl()],
      downloads: [{ name: secret(), url: secretUrl(), password: secret() }],
    },
  });
  const posts = (): Input<'image.create'> => ({
    title: secret(),
    description: secret(),
    images: [secretUrl()],
    tagNames: [secret()],
  });

  /** Every write that takes a text, with a planted value wherever one goes. */
  const writes = (postId: string): [ProcedureId, unknown][] => [
    ['game.create', games()],
    ['game.batchCreate', { games: [games(), games()] }],
    ['image.create', posts()],
    ['image.batchCreate', { posts: [posts(), posts()] }],
    ['image.update', { id: postId, ...posts() }],
    [
      'user.updateProfile',
      {
        nickname: secret(),
        bio: secret(),
        pronouns: secret(),
        website: secretUrl(),
        location: secret(),
        socialLinks: { [PLANTED]: secretUrl() },
      } satisfies Input<'user.updateProfile'>,
    ],
    ['user.updateAvatar', { avatar: secretUrl() }],
  ];

  const statusOf = (ending: Ending): number => {
    if (ending.kind !== 'answered') throw new Error(`The connection failed: ${JSON.stringify(ending)}`);
    return ending.status;
  };

  const aPost = async (): Promise<string> => {
    const ending = await client.call('image.create', posts());
    if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(JSON.stringify(ending));
    return (JSON.parse(ending.text) as { result: { data: { json: { id: string } } } }).result.data.json.id;
  };

  const callAll = (calls: [ProcedureId, unknown][]): Promise<number[]> =>
    Promise.all(
      calls.map(async ([procedure, input]) => {
        const own = openClient(served.base, key);
        const status = statusOf(await own.call(procedure, input));
        own.close();
        return status;
      }),
    );

  /** The errors in the log, once there are so many. @throws Error where they do not come within a while */
  const errorsLogged = async (count: number): Promise<{ err: Record<string, unknown> }[]> => {
    for (let tries = 0; tries < 500; tries += 1) {
      const lines = served
        .log()
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'));
      const entries = lines.map((line) => JSON.parse(line) as { err?: Record<string, unknown> });
      const errors = entries.flatMap(({ err }) => (err ? [{ err }] : []));
      if (errors.length >= count) return errors;
      await sleep(20);
    }
    throw new Error(`There are not ${count} errors in the log:\n${served.log()}`);
  };

  const run = (...statements: string[]): Promise<void> =>
    withDatabase(database.url, async (db) => {
      // The service may be writing what it counts.
      if (engine === 'sqlite') await db.dataSource.query('PRAGMA busy_timeout = 60000');
      for (const sql of statements) await db.dataSource.query(sql);
    });

  test('a database that repeats the values it refuses does not have them logged', async () => {
    const post = await aPost();
    // Its words are the value itself, and no more.
    const aborts = (table: string, column: string) =>
      ['INSERT', 'UPDATE'].map((event) =>
        engine === 'sqlite'
          ? `CREATE TRIGGER ${table}_${event} BEFORE ${event} ON ${table} BEGIN SELECT RAISE(ABORT, NEW.${column}); END`
          : `CREATE TRIGGER ${table}_${event} BEFORE ${event} ON ${table} FOR EACH ROW BEGIN
            DECLARE words VARCHAR(120) DEFAULT COALESCE(REPLACE(LEFT(NEW.${column}, 120), '🐉', ''), 'none');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = words;
          END`,
      );
    await run(...aborts('games', 'description'), ...aborts('image_posts', 'title'), ...aborts('users', 'bio'));
    const calls = writes(post).filter(([procedure]) => procedure !== 'user.updateAvatar');
    expect(new Set(await callAll(calls))).toEqual(new Set([500]));
    const errors = await errorsLogged(calls.length);
    expect(errors[0]?.err).toMatchObject(
      engine === 'sqlite' ? { code: 'ERR_SQLITE_ERROR' } : { code: expect.any(String), errno: 1644, sqlState: '45000' },
    );
  });

  test('neither do duplicates, texts that are too long, and tables that are missing', async () => {
    const post = await aPost();
    const bio = secret();
    const length = engine === 'sqlite' ? '' : '(100)';
    await run(`CREATE UNIQUE INDEX only_one ON users (bio${length})`);
    await run(`INSERT INTO users (id, nickname, bio, social_links, search_text, created_at, updated_at)
    VALUES (X'00112233445566778899aabbccddeeff', 'x', '${bio.replaceAll("'", "''").replaceAll('\\', engine === 'sqlite' ? '\\' : '\\\\')}', '{}', 'x',
      '2026-04-01 00:00:00.000', '2026-04-01 00:00:00.000')`);
    expect(statusOf(await client.call('user.updateProfile', { bio }))).toBe(500);
    const [duplicate] = await errorsLogged(1);
    expect(duplicate?.err).toMatchObject(
      engine === 'sqlite' ? { errcode: 2067 } : { code: 'ER_DUP_ENTRY', errno: 1062 },
    );

    await run('DROP TABLE image_post_tags', 'DROP TABLE game_tags');
    await run(engine === 'sqlite' ? 'DROP INDEX only_one' : 'ALTER TABLE users MODIFY avatar varchar(5)');
    const statuses = await callAll(writes(post));
    expect(statuses.filter((status) => status === 500).length).toBeGreaterThanOrEqual(5);
    await errorsLogged(1 + 5);
  });

  const onServers = (): void => {
    test('connections that break in the middle of writes leave nothing of these in the log', async () => {
      const post = await aPost();
      const options = connectionOptions(new URL(database.url));
      const [operator, locker] = [await createConnection(options), await createConnection(options)];
      const calls = writes(post);
      // The look-up of the key reads users, and is remembered for half a second only.
      await locker.query('LOCK TABLES users READ, tags WRITE, games WRITE, image_posts WRITE');
      const answered = callAll(calls);
      const waiting = async (): Promise<number[]> => {
        const [rows] = await operator.query<RowDataPacket[]>('SHOW PROCESSLIST');
        return rows.filter(({ db, State }) => db === options.database && /lock/i.test(State ?? '')).map(({ Id }) => Id);
      };
      let isOver = false;
      void answered.finally(() => (isOver = true));
      while (!isOver && (await waiting()).length < calls.length) await sleep(20);
      // Each is run again, for a moment.
      while (!isOver) {
        for (const id of await waiting()) await operator.query(`KILL ${id}`).catch(() => undefined);
        await sleep(10);
      }
      const statuses = await answered;
      await locker.query('UNLOCK TABLES');
      await Promise.all([operator.end(), locker.end()]);
      expect(new Set(statuses)).toEqual(new Set([503]));
      const errors = await errorsLogged(calls.length);
      expect(errors.map(({ err }) => err)).toContainEqual(
        expect.objectContaining({ code: 'PROTOCOL_CONNECTION_LOST' }),
      );
    });
  };

  // What hardly touches the database is tried on one of them.
  const onSqlite = (): void => {
    test('what is asked for is not logged either, nor the key', async () => {
      for (const authorization of [key, `${key}x`, `${PLANTED} `]) {
        const headers = { Authorization: `Bearer ${authorization}`, Cookie: PLANTED, 'User-Agent': PLANTED };
        const input = encodeURIComponent(JSON.stringify({ json: { limit: 1, page: 1, search: PLANTED } }));
        await fetch(`${served.base}/api/trpc/game.list?input=${input}`, { headers });
        await fetch(`${served.base}/api/trpc/user.me?${PLANTED}`, {
          method: 'POST',
          headers,
          body: `{"json": ${PLANTED}}`,
        });
      }
      expect(await served.stop()).toBe(0);
      expect(served.log()).toContain('"path":"/api/trpc/game.list"');
    });

    test('a fault of the service itself ends it without a word of what it held', async () => {
      await served.stop();
      // Put together there: the place where it is thrown names the module, which is its own text.
      const words = JSON.stringify([...PLANTED]);
      const code = `process.once('SIGUSR2', () => {
      const secret = ${words}.join('');
      throw Object.assign(new Error(secret), { sql: secret, sqlState: '45000' });
    });`;
      await start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` });
      served.child.kill('SIGUSR2');
      expect(await new Promise((resolve) => served.child.once('exit', resolve))).toBe(1);
      expect(served.log()).toMatch(/"level":60,.*"err":\{"type":"Error".*"msg":"uncaught exception; exiting"/);
    });

    test('writes that another process holds up leave nothing in the log', async () => {
      const post = await aPost();
      const release = await holdWriteLock(database.url);
      expect(new Set(await callAll(writes(post)))).toEqual(new Set([503]));
      await release();
      await errorsLogged(7);
    });
  };

  describe('the log', engine === 'sqlite' ? onSqlite : onServers);
});
