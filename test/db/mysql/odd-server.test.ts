/**
 * @engines sqlite server second-server
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { expectExactCounts } from '../../harness/app/counts.ts';
import { connectionOptions } from '../../harness/app/database.ts';
import { type ServerProgram, startServer, type ThrowawayServer } from '../../harness/servers/servers.ts';

// A server that was told everything that the service does not expect, and an account without privileges on it. What the
// service does must be the same as elsewhere.

const DATABASE = 'odd';
const OPTIONS = [
  '--sql-mode=NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE',
  '--transaction-isolation=SERIALIZABLE',
  '--default-time-zone=+09:00',
  '--character-set-server=latin1',
  '--collation-server=latin1_swedish_ci',
];
/** It does not care what a client says that it speaks. MySQL 9 has no such option. */
const DEAF = { mariadb: ['--skip-character-set-client-handshake'], mysql: [] };
const AT_FIRST = ['--lower-case-table-names=1'];

const globals = (name: 'mariadb' | 'mysql'): Record<string, string> => ({
  autocommit: '0',
  default_storage_engine: 'MyISAM',
  foreign_key_checks: '0',
  [name === 'mariadb' ? 'tx_read_only' : 'transaction_read_only']: '1',
  sql_safe_updates: '1',
  sql_select_limit: '3',
  // What those without SUPER run first.
  init_connect: "'SET NAMES latin1'",
});

const PAYLOADS = [
  "x', location = (SELECT HEX(key_hash) FROM api_keys LIMIT 1) WHERE nickname = 0x6576696c -- ",
  "x\\', location = (SELECT HEX(key_hash) FROM api_keys LIMIT 1) WHERE nickname = 0x6576696c -- ",
  'x", location = (SELECT HEX(key_hash) FROM api_keys LIMIT 1) WHERE nickname = 0x6576696c -- ',
  "it's",
  '"quoted" and `quoted`',
  '\\',
  "\\'",
  "''; DROP TABLE users; --",
  'a || b /* c */ # d',
  '%_\\%\\_',
  '🐉 ハハ パパ ñ ß ÿ €',
  '\u00a0\u{10ffff}\u200b',
];

/** Holds for any database. */
const works = (started: () => TestApp): void => {
  let app: TestApp;
  let evil: TestUser;
  beforeAll(async () => {
    app = started();
    evil = await app.aUser({ nickname: 'evil' });
  });

  test.each(PAYLOADS)('a profile holds %j as it is', async (text) => {
    const before = await app.call('user.updateProfile', { location: 'at home', bio: null }, evil.key);
    expect(before).toMatchObject({ nickname: 'evil', location: 'at home', bio: null });
    const after = await app.call('user.updateProfile', { bio: text }, evil.key);
    expect(after).toMatchObject({ nickname: 'evil', location: 'at home', bio: text });
    const profile = { nickname: 'evil', location: 'at home', bio: text };
    expect(await app.call('user.getProfile', { id: evil.id })).toMatchObject(profile);
  });

  test('games hold them, and are found by them', async () => {
    const author = await app.aUser();
    for (const [n, text] of PAYLOADS.entries()) {
      const title = `${text.trim()}!`;
      // Else some of them would be the same tag.
      const tagNames = [`${n} ${text.trim().slice(0, 30)}!`];
      const { id } = await app.aGame({ title, description: text, tagNames }, author);
      const game = await app.call('game.getById', { id });
      expect(game).toMatchObject({ title, description: text, tags: [{ name: tagNames[0] }] });
      const { items } = await app.call('game.list', { limit: 100, page: 1, search: title });
      expect(items.map((item) => item.id)).toContain(id);
      const slugs = game.tags.map(({ slug }) => slug);
      const tagged = await app.call('game.list', { limit: 100, page: 1, tagSlugs: slugs });
      expect(tagged.items.map((item) => item.id)).toContain(id);
    }
    const none = await app.call('game.list', { limit: 100, page: 1, search: "' OR 1=1 -- " });
    expect(none).toMatchObject({ items: [], total: 0 });
    // Not the same, though most collations say so.
    const two = await app.aGame({ tagNames: ['ハハ', 'パパ', 'é', 'e'] }, author);
    expect(two.tags.map((tag) => tag.name)).toEqual(['ハハ', 'パパ', 'é', 'e']);
  });

  test('times are in UTC, pages and walks are whole, and toggles count', async () => {
    const began = Date.now();
    const author = await app.aUser();
    const gameType = 'WALK';
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) ids.unshift((await app.aGame({ gameType }, author)).id);
    const page = await app.call('game.list', { limit: 100, page: 1, gameType });
    expect(page.items.map(({ id }) => id)).toEqual(ids);
    expect(page.total).toBe(7);
    for (const { createdAt } of page.items) {
      expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(began - 1000);
      expect(Date.parse(createdAt)).toBeLessThanOrEqual(Date.now() + 1000);
    }
    const recent = await app.call('game.list', { limit: 100, page: 1, gameType, timeRange: 'day' });
    expect(recent.total).toBe(7);

    const walked: string[] = [];
    let cursor: string | null | undefined;
    do {
      const next = await app.call('game.list', { limit: 2, page: 1, gameType, ...(cursor && { cursor }) });
      walked.push(...next.items.map(({ id }) => id));
      cursor = next.nextCursor;
    } while (cursor);
    expect(walked).toEqual(ids);

    const [first = ''] = ids;
    await app.call('game.toggleFavorite', { gameId: first }, author.key);
    await app.call('game.toggleReaction', { gameId: first, type: 'like' }, author.key);
    await app.call('game.toggleReaction', { gameId: first, type: 'dislike' }, author.key);
    expect(await app.call('game.getById', { id: first }, author.key)).toMatchObject({
      favoriteCount: 1,
      likeCount: 0,
      dislikeCount: 1,
    });
    await app.call('game.toggleFavorite', { gameId: first }, author.key);
    const found = await app.call('user.search', { query: author.nickname, limit: 5 }, author.key);
    expect(found.items.map(({ id }) => id)).toContain(author.id);
    await expectExactCounts(app.context.db);
  });
};

const onPrivateServer = (name: 'mariadb' | 'mysql', program: ServerProgram): void => {
  let server: ThrowawayServer;
  let root: Connection;
  let app: TestApp;

  beforeAll(async () => {
    server = await startServer(name, program, { options: [...OPTIONS, ...DEAF[name]], atFirst: AT_FIRST });
    root = await createConnection(connectionOptions(new URL(server.url)));
    await root.query(`CREATE DATABASE ${DATABASE} CHARACTER SET latin1 COLLATE latin1_swedish_ci`);
    await root.query("CREATE USER plain@'%' IDENTIFIED BY 'plain'");
    await root.query(`GRANT ALL ON ${DATABASE}.* TO plain@'%'`);
    for (const [variable, value] of Object.entries(globals(name))) {
      await root.query(`SET GLOBAL ${variable} = ${value}`);
    }
    app = await startApp({ reach: async () => `${server.url.replace('root@', 'plain:plain@')}/${DATABASE}` });
  });
  afterAll(async () => {
    await app.stop();
    await root.end();
    await server.stop();
  });

  const rows = async (sql: string): Promise<RowDataPacket[]> => (await root.query<RowDataPacket[]>(sql))[0];

  test('it is told nothing', async () => {
    const odd = await createConnection({ ...connectionOptions(new URL(server.url)), user: 'plain', password: 'plain' });
    const [[row]] = await odd.query<RowDataPacket[]>(
      `SELECT @@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%' AS mode, @@character_set_client AS charset,
        @@collation_connection AS collation, @@time_zone AS zone, @@autocommit AS autocommit,
        @@lower_case_table_names AS cases`,
    );
    await odd.end();
    expect(row).toEqual({
      mode: 1,
      charset: 'latin1',
      collation: 'latin1_swedish_ci',
      zone: '+09:00',
      autocommit: 0,
      cases: 1,
    });
  });

  test('every connection has the settings of the service', async () => {
    const { db } = app.context;
    const isolation = name === 'mariadb' ? 'tx' : 'transaction';
    const settings = `SELECT @@sql_mode AS mode, @@time_zone AS zone, @@${isolation}_isolation AS isolation,
      @@${isolation}_read_only AS read_only, @@character_set_client AS client, @@character_set_connection AS connection,
      @@character_set_results AS results, @@collation_connection AS collation, @@default_storage_engine AS engine,
      @@foreign_key_checks AS keys_checked, @@sql_safe_updates AS safe, @@sql_select_limit > 1000000 AS unlimited`;
    const many = <T>(n: number, run: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: n }, run));
    const seen = [
      ...(await many(12, () => db.read(settings))),
      ...(await many(10, () => db.transaction((tx) => tx.read(settings)))),
      ...(await many(2, () => db.dataSource.query<unknown[]>(settings))),
    ];
    const expected = {
      mode: 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
      zone: '+00:00',
      isolation: 'READ-COMMITTED',
      read_only: 0,
      client: 'utf8mb4',
      connection: 'utf8mb4',
      results: 'utf8mb4',
      collation: 'utf8mb4_bin',
      engine: 'InnoDB',
      keys_checked: 1,
      safe: 0,
      unlimited: 1,
    };
    expect(seen).toEqual(Array.from({ length: 24 }, () => [expected]));
  });

  test('the tables are the same as elsewhere', async () => {
    expect(
      await rows(`SELECT table_name AS t, column_name AS c, character_set_name AS s, collation_name AS o
        FROM information_schema.columns WHERE table_schema = '${DATABASE}' AND character_set_name IS NOT NULL
        AND collation_name <> 'utf8mb4_bin' AND table_name <> 'migrations'`),
    ).toEqual([]);
    const engines = await rows(
      `SELECT DISTINCT engine AS name FROM information_schema.tables WHERE table_schema = '${DATABASE}'`,
    );
    expect(engines).toEqual([{ name: 'InnoDB' }]);
    const keys = await rows(
      `SELECT COUNT(*) AS n FROM information_schema.referential_constraints WHERE constraint_schema = '${DATABASE}'`,
    );
    expect(Number(keys[0]?.['n'])).toBeGreaterThan(10);
    expect((await app.context.db.dataSource.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
    expect(await app.context.db.pendingMigrations()).toEqual([]);
  });

  describe('the service', () => works(() => app));
};

/** What the odd ones are compared with. */
const onOrdinaryDatabase = (): void => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());
  describe('the service', () => works(() => app));
};

const { name, server } = globalThis.TEST_ENGINE;
if (name !== 'sqlite' && name !== 'vitess' && 'binary' in server)
  describe('on an odd server', () => onPrivateServer(name, server));
else describe('on an ordinary database', onOrdinaryDatabase);
