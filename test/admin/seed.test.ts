/**
 * @engines sqlite
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { seedCommand } from '../../src/admin/commands/content/seed.ts';
import { gameKind } from '../../src/game/kind.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { withDatabase } from '../harness/http/load.ts';
import type { Environment } from '../harness/app/program.ts';

let database: TestDatabase;
let env: Environment;

describe('seed', () => {
  beforeEach(async () => {
    database = await createDatabase();
    env = { DATABASE_URL: database.url };
  });

  afterEach(() => database.drop());

  const WHOLE = 'It must be a whole number from 0 to 10000000.';
  const DAY = 'It must be a date from 2000-01-01 on, such as 2026-04-01.';

  test.each([
    ['--games <n>', '-1', WHOLE],
    ['--games <n>', '1.5', WHOLE],
    ['--games <n>', '1e3', WHOLE],
    ['--images <n>', 'many', WHOLE],
    ['--users <n>', '', WHOLE],
    ['--users <n>', '10000001', WHOLE],
    ['--random-seed <n>', '0x10', 'It must be a whole number from 0 to 9007199254740991.'],
    ['--until <date>', '2026-02-30', DAY],
    ['--until <date>', '1999-12-31', DAY],
    ['--until <date>', '2026-04-01T00:00:00Z', DAY],
  ])('%s "%s" is refused in words', (option, value, words) => {
    const command = seedCommand('seed')
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    const [flag = ''] = option.split(' ');
    expect(() => command.parse([flag, value], { from: 'user' })).toThrow(
      `error: option '${option}' argument '${value}' is invalid. ${words}`,
    );
  });

  test('without options it stores a little of everything, up to today', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const { code, stdout, stderr } = await runCommand(['seed'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(
        `^Stored 100 users, 1000 games and 200 image posts in [0-9.]+ s \\(--random-seed 1 --until ${today}\\)\\.\n$`,
      ),
    );
    // As an import does, it stores the segments of games at once: no start has to index them.
    const waiting = await withDatabase(database.url, (db) =>
      db.read('SELECT COUNT(*) AS n FROM search_tail WHERE kind = ?', [gameKind.search.code]),
    );
    expect(waiting).toEqual([{ n: 0 }]);
  });

  test('somebody must be there to publish', async () => {
    expect(await runCommand(['seed', '--users', '0', '--games', '1'], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: There are no users who could publish: seed some, too.\n',
    });
  });
});
