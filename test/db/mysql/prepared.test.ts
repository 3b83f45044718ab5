/**
 * @engines sqlite server second-server
 * @tier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mysql from 'mysql2';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { Database } from '../../../src/db/database.ts';
import { serverAddresses } from '../../../src/db/address.ts';
import { applySettings, query } from '../../../src/db/mysql/connect.ts';
import { Hosts } from '../../../src/db/mysql/hosts.ts';
import { SessionPool } from '../../../src/db/mysql/pool.ts';
import { StatementBudget } from '../../../src/db/mysql/session.ts';
import { schema } from '../../../src/app/schema.ts';
import { seed } from '../../../src/sandbox/seed/service.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { connectionOptions, createDatabase } from '../../harness/app/database.ts';
import { type ServerProgram, startServer, type ThrowawayServer } from '../../harness/servers/servers.ts';

// What the service makes a server keep. On a server of its own, since the settings are the whole server's.

const LIMIT = 60;
const DATABASE = 'prepared';

const onPrivateServer = (name: 'mariadb' | 'mysql', program: ServerProgram): void => {
  let server: ThrowawayServer;
  let root: Connection;
  let app: TestApp;
  let user: TestUser;
  let ids: string[];

  beforeAll(async () => {
    server = await startServer(name, program);
    root = await createConnection(connectionOptions(new URL(server.url)));
    await root.query(`CREATE DATABASE ${DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    app = await startApp({ reach: async () => `${server.url}/${DATABASE}` });
    const until = new Date('2026-04-01T00:00:00.000Z');
    await seed(app.context.db, { users: 20, games: 300, images: 10, randomSeed: 1, until }, () => undefined);
    user = await app.aUser();
    ids = (await app.call('game.list', { limit: 100, page: 1 })).items.map(({ id }) => id);
  });
  afterAll(async () => {
    await app.stop();
    await root.end();
    await server.stop();
  });

  const rows = async (sql: string): Promise<RowDataPacket[]> => (await root.query<RowDataPacket[]>(sql))[0];
  const idOf = (n: number): string => ids[n % ids.length]!;
  const tagsOf = async (n: number): Promise<string[]> =>
    (await app.call('game.getById', { id: idOf(n) })).tags.map(({ slug }) => slug);

  /** Calls whose statements differ in the numbers of ids, tags, types, authors and terms, with a viewer and without. */
  const someCalls = async (n: number): Promise<void> => {
    const key = n % 2 === 0 ? user.key : undefined;
    const page = { limit: 1 + (n % 30), page: 1 };
    const sortBy = (['latest', 'views', 'likes', 'favorites', 'oldest'] as const)[n % 5]!;
    const tagSlugs = (await tagsOf(n)).slice(0, 1 + (n % 4));
    await app.call('game.getRelated', { gameId: idOf(n), limit: 1 + (n % 20) }, key);
    await app.call('game.list', { ...page, sortBy, ...(tagSlugs.length > 0 && { tagSlugs }) }, key);
    await app.call('game.list', {
      ...page,
      sortBy,
      timeRange: n % 3 === 0 ? 'year' : 'all',
      search: 'a b'.slice(n % 3),
    });
    await app.call('game.toggleFavorite', { gameId: idOf(n) }, user.key);
    const inputs = Array.from({ length: 1 + (n % 20) }, () => ({ title: 'made', tagNames: [`tag ${n}`] }));
    if (n % 10 === 0) await app.call('game.batchCreate', { games: inputs }, user.key);
  };

  test('fewer prepared statements than it would like fail nothing', async () => {
    const [before] = await rows("SHOW GLOBAL VARIABLES LIKE 'max_prepared_stmt_count'");
    await root.query(`SET GLOBAL max_prepared_stmt_count = ${LIMIT}`);
    try {
      for (let n = 0; n < 60; n += 12)
        await Promise.all(Array.from({ length: 12 }, (_, index) => someCalls(n + index)));
      const [count] = await rows("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
      expect(Number(count!['Value'])).toBeLessThanOrEqual(LIMIT);
    } finally {
      await root.query(`SET GLOBAL max_prepared_stmt_count = ${before!['Value']}`);
    }
  });

  test('no value travels in the text of a statement', async () => {
    await root.query("SET GLOBAL log_output = 'TABLE'");
    await root.query('SET GLOBAL general_log = ON');
    try {
      await someCalls(20);
      await app.call('user.updateProfile', { bio: 'a bio' }, user.key);
      const post = await app.anImagePost({}, user);
      await app.call('image.update', { id: post.id, title: 'another', tagNames: ['one', 'two'] }, user.key);
      await app.call('user.search', { query: 'a', limit: 5 }, user.key);
      await app.fail('game.toggleFavorite', { gameId: user.id }, 404, user.key);
    } finally {
      await root.query('SET GLOBAL general_log = OFF');
    }
    const logged = await rows(
      `SELECT command_type AS kind, CONVERT(argument USING latin1) AS text FROM mysql.general_log
      WHERE thread_id <> CONNECTION_ID() AND command_type IN ('Query', 'Execute')`,
    );
    const textsOf = (kind: string): string[] => logged.filter((row) => row['kind'] === kind).map((row) => row['text']);
    expect(textsOf('Execute').filter((text) => text.includes('game_favorites')).length).toBeGreaterThan(1);
    expect(
      textsOf('Query').filter(
        (text) => !/^(SET SESSION [^?]*|ROLLBACK|SELECT CONCAT\(@@hostname, ':', @@port\) AS server)$/.test(text),
      ),
    ).toEqual([]);
  });

  test('a connection that refuses a setting is used by nobody', async () => {
    const settings = ['SET SESSION sql_mode = DEFAULT', 'SET SESSION no_such_setting = 1'];
    const hosts = new Hosts(serverAddresses(`${server.url}/${DATABASE}`), { needsPrimary: true });
    const sessions = new SessionPool({ hosts, settings, limit: 2, statements: new StatementBudget(10) });
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await expect(sessions.read('SELECT 1', [])).rejects.toMatchObject({ code: 'ER_UNKNOWN_SYSTEM_VARIABLE' });
    }
    sessions.close();
    hosts.close();
    // As TypeORM's pool does, whose statement is sent with the settings.
    const connection = mysql.createConnection({ ...connectionOptions(new URL(server.url)), database: DATABASE });
    connection.on('error', () => undefined);
    await new Promise<void>((resolve) => connection.once('connect', () => resolve()));
    const applied = applySettings(connection, settings);
    const asked = query(connection, 'SELECT 1');
    await expect(applied).rejects.toMatchObject({ code: 'ER_UNKNOWN_SYSTEM_VARIABLE' });
    await expect(asked).rejects.toThrow();
  });
};

const { name, server: spec } = globalThis.TEST_ENGINE;
if (name !== 'sqlite' && name !== 'vitess' && 'binary' in spec) describe('a server', () => onPrivateServer(name, spec));

describe('prepared statements', () => {
  test('statements of more texts than are kept prepared all work, again and again', async () => {
    const database = await createDatabase();
    const db = await Database.open(database.url, schema);
    try {
      const numbers = Array.from({ length: 400 }, (_, index) => index);
      const inTurn = numbers.map((n) => () => db.read(`SELECT ${n} + ? AS sum`, [1]));
      for (const run of [...inTurn, ...inTurn]) expect(await run()).toHaveLength(1);
      const sums = await db.transaction((tx) =>
        Promise.all(numbers.map((n) => tx.read(`SELECT ${n} + ? AS sum`, [1]))),
      );
      expect(sums).toEqual(numbers.map((n) => [{ sum: n + 1 }]));
    } finally {
      await db.close();
      await database.drop();
    }
  });
});
