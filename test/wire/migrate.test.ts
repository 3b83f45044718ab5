import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/command.ts';
import type { Environment } from '../support/program.ts';

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

  test('--down takes back the last, and what it takes back can be applied again', async () => {
    await runCommand(['migrate'], { env });
    for (const name of names.toReversed()) {
      expect(await runCommand(['migrate', '--down'], { env })).toEqual({ code: 0, stdout: lines(name), stderr: '' });
    }
    expect(await runCommand(['migrate', '--status'], { env })).toEqual(statusOf([], names));
    expect(await runCommand(['migrate', '--down'], { env })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Nothing to revert.\n',
    });
    expect(await runCommand(['migrate'], { env })).toEqual({ code: 0, stdout: lines(...names), stderr: '' });
  });
});
