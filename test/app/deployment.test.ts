/**
 * @engines all
 * @tier fast
 * @serverTier long
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Diagnosis } from '../../src/admin/doctor/check.ts';
import { DatabaseFigures } from '../../src/app/database-figures.ts';
import { checkPagesNightly, readPageState } from '../../src/app/deployment/pages.ts';
import type { Place } from '../../src/app/deployment/entity.ts';
import { CopyHold, leavePlace } from '../../src/app/deployment/place.ts';
import { createLog } from '../../src/app/log.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import { startApp } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { runCli } from '../harness/app/program.ts';
import { WEBHOOK_KEY } from '../harness/app/webhook-key.ts';
import { withDatabase } from '../harness/http/load.ts';

const app = await startApp();
const { db } = app.context;
const isSqlite = engine === 'sqlite';
const now = (): Date => new Date();
let lines: string[] = [];
const log = createLog('info', { write: (line: string) => void lines.push(line) });
const env = { DATABASE_URL: app.databaseUrl, WEBHOOK_SECRET_KEY: WEBHOOK_KEY };

beforeEach(() => {
  lines = [];
});
afterAll(() => app.stop());

/** What the doctor finds by a check. */
const examined = async (check: string, options: string[] = [], settings: Record<string, string> = env) => {
  const { code, stdout } = await runCommand(['doctor', '--json', ...options], { env: settings });
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Diagnosis);
  return { code, ...found.find((one) => one.check === check) };
};

describe('a copy of a database', () => {
  const holdOf = (own: Place): CopyHold => new CopyHold(db.background, own, { now, log, recheckMs: 0 });
  const isHeld = (own: Place): Promise<boolean> => holdOf(own).isOn();
  const file = '/srv/content.db';

  beforeEach(async () => {
    await leavePlace(db, systemActor());
  });

  test('belongs to the deployment that it was first used by, through restarts and with a first address', async () => {
    const old = { url: null, file };
    expect(await Promise.all([old, old].map(isHeld))).toEqual([false, false]);
    const own = { url: 'https://api.example.com', file };
    // An instance, an upgrade and a moved file of it.
    for (const place of [old, own, own, { ...own, file: '/data/content.db' }]) expect(await isHeld(place)).toBe(false);
    expect(lines).toEqual([]);
    for (const place of [old, { ...own, url: 'https://staging.example.com' }, { url: null, file: null }]) {
      expect(await isHeld(place)).toBe(true);
    }
    expect(lines[0]).toMatch(/"belongsTo":"https:\/\/api\.example\.com".*webhooks are held: .*resume --here/);
  });

  test('holds its webhooks until a command lets it send, of which log and doctor tell', async () => {
    expect(await isHeld({ url: 'https://api.example.com', file: null })).toBe(false);
    const settings = { ...env, PUBLIC_URL: 'https://staging.example.com' };
    const copy = holdOf({ url: 'https://staging.example.com', file: null });
    expect(await copy.isOn()).toBe(true);
    expect(await examined('deployment', [], settings)).toMatchObject({
      health: 'warning',
      message: expect.stringMatching(/belongs to the deployment at https:\/\/api\.example\.com\. .*holds webhooks/),
      cure: expect.stringContaining('`webhooks resume --here`'),
    });
    const { code } = await runCommand(['webhooks', 'resume', '--here'], { env });
    expect(code).toBe(0);
    expect(await copy.isOn()).toBe(false);
    expect(lines).toEqual([expect.stringContaining('are held'), expect.stringContaining('webhooks go on')]);
    expect((await examined('deployment', [], settings)).health).toBe('ok');
    const { stdout } = await runCommand(['audit', 'list'], { env });
    expect(stdout).toContain('webhooks resume --here');
  });

  if (isSqlite)
    test('is told of when it is restored', async () => {
      const owner = await app.aUser();
      expect(await app.send('webhook.create', { url: 'https://hooks.example.com/' }, owner.key)).toMatchObject({
        status: 200,
      });
      await isHeld({ url: 'https://api.example.com', file: null });
      const folder = await mkdtemp(join(tmpdir(), 'content-gateway-copy-'));
      const copy = join(folder, 'copy.db');
      try {
        await runCommand(['backup', copy], { env });
        const check = (PUBLIC_URL: string) => runCommand(['restore', copy, '--check'], { env: { ...env, PUBLIC_URL } });
        expect((await check('https://api.example.com')).stderr).not.toContain('held');
        expect((await check('https://staging.example.com')).stderr).toMatch(
          /warning: it is of the deployment at https:\/\/api\.example\.com, .* its 1 webhook is held, .*webhooks resume --here/,
        );
      } finally {
        await rm(folder, { recursive: true });
      }
    });
});

describe('the pages of the file', () => {
  if (!isSqlite)
    test('of a server are not looked at, and the doctor says so', async () => {
      expect(await examined('pages', ['--deep'])).toMatchObject({
        health: 'skipped',
        message: expect.stringMatching(/^The pages of a server are not looked at/),
      });
      expect(await checkPagesNightly(db, now(), log)).toBe(false);
      expect(await readPageState(db)).toBeUndefined();
    });

  if (isSqlite)
    test('are checked at night, from where the last night ended', async () => {
      const at = (time: string, partMs = Infinity): Promise<false> =>
        checkPagesNightly(db, new Date(time), log, partMs);
      // The first tables, one a night; by day only when no night came.
      const nexts: unknown[] = [];
      for (const time of ['2031-01-01T12:00:00', '2031-01-01T13:00:00', '2031-01-02T12:00:00', '2031-01-03T12:00:00']) {
        await at(time, 0);
        nexts.push((await readPageState(db))?.next);
      }
      expect(nexts).toEqual(['audit_entries', 'audit_entries', 'audit_entries', 'consumer_contracts']);
      await at('2031-01-05T02:00:00', 0);
      expect(await readPageState(db)).toEqual({ next: 'consumer_uses', completedAt: null, faults: {} });
      await at('2031-01-05T23:59:00');
      expect((await readPageState(db))?.next).toBe('consumer_uses');
      await at('2031-01-06T01:00:00');
      const completedAt = new Date('2031-01-06T01:00:00').toISOString();
      expect(await readPageState(db)).toEqual({ next: null, completedAt, faults: {} });
      expect(await examined('pages')).toMatchObject({ health: 'ok' });
      expect(await examined('pages', ['--deep'])).toMatchObject({
        health: 'ok',
        message: 'All pages of the file are sound.',
      });
      expect(lines).toEqual([]);
    });

  if (isSqlite)
    test('are named with their place where they are damaged: by doctor, reconcile, backup, log and metrics', async () => {
      const { url, drop } = await createDatabase({ migrated: true });
      const settings = { DATABASE_URL: url, WEBHOOK_SECRET_KEY: WEBHOOK_KEY };
      try {
        // By a process of its own, which leaves no log of the database behind when it ends.
        await runCli(['seed', '--games', '5', '--images', '0', '--users', '2'], { env: settings });
        const root = await withDatabase(url, async (own) => {
          const [row] = await own.read<{ rootpage: number }>("SELECT rootpage FROM sqlite_schema WHERE name = 'games'");
          return row?.rootpage ?? 0;
        });
        const path = url.slice('sqlite:'.length);
        const handle = await open(path, 'r+');
        await handle.write(Buffer.alloc(4096, 0xab), 0, 4096, (root - 1) * 4096);
        await handle.close();
        const where = new RegExp(`Tree ${root} page ${root}`);

        expect((await examined('pages', [], settings)).health).toBe('skipped');
        expect(await examined('pages', ['--deep'], settings)).toMatchObject({
          code: 1,
          health: 'failure',
          message: expect.stringMatching(where),
        });
        for (const command of [['reconcile'], ['backup', `${path}.copy`]]) {
          expect({ command, ...(await runCommand(command, { env: settings })) }).toMatchObject({
            command,
            code: 1,
            stderr: expect.stringMatching(where),
          });
        }
        await withDatabase(url, async (own) => {
          await checkPagesNightly(own, now(), log, Infinity);
          const figures = new DatabaseFigures(own);
          await figures.renew();
          expect(figures.latest.damagedTables).toBe(1);
        });
        expect(lines).toEqual([expect.stringMatching(where)]);
        expect(await examined('pages', [], settings)).toMatchObject({
          health: 'failure',
          message: expect.stringMatching(/games: .*Tree/),
        });
      } finally {
        await drop();
      }
    });
});
