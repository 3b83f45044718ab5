/**
 * @engines none
 * @tier fast
 */
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { warningsOf } from '../../src/app/warnings.ts';

const harmless = {
  databaseUrl: 'sqlite::memory:',
  workers: 1,
  secretFiles: [],
  uid: 1000,
  inContainer: false,
  countsApart: false,
  lacksWebhookKey: false,
  isDurable: true,
  nodeVersion: '26.10.0',
  now: new Date('2026-11-24'),
};

describe('start-up warnings', () => {
  test.each([
    [0, false, [expect.stringContaining('runs as root')]],
    [0, true, []],
    [1000, false, []],
    [undefined, false, []],
  ])('user %s, in a container: %s', (uid, inContainer, expected) => {
    for (const databaseUrl of ['mysql://me@host/db', 'sqlite::memory:', 'sqlite:no/such/file.db']) {
      const warnings = warningsOf({ ...harmless, databaseUrl, uid, inContainer });
      expect(warnings.map(({ message }) => message)).toEqual(expected);
    }
  });

  test('secrets that others may read, wherever links lead to them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-gateway-warnings-'));
    try {
      const [secret, link, database] = ['secret', 'link', 'content.db'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      writeFileSync(secret, 'secret');
      symlinkSync(secret, link);
      symlinkSync(secret, `${database}.key`);
      const pathsOf = (fileMode: number, folderMode: number) => {
        chmodSync(secret, fileMode);
        chmodSync(folder, folderMode);
        const facts = { ...harmless, databaseUrl: `sqlite:${database}`, secretFiles: [link] };
        return warningsOf(facts).map(({ path }) => path);
      };
      expect(pathsOf(0o644, 0o755)).toEqual([`${database}.key`, link]);
      expect(pathsOf(0o640, 0o755)).toEqual([`${database}.key`]);
      expect(pathsOf(0o600, 0o755)).toEqual([]);
      expect(pathsOf(0o644, 0o700)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('workers that count rates apart', () => {
    expect(warningsOf({ ...harmless, countsApart: true })).toEqual([{ message: expect.stringContaining('REDIS_URL') }]);
  });

  test('workers that share a file', () => {
    expect(warningsOf({ ...harmless, workers: 4 })).toEqual([{ message: expect.stringContaining('WORKERS is 4') }]);
    expect(warningsOf({ ...harmless, workers: 4, databaseUrl: 'mysql://me@host/db' })).toEqual([]);
  });

  test('a server without a key for the secrets of webhooks', () => {
    const warnings = warningsOf({ ...harmless, databaseUrl: 'mysql://me@host/db', lacksWebhookKey: true });
    expect(warnings).toEqual([{ message: expect.stringContaining('set WEBHOOK_SECRET_KEY') }]);
  });

  test('a server that answers before the disk has it', () => {
    const warnings = warningsOf({ ...harmless, databaseUrl: 'mysql://me@host/db', isDurable: false });
    expect(warnings).toEqual([{ message: expect.stringContaining('innodb_flush_log_at_trx_commit=1') }]);
  });

  test.each([
    ['20.19.0', '2026-04-30T23:59:59Z', []],
    [
      '20.19.0',
      '2026-05-01T00:00:00Z',
      [
        expect.stringMatching(
          /^Node\.js 20\.19\.0 gets no .* since 2026-04-30: it still works, .* Node\.js 24 or newer$/,
        ),
      ],
    ],
    ['22.23.3', '2026-11-24T00:00:00Z', []],
    ['99.0.0', '2030-01-01T00:00:00Z', []],
  ])('Node.js %s at %s', (nodeVersion, now, expected) => {
    const warnings = warningsOf({ ...harmless, nodeVersion, now: new Date(now) });
    expect(warnings.map(({ message }) => message)).toEqual(expected);
  });
});
