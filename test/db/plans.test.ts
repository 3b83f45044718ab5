/**
 * @engines sqlite server second-server
 * @tier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection } from 'mysql2/promise';
import type { Parameter } from '../../src/db/connection.ts';
import { getRecord } from '../../src/content/service.ts';
import { countTypes, listGames, relatedGames } from '../../src/game/service.ts';
import { anonymousCall } from '../harness/app/call.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { connectionOptions, engine } from '../harness/app/database.ts';
import { interceptReads } from '../harness/documents/reads.ts';

// How many rows each query looks at, among 100 000 games: MySQL and MariaDB count them; of SQLite, where the source leaves
// the planner no choice, the plan is looked at. An index that is lost, or not used, fails here.

const GAMES = 100_000;
/** Games lie evenly over about two years before this instant. */
const NOW = Date.parse('2026-04-01T00:00:00.000Z');
const STEP_S = 630;
const FIRST_S = NOW / 1000 - GAMES * STEP_S;

let app: TestApp;
let connection: Connection | undefined;
let newest: string;
const authorIds: string[] = [];

/** Game n is tagged `every-<d>` where d divides n. */
const tagDivisors = [3, 5, 97, 199, 4999];
const [POPULAR, COMMON, MIDDLE, UNCOMMON, RARE] = tagDivisors.map((divisor) => `every-${divisor}`) as [
  string,
  string,
  string,
  string,
  string,
];

const isSqlite = engine === 'sqlite';
const second = `(${FIRST_S} + n * ${STEP_S})`;
/** The id and the time of game n. */
const id = isSqlite
  ? `unhex(format('%012X7000%016X', ${second} * 1000, n))`
  : `UNHEX(CONCAT(LPAD(HEX(${second} * 1000), 12, '0'), '7000', LPAD(HEX(n), 16, '0')))`;
const createdAt = isSqlite
  ? `datetime(${second}, 'unixepoch') || '.000'`
  : `TIMESTAMPADD(SECOND, ${second}, '1970-01-01 00:00:00')`;
const gameType = "CASE WHEN n % 1009 = 0 THEN 'RARE' ELSE SUBSTR('RPGADVSLGACTSTGPZLSIM', 1 + 3 * (n % 7), 3) END";

/** A few games are of the second author. */
const OF_SECOND = 499;

const statements = (author: string, other: string): string[] => [
  'CREATE TABLE numbers (n integer NOT NULL PRIMARY KEY)',
  `INSERT INTO numbers SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d FROM ${['a', 'b', 'c', 'e', 'f']
    .map((alias) => `(${Array.from({ length: 10 }, (_, d) => `SELECT ${d} AS d`).join(' UNION ALL ')}) ${alias}`)
    .join(' CROSS JOIN ')}`,
  `INSERT INTO games (id, author_id, title, search_text, extra_info, is_free, created_at, updated_at, game_type,
      original_author, view_count, like_count, favorite_count, tag_ids)
    SELECT ${id}, CASE WHEN n % ${OF_SECOND} = 1 THEN ${other} ELSE ${author} END, CONCAT('game ', n), CONCAT('game ', n), '{}', 1, ${createdAt}, ${createdAt}, ${gameType},
      CASE WHEN n % 11 = 0 THEN CONCAT('author ', n % 1000) END, (n * 7919) % 100003, (n * 104729) % 211,
      (n * 1299709) % 101,
      ${isSqlite ? 'RTRIM' : 'TRIM'}(${isSqlite ? '' : "TRAILING ',' FROM "}CONCAT(${tagDivisors
        .map((divisor, index) => `CASE WHEN n % ${divisor} = 0 THEN '${index + 1},' ELSE '' END`)
        .join(', ')})${isSqlite ? ", ','" : ''})
    FROM numbers`,
  ...tagDivisors.flatMap((divisor, index) => [
    `INSERT INTO tags (id, slug, name, game_count)
      SELECT ${index + 1}, 'every-${divisor}', 'every ${divisor}', COUNT(*) FROM numbers WHERE n % ${divisor} = 0`,
    `INSERT INTO game_tags (game_id, tag_id, position, game_type)
      SELECT ${id}, ${index + 1}, ${index}, ${gameType} FROM numbers WHERE n % ${divisor} = 0`,
  ]),
  'UPDATE users SET game_count = (SELECT COUNT(*) FROM games WHERE author_id = users.id)',
  "REPLACE INTO counters (name, n) SELECT 'games', COUNT(*) FROM games",
  "REPLACE INTO counters (name, n) SELECT CONCAT('games:', game_type), COUNT(*) FROM games GROUP BY game_type",
];

describe('query plans', () => {
  beforeAll(async () => {
    app = await startApp({ now: () => new Date(NOW) });
    authorIds.push((await app.aUser()).id, (await app.aUser()).id);
    const [author, other] = authorIds.map((of) => `X'${of.replaceAll('-', '')}'`);
    const { dataSource } = app.context.db;
    for (const sql of statements(author!, other!)) await dataSource.query(sql);
    if (isSqlite) return;
    await dataSource.query('ANALYZE TABLE games, game_tags, tags, counters');
    connection = await createConnection(connectionOptions(new URL(app.databaseUrl)));
  });
  afterAll(async () => {
    await connection?.end();
    await app.stop();
  });

  interface Statement {
    sql: string;
    parameters: Parameter[];
  }

  /** The statements that `work` runs the second time, when what it remembers is there. */
  const statementsOf = async (work: () => Promise<unknown>): Promise<Statement[]> => {
    await work();
    const seen: Statement[] = [];
    const restore = interceptReads(app.context.db, (read) => (...statement) => {
      const [sql, parameters] = statement;
      seen.push({ sql, parameters: [...(parameters ?? [])] });
      return read(...statement);
    });
    try {
      await work();
    } finally {
      restore();
    }
    return seen;
  };

  /** How many rows and entries of indexes a server reads for a statement. */
  const rowsRead = async ({ sql, parameters }: Statement): Promise<number> => {
    await connection!.query('FLUSH STATUS');
    await connection!.execute(sql, parameters);
    const [rows] = await connection!.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
    return (rows as { Value: string }[]).reduce((sum, { Value }) => sum + Number(Value), 0);
  };

  /** What SQLite reads without an index. */
  const scans = async ({ sql, parameters }: Statement): Promise<string[]> => {
    const plan = await app.context.db.read<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    return plan
      .map(({ detail }) => detail)
      .filter((detail) => /^SCAN (?!p\b|c\d*\b|part\b|m\b|g\b|\()/.test(detail) && !/USING.*INDEX/.test(detail));
  };

  const expectRows = async (most: number, work: () => Promise<unknown>, trips = 1): Promise<void> => {
    const seen = await statementsOf(work);
    expect(seen).toHaveLength(trips);
    for (const statement of seen) {
      if (isSqlite) expect(await scans(statement)).toEqual([]);
      else expect(await rowsRead(statement)).toBeLessThanOrEqual(most);
    }
  };

  type Input = Partial<Parameters<typeof listGames>[1]>;

  const list = (input: Input) => () =>
    listGames(
      app.context.routers.game,
      { limit: 20, page: 1, sortBy: 'latest', timeRange: 'all', ...input },
      anonymousCall(),
    );

  const sorts = ['latest', 'oldest', 'views', 'likes', 'favorites'] as const;
  const crossed = <S extends string, T extends unknown[]>(names: readonly S[], cases: readonly T[]) =>
    names.flatMap((name) => cases.map((one): [S, ...T] => [name, ...one]));

  /** The indexes of games that the plan of a statement names. */
  const indexesOf = async ({ sql, parameters }: Statement): Promise<string[]> => {
    const explained = `${isSqlite ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN FORMAT=JSON'} ${sql}`;
    const rows = isSqlite
      ? await app.context.db.read<object>(explained, parameters)
      : (await connection!.execute(explained, parameters))[0];
    return [...new Set(JSON.stringify(rows).match(/\bgames_[a-z_]+/g))].toSorted();
  };

  describe('a page of an author', () => {
    const cases: [string, Input, number, number][] = [
      // The first has nearly all games, the second 200.
      ['first', {}, 150, 300],
      ['second', {}, 150, 1000],
      ['second', { gameType: 'RPG' }, 1000, 1000],
      ['second', { timeRange: 'year' }, 800, 1000],
      ['second', { tagSlugs: [POPULAR] }, 1500, 1500],
      ['second', { search: 'game 1' }, 1000, 1000],
    ];
    test.each(
      cases.flatMap(([of, filter, most, sorted]) => sorts.map((by) => [of, filter, by, most, sorted] as const)),
    )('the %s, with %j by %s', async (of, filter, sortBy, most, sorted) => {
      const authorId = authorIds[of === 'first' ? 0 : 1]!;
      const query = list({ ...filter, sortBy, authorId });
      await expectRows(sortBy === 'latest' || sortBy === 'oldest' ? most : sorted, query);
      if (of === 'first' && sortBy !== 'latest' && sortBy !== 'oldest') return;
      const [statement] = await statementsOf(query);
      expect(await indexesOf(statement!)).toEqual(['games_author']);
    });
  });

  describe('a page', () => {
    test.each(
      crossed(sorts, [
        // Each game, its author, and, of those without tags, that no link is there.
        ['all', {}, 150],
        ['a type', { gameType: 'RPG' }, 400],
        ['a rare type', { gameType: 'RARE' }, 5000],
        ['a popular tag', { tagSlugs: [POPULAR] }, 400],
        ['a tag that 1 % have', { tagSlugs: [MIDDLE] }, 8000],
        ['a tag that 0.5 % have', { tagSlugs: [UNCOMMON] }, 12_000],
        ['a rare tag', { tagSlugs: [RARE] }, 300],
        ['the day', { timeRange: 'day' }, 800],
        ['the week', { timeRange: 'week' }, 4500],
        // Of the following most is counting, which ends at 10 000.
        ['the month', { timeRange: 'month' }, 11_000],
        ['the year', { timeRange: 'year' }, 21_000],
      ] satisfies [string, Input, number][]),
    )('by %s of %s', (sortBy, _, filter, most) => expectRows(most, list({ ...filter, sortBy })));

    test.each(
      crossed(['latest', 'views', 'likes'] as const, [
        ['a popular tag and a type', { tagSlugs: [POPULAR], gameType: 'RPG' }, 900],
        ['a tag that 1 % have and a type', { tagSlugs: [MIDDLE], gameType: 'RPG' }, 7000],
        ['two popular tags', { tagSlugs: [POPULAR, COMMON] }, 1200],
        ['a popular tag and one that 1 % have', { tagSlugs: [POPULAR, MIDDLE] }, 20_000],
        ['two tags that few have', { tagSlugs: [MIDDLE, UNCOMMON] }, 5000],
        ['a popular tag of the month', { tagSlugs: [POPULAR], timeRange: 'month' }, 6000],
        ['a rare tag of the year', { tagSlugs: [RARE], timeRange: 'year' }, 300],
        ['a type of the month', { gameType: 'RPG', timeRange: 'month' }, 6000],
        ['a rare type of the week', { gameType: 'RARE', timeRange: 'week' }, 300],
      ] satisfies [string, Input, number][]),
    )('by %s of %s', (sortBy, _, filter, most) => expectRows(most, list({ ...filter, sortBy })));

    test.each([
      ['all', {}, 10_200],
      ['all by views', { sortBy: 'views' }, 10_200],
      ['a type', { gameType: 'RPG' }, 10_200],
      ['a type by likes', { gameType: 'RPG', sortBy: 'likes' }, 90_000],
      ['a popular tag', { tagSlugs: [POPULAR] }, 10_200],
      ['a popular tag by favorites', { tagSlugs: [POPULAR], sortBy: 'favorites' }, 120_000],
      ['the year', { timeRange: 'year' }, 31_000],
      ['the year by likes', { timeRange: 'year', sortBy: 'likes' }, 60_000],
    ] satisfies [string, Input, number][])('500 of %s', (_, filter, most) =>
      expectRows(most, list({ ...filter, page: 500 })),
    );

    test.each(
      crossed(sorts, [
        ['all', {}, 200],
        ['a type', { gameType: 'RPG' }, 600],
        ['a popular tag', { tagSlugs: [POPULAR] }, 700],
      ] satisfies [string, Input, number][]),
    )('by %s of %s from a cursor in the middle', async (sortBy, _, filter, most) => {
      const { nextCursor } = await list({ ...filter, sortBy, page: 400 })();
      await expectRows(most, list({ ...filter, sortBy, cursor: nextCursor! }));
    });
  });

  test('a count is made anew only when it may have changed', async () => {
    const query = list({ tagSlugs: [COMMON, MIDDLE] });
    expect(await query()).toMatchObject({ total: Math.ceil(GAMES / (5 * 97)), totalRelation: 'eq' });
    await expectRows(1000, query);
    await app.aGame({ tagNames: ['every 5', 'every 97'] });
    expect(await query()).toMatchObject({ total: Math.ceil(GAMES / (5 * 97)) + 1, totalRelation: 'eq' });
  });

  describe('one game', () => {
    beforeAll(async () => {
      ({ id: newest } = await app.aGame({
        tagNames: ['every 3', 'every 5', 'every 97', 'every 4999'],
        gameType: 'RPG',
      }));
    });

    test('is read by its key', () => expectRows(4, () => getRecord(app.context.routers.game, newest, anonymousCall())));

    test('finds the related ones among the newest of each tag', () =>
      expectRows(6000, () => relatedGames(app.context.routers.game, newest, 6, anonymousCall()), 2));

    test('without tags finds the latest of its type', async () => {
      const { id: plain } = await app.aGame({ gameType: 'RPG', extraInfo: { originalAuthor: 'author 11' } });
      await expectRows(1500, () => relatedGames(app.context.routers.game, plain, 6, anonymousCall()), 2);
    });
  });

  test('types are counted by their counters', () =>
    expectRows(30, () => countTypes(app.context.routers.game, anonymousCall())));

  test('a slug that no tag has costs one look', () => expectRows(5, list({ tagSlugs: [POPULAR, 'no such tag'] })));
});
