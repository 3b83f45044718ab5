import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { createDatabase, engine, type TestDatabase } from '../support/database.ts';
import { type Environment, runCli } from '../support/program.ts';

let database: TestDatabase;
let env: Environment;

beforeEach(async () => {
  database = await createDatabase();
  env = { DATABASE_URL: database.url };
});

afterEach(() => database.drop());

const names = migrations.map(({ name }) => name);
const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join('');
const statusOf = (applied: readonly string[], pending: readonly string[]) => ({
  code: 0,
  stdout: lines(
    'STATE    MIGRATION',
    ...applied.map((name) => `applied  ${name}`),
    ...pending.map((name) => `pending  ${name}`),
  ),
  stderr: '',
});

describe('migrate', () => {
  test('applies what is due and prints the names, once', async () => {
    expect(await runCli(['migrate', '--status'], { env })).toEqual(statusOf([], names));
    expect(await runCli(['migrate'], { env })).toEqual({ code: 0, stdout: lines(...names), stderr: '' });
    expect(await runCli(['migrate', '--status'], { env })).toEqual(statusOf(names, []));
    expect(await runCli(['migrate'], { env })).toEqual({ code: 0, stdout: '', stderr: 'Nothing to migrate.\n' });
  });

  test('--down takes back the last, and what it takes back can be applied again', async () => {
    await runCli(['migrate'], { env });
    for (const name of names.toReversed()) {
      expect(await runCli(['migrate', '--down'], { env })).toEqual({ code: 0, stdout: lines(name), stderr: '' });
    }
    expect(await runCli(['migrate', '--status'], { env })).toEqual(statusOf([], names));
    expect(await runCli(['migrate', '--down'], { env })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Nothing to revert.\n',
    });
    expect(await runCli(['migrate'], { env })).toEqual({ code: 0, stdout: lines(...names), stderr: '' });
  });

  test('by several processes at once applies each migration once', async () => {
    const outcomes = await Promise.all([1, 2, 3].map(() => runCli(['migrate'], { env })));

    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(outcomes.map(({ stdout }) => stdout).toSorted()).toEqual(['', '', lines(...names)]);
  });
});

const listUsers = (settings: Environment) => runCli(['users', 'list'], { env: { ...env, ...settings } });

describe('a database without tables', () => {
  const empty = { code: 0, stdout: 'ID  CREATED  NICKNAME\n', stderr: '' };
  const refused = {
    code: 1,
    stdout: '',
    stderr: `error: The database lacks the migrations ${names.join(', ')}. Run: npm run -s cli -- migrate\n`,
  };

  test('is migrated first on SQLite; on a server, the command asks for it', async () => {
    expect(await listUsers({})).toEqual(engine === 'sqlite' ? empty : refused);
  });

  test('is migrated or not as AUTO_MIGRATE says', async () => {
    expect(await listUsers({ AUTO_MIGRATE: 'false' })).toEqual(refused);
    expect(await listUsers({ AUTO_MIGRATE: 'true' })).toEqual(empty);
  });
});
