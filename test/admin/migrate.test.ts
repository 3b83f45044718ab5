/**
 * @engines sqlite
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { runCommand } from '../harness/app/command.ts';
import type { Environment, Outcome } from '../harness/app/program.ts';

let database: TestDatabase;
let env: Environment;

beforeEach(async () => {
  database = await createDatabase();
  env = { DATABASE_URL: database.url };
});

afterEach(() => database.drop());

const names = migrations.map(({ name }) => name);
const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join('');
const migrate = (...args: string[]): Promise<Outcome> => runCommand(['migrate', ...args], { env });
const done = (stdout: string, stderr = ''): Outcome => ({ code: 0, stdout, stderr });
const statusOf = (applied: readonly string[], pending: readonly string[]): Outcome =>
  done(
    lines(
      'STATE    MIGRATION',
      ...applied.map((name) => `applied  ${name}`),
      ...pending.map((name) => `pending  ${name}`),
    ),
  );

describe('migrate', () => {
  test('applies what is due and prints the names, once', async () => {
    expect(await migrate('--status')).toEqual(statusOf([], names));
    expect(await migrate()).toEqual(done(lines(...names)));
    expect(await migrate('--status')).toEqual(statusOf(names, []));
    expect(await migrate()).toEqual(done('', 'Nothing to migrate.\n'));
  });

  test('--down says what would be lost, and needs --yes', async () => {
    await migrate();
    const stays = names.findIndex((name) => name.startsWith('KeyQuotas'));
    const { code, stdout, stderr } = await runCommand(['migrate', '--down', '--to', names[stays]!], { env });
    expect([code, stdout]).toEqual([1, '']);
    const told = stderr.trimEnd().split('\n');
    expect(told[0]).toBe(
      `It would revert ${names
        .slice(stays + 1)
        .toReversed()
        .join(', ')}, and lose what only these hold:`,
    );
    expect(told.slice(-8)).toEqual([
      ...['key_uses', 'hidden_marks', 'hidden_records', 'audit_entries'].map((table) => `  DROP TABLE ${table};`),
      '  ALTER TABLE tags DROP COLUMN merged_into;',
      '  ALTER TABLE users DROP COLUMN hidden_at;',
      '  ALTER TABLE users DROP COLUMN suspended_at;',
      'error: Nothing was reverted. Back up first, then add --yes.',
    ]);
    expect(await migrate('--status')).toEqual(statusOf(names, []));
  });

  test('--down takes back the last, and what it takes back can be applied again', async () => {
    await migrate();
    for (const name of names.toReversed()) {
      expect(await migrate('--down', '--yes')).toEqual(done(lines(name)));
    }
    expect(await migrate('--status')).toEqual(statusOf([], names));
    expect(await migrate('--down')).toEqual(done('', 'Nothing to revert.\n'));
    expect(await migrate()).toEqual(done(lines(...names)));
  });

  test('--to ends there, on the way up and down, and takes no name that there is not', async () => {
    const [first, second] = names as [string, string];
    expect((await migrate('--to', second)).stdout).toBe(lines(first, second));
    expect(await migrate('--down', '--yes', '--to', first)).toEqual(done(lines(second)));
    const unknown = await migrate('--to', 'Other');
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain(`It must be one of ${first}, ${second}`);
    expect(await migrate('--status')).toEqual(statusOf([first], names.slice(1)));
  });

  test('--dry-run prints the SQL, by migration, and changes nothing', async () => {
    const { code, stdout, stderr } = await migrate('--dry-run');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').filter((line) => line.startsWith('-- '))).toEqual(names.map((name) => `-- ${name}`));
    expect(stdout).toContain('CREATE TABLE "users"');
    expect(await migrate('--status')).toEqual(statusOf([], names));
    await migrate();
    expect(await migrate('--dry-run')).toEqual(done('', 'Nothing to migrate.\n'));
    const back = await migrate('--dry-run', '--down');
    expect(back.stdout).toMatch(/^-- Take back .+\n/);
    expect(await migrate('--status')).toEqual(statusOf(names, []));
  });
});
