/**
 * @engines sqlite
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { runCommand } from '../harness/app/command.ts';
import type { Environment } from '../harness/app/program.ts';

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
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf([], names));
    expect(await runCommand(['migrate'], { env })).toEqual({ code: 0, stdout: lines(...names), stderr: '' });
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf(names, []));
    expect(await runCommand(['migrate'], { env })).toEqual({ code: 0, stdout: '', stderr: 'Nothing to migrate.\n' });
  });

  test('--down says what would be lost, and needs --yes', async () => {
    await runCommand(['migrate'], { env });
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
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf(names, []));
  });

  test('--down takes back the last, and what it takes back can be applied again', async () => {
    await runCommand(['migrate'], { env });
    for (const name of names.toReversed()) {
      expect(await runCommand(['migrate', '--down', '--yes'], { env })).toEqual({
        code: 0,
        stdout: lines(name),
        stderr: '',
      });
    }
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf([], names));
    expect(await runCommand(['migrate', '--down'], { env })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Nothing to revert.\n',
    });
    expect(await runCommand(['migrate'], { env })).toEqual({ code: 0, stdout: lines(...names), stderr: '' });
  });

  test('--to ends there, on the way up and down, and takes no name that there is not', async () => {
    const [first, second] = names as [string, string];
    expect((await runCommand(['migrate', '--to', second], { env })).stdout).toBe(lines(first, second));
    expect(await runCommand(['migrate', '--down', '--yes', '--to', first], { env })).toEqual({
      code: 0,
      stdout: lines(second),
      stderr: '',
    });
    const unknown = await runCommand(['migrate', '--to', 'Other'], { env });
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain(`It must be one of ${first}, ${second}`);
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf([first], names.slice(1)));
  });

  test('--dry-run prints the SQL, by migration, and changes nothing', async () => {
    const { code, stdout, stderr } = await runCommand(['migrate', '--dry-run'], { env });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').filter((line) => line.startsWith('-- '))).toEqual(names.map((name) => `-- ${name}`));
    expect(stdout).toContain('CREATE TABLE "users"');
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf([], names));
    await runCommand(['migrate'], { env });
    expect(await runCommand(['migrate', '--dry-run'], { env })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Nothing to migrate.\n',
    });
    const back = await runCommand(['migrate', '--dry-run', '--down'], { env });
    expect(back.stdout).toMatch(/^-- Take back .+\n/);
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf(names, []));
  });
});
