/**
 * @engines sqlite
 * @tier fast
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { files, isIn, withoutComments } from './imports.ts';

// How large the project may be. Whatever makes a part smaller lowers its budget here, in the same commit; nothing raises one.

/** A budget is lowered where the size is below it by more than this: a fraction. */
const SLACK_OF_LINES = 0.02;
const SLACK_OF_FILES = 0.08;

/** Lines of TypeScript. */
const LINES: Readonly<Record<string, number>> = {
  contract: 4248,
  'openapi/kit': 7403,
  'src/admin': 9853,
  'src/app': 2028,
  'src/auth': 1730,
  'src/base': 1591,
  'src/config': 647,
  'src/consumers': 977,
  'src/content': 3899,
  'src/db': 6990,
  'src/event': 3666,
  'src/game': 439,
  'src/http': 2597,
  'src/image': 147,
  'src/limits': 1457,
  'src/rpc': 2528,
  'src/sandbox': 1743,
  'src/search': 2769,
  'src/site': 1788,
  'src/telemetry': 1233,
  'src/user': 532,
};
/** Lines of TypeScript and JavaScript under `test/`. */
const LINES_OF_TEST = 73_172;
/** Words of one guide, and of all guides in `docs/`, tables and code included. */
const WORDS_OF_GUIDE = 1800;
const WORDS_OF_GUIDES = 26_000;
/** Files of more than 300 lines. */
const LONG_FILES: Readonly<Record<string, number>> = {
  'contract/game.ts': 370,
  'contract/procedure.ts': 337,
  'contract/reasons.ts': 587,
};
/** Places that refuse a call since too much waits, or the database is busy. */
const REFUSALS = 8;
/** Tables by request or socket, beside the members of the request itself. */
const TABLES_BY_REQUEST = 4;
/** The files that use members of Node.js that it does not document. */
const PRIVATE_MEMBERS = ['src/http/server/node-internals.ts', 'src/http/server/request-intake.ts'];
/** The files of `src/` that run for a call that was made before, with rates off. */
const FILES_OF_CALL: Readonly<Record<string, number>> = {
  'user.me': 48,
  'game.list': 54,
  'game.getById': 50,
  'game.toggleFavorite': 54,
  'game.create': 66,
};

const linesOf = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const service = files.filter((file) => isIn(file, 'src', 'contract', 'openapi/kit'));
const sourceOf = (file: string): string => withoutComments(readFileSync(file, 'utf8'));

/** Expects a size to be within its budget, and the budget not to be far above it. */
const expectWithin = (size: number, budget: number, slack: number): void => {
  expect(size).toBeLessThanOrEqual(budget);
  // Else lower the budget.
  expect(size).toBeGreaterThanOrEqual(Math.floor(budget * (1 - slack)));
};

describe('the size of', () => {
  test('each room has a budget', () => {
    const rooms = readdirSync('src', { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}`);
    expect(Object.keys(LINES)).toEqual(['contract', 'openapi/kit', ...rooms].toSorted());
  });

  test.each(Object.entries(LINES))('%s', (room, budget) => {
    expectWithin(sum(files.filter((file) => isIn(file, room)).map(linesOf)), budget, SLACK_OF_LINES);
  });

  test('the tests', () => {
    const sources = readdirSync('test', { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:ts|mjs|cjs|js)$/.test(file) && !/node_modules|build/.test(file))
      .map((file) => join('test', file));
    expectWithin(sum(sources.map(linesOf)), LINES_OF_TEST, SLACK_OF_LINES);
  });

  test('the guides in words', () => {
    const words = readdirSync('docs')
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(join('docs', name), 'utf8').match(/\S+/g)?.length ?? 0);
    expect(Math.max(...words)).toBeLessThanOrEqual(WORDS_OF_GUIDE);
    expect(sum(words)).toBeLessThanOrEqual(WORDS_OF_GUIDES);
  });

  test('comments is 120 columns at most', () => {
    const wide = service.filter((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .some((line) => line.length > 120 && /^ *(?:\*|\/\/|\/\*)/.test(line)),
    );
    expect(wide).toEqual([]);
  });

  test('long files', () => {
    const long = service.map((file) => [file, linesOf(file)] as const).filter(([, lines]) => lines > 300);
    expect(Object.fromEntries(long)).toEqual(LONG_FILES);
  });
});

describe('the number of', () => {
  test('places that refuse', () => {
    expect(sum(service.map((file) => sourceOf(file).split("new AppError('OVERLOADED'").length - 1))).toBe(REFUSALS);
  });

  test('tables by request', () => {
    const tables = service.map((file) => sourceOf(file).match(/new WeakMap<(?:IncomingMessage|Request|Socket)\b/g));
    expect(tables.flatMap((found) => found ?? []).length).toBe(TABLES_BY_REQUEST);
  });

  test('files that use private members of Node.js', () => {
    const PRIVATE = /\b(?:_handle|_paused|_httpMessage|onIncoming|destroySoon)\b/;
    expect(service.filter((file) => PRIVATE.test(sourceOf(file))).toSorted()).toEqual(PRIVATE_MEMBERS);
  });
});

describe('the files of src/ that run for', () => {
  let app: TestApp;
  let user: TestUser;
  let gameId: string;
  const session = new Session();

  beforeAll(async () => {
    app = await startApp();
    user = await app.aUser();
    ({ id: gameId } = await app.aGame({}, user));
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  });
  afterAll(async () => {
    await session.post('Profiler.stopPreciseCoverage');
    session.disconnect();
    await app.stop();
  });

  const inputs: Record<string, () => object> = {
    'user.me': () => ({}),
    'game.list': () => ({ page: 1, limit: 20 }),
    'game.getById': () => ({ id: gameId }),
    'game.toggleFavorite': () => ({ gameId }),
    'game.create': () => ({ title: 'a game', gameType: 'RPG', tagNames: ['demo'] }),
  };
  const isAnonymous = (id: string): boolean => ['game.list', 'game.getById'].includes(id);

  /** The files of src/ of which a function has run since this was asked before. */
  const filesRun = async (): Promise<string[]> => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) => functions.some(({ ranges: [range] }) => range!.count > 0))
      .map(({ url }) => url.split('/dist/').at(-1) ?? '')
      .filter((file) => file.startsWith('src/'));
  };

  test.each(Object.entries(FILES_OF_CALL))('%s', async (id, budget) => {
    const send = () => app.send(id as 'game.list', inputs[id]!(), isAnonymous(id) ? undefined : user.key);
    await send();
    // Work in the background may run beside one call, but not beside each.
    const counts: string[][] = [];
    for (let round = 0; round < 20; round += 1) {
      await filesRun();
      expect((await send()).status).toBe(200);
      counts.push(await filesRun());
    }
    const common = counts[0]!.filter((file) => counts.every((others) => others.includes(file)));
    expectWithin(new Set(common).size, budget, SLACK_OF_FILES);
  });
});
