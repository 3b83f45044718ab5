/**
 * @engines all
 * @tier fast
 * @serverTier long
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Diagnosis } from '../../src/admin/doctor/check.ts';
import { redisSpeed } from '../../src/admin/doctor/deployment.ts';
import { release } from '../../src/base/version.ts';
import { packages } from '../../src/base/packages.ts';
import { startApp } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { WEBHOOK_KEY } from '../harness/app/webhook-key.ts';
import { until } from '../harness/until.ts';

const app = await startApp();
const { db } = app.context;
const isSqlite = db.dialect.engine === 'sqlite';

/** What the command finds, by check, and its exit status. */
const examined = async (env: Record<string, string> = {}) => {
  const { code, stdout } = await runCommand(['doctor', '--json'], {
    env: { DATABASE_URL: app.databaseUrl, AUTO_MIGRATE: 'false', WEBHOOK_SECRET_KEY: WEBHOOK_KEY, ...env },
  });
  const lines = stdout.trim().split('\n');
  const found = lines.map((line) => JSON.parse(line) as Diagnosis);
  return { code, found: Object.fromEntries(found.map((one) => [one.check, one])) };
};

beforeAll(async () => {
  await app.aGame({ tagNames: ['a', 'b'] });
  app.context.lifecycle.registry.start();
  await until(async () => (await db.read('SELECT id FROM instances')).length === 1);
});
afterAll(() => app.stop());

describe('doctor', () => {
  test('finds nothing wrong with a deployment that is well', async () => {
    const { code, found } = await examined();
    expect(code).toBe(0);
    const health = Object.fromEntries(Object.entries(found).map(([check, one]) => [check, one.health]));
    expect(health).toEqual({
      server: 'ok',
      TLS: isSqlite ? 'skipped' : 'ok',
      clock: isSqlite ? 'skipped' : 'ok',
      privileges: isSqlite ? 'skipped' : engine === 'vitess' ? expect.stringMatching(/^(ok|skipped)$/) : 'ok',
      // The servers of tests prefer speed.
      durability: isSqlite ? 'ok' : 'warning',
      connections: isSqlite ? 'skipped' : expect.stringMatching(/^(ok|failure)$/),
      settings: expect.stringMatching(/^(ok|warning)$/),
      disk: isSqlite ? 'ok' : 'skipped',
      Redis: 'skipped',
      migrations: 'ok',
      pages: 'skipped',
      deployment: 'skipped',
      instances: 'ok',
      webhooks: 'ok',
      // None was made.
      backup: 'warning',
      mode: 'ok',
      SDKs: expect.stringMatching(/^(ok|skipped)$/),
      consistency: 'ok',
    });
    expect(found['instances']?.message).toContain(`1 instance runs: ${release} on `);
  });

  test('names what is wrong, with its cure', async () => {
    await db.transaction(async (tx) => {
      await tx.execute('UPDATE games SET like_count = 7', []);
      await tx.execute('UPDATE instances SET version = ?', ['0.9.0']);
    });
    await runCommand(['maintenance', 'on', '--note', 'a move'], { env: { DATABASE_URL: app.databaseUrl } });
    const { code, found } = await examined({
      REDIS_URL: 'redis://127.0.0.1:1',
      WORKERS: '200',
      RATE_LIMITS: 'off',
      // Nobody answers there.
      DATABASE_READ_URL: 'mariadb://root@127.0.0.1:1/content',
    });
    expect(code).toBe(1);
    expect(found['consistency']).toMatchObject({
      health: 'failure',
      message: expect.stringContaining('1 of games.like_count'),
      cure: 'Run `reconcile --fix`.',
    });
    expect(found['instances']).toMatchObject({ health: 'warning', message: expect.stringContaining('0.9.0') });
    expect(found['mode']).toMatchObject({ health: 'warning', message: expect.stringContaining('a move') });
    expect(found['Redis']).toMatchObject({ health: 'failure', message: expect.stringContaining('cannot be reached') });
    expect(found['replica 127.0.0.1:1']).toMatchObject({
      health: 'warning',
      message: expect.stringContaining('cannot be reached'),
    });
    if (!isSqlite) expect(found['connections']).toMatchObject({ health: 'failure' });
  });

  test('does not fail where Redis answers once in time, as on a busy machine', () => {
    const health = (...times: number[]) => redisSpeed(times, 5).health;
    expect(health(0.2, 90, 0.3, 0.2, 40)).toBe('ok');
    expect(health(90, 40, 0.3, 30, 40)).toBe('warning');
    expect(health(90, 40, 6, 30, 40)).toBe('failure');
  });

  test('looks at no tables that are not there', async () => {
    const empty = await createDatabase({ empty: true });
    const { code, found } = await examined({ DATABASE_URL: empty.url });
    await empty.drop();
    expect(code).toBe(1);
    expect(found['migrations']).toMatchObject({ health: 'failure', cure: 'Run the command `migrate`.' });
    expect(['instances', 'mode', 'consistency'].map((check) => found[check]?.health)).toEqual([
      'skipped',
      'skipped',
      'skipped',
    ]);
  });

  test('tells of the keys of the secrets of webhooks', async () => {
    const key = 'webhooks';
    const keyFile = `${app.databaseUrl.slice('sqlite:'.length)}.key`;
    const other = Buffer.alloc(32, 'another').toString('base64');
    const absent = (await examined({ WEBHOOK_SECRET_KEY: '' })).found[key];
    const noWebhook = isSqlite ? { health: 'ok' } : { health: 'warning', message: expect.stringContaining('not set') };
    expect(absent).toMatchObject(noWebhook);

    const { key: owner } = await app.aUser();
    await runCommand(['maintenance', 'off'], { env: { DATABASE_URL: app.databaseUrl } });
    await app.context.protection.maintenance.isOn();
    await until(async () => {
      const { status } = await app.send('webhook.create', { url: 'https://hooks.example.com/' }, owner);
      return status === 200;
    });
    const { found } = await examined();
    expect(found[key]?.health).toBe('ok');
    expect(found['instances']?.message).toContain(', which sends to all of 1 webhook');
    await db.transaction((tx) => tx.execute('UPDATE instances SET webhook_keys = ?', ['']));
    const { [key]: lost, instances } = (await examined({ WEBHOOK_SECRET_KEY: other })).found;
    expect(instances).toMatchObject({
      health: 'warning',
      message: expect.stringContaining(', which sends to none of 1 webhook'),
      cure: expect.stringContaining('WEBHOOK_SECRET_KEY'),
    });
    expect(lost).toMatchObject({ health: 'failure', message: expect.stringContaining('1 of 1 webhook cannot be') });
    const former = (await examined({ WEBHOOK_SECRET_KEY: `${other},${WEBHOOK_KEY}` })).found[key];
    expect(former).toMatchObject({ health: 'warning', message: expect.stringContaining('1 of 1 webhook are not') });
    if (!isSqlite) return;
    // It looks, and makes no file.
    expect(existsSync(keyFile)).toBe(false);
    writeFileSync(keyFile, WEBHOOK_KEY, { mode: 0o644 });
    chmodSync(dirname(keyFile), 0o755);
    const loose = (await examined({ WEBHOOK_SECRET_KEY: '' })).found;
    expect(loose[key]?.health).toBe('ok');
    expect(loose['settings']).toMatchObject({
      health: 'warning',
      message: expect.stringContaining(`${keyFile}: other`),
    });
  });

  test('asks registries for the packages that are published, and for the same bytes', async () => {
    const [, one] = packages.find(([name]) => name === 'typescript')!;
    const folder = mkdtempSync(join(tmpdir(), 'content-gateway-doctor-'));
    mkdirSync(dirname(join(folder, one.file)), { recursive: true });
    writeFileSync(join(folder, one.file), 'ours');
    const digest = createHash('sha512').update('ours').digest('base64');
    const documents: Record<string, string> = {
      [`/ours${one.probe}`]: `{"dist": {"integrity": "sha512-${digest}"}}`,
      [`/other${one.probe}`]: '{"dist": {"integrity": "sha512-other"}}',
    };
    const registry = createServer(({ url }, response) => {
      const found = documents[url ?? ''];
      response.writeHead(found === undefined ? 404 : 200).end(found);
    }).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const base = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
    const healthOf = async (url: string) =>
      (await examined({ SDKS_DIR: folder, SDK_PACKAGES: `typescript=${url}` })).found['SDKs'];
    expect(await healthOf(`${base}/ours`)).toMatchObject({ health: 'ok' });
    expect(await healthOf(`${base}/other`)).toMatchObject({
      health: 'failure',
      message: expect.stringContaining('is another package'),
    });
    expect(await healthOf(`${base}/none`)).toMatchObject({
      health: 'failure',
      message: expect.stringContaining('answers 404'),
    });
    registry.close();
    expect(await healthOf(base)).toMatchObject({
      health: 'failure',
      message: expect.stringContaining('does not answer'),
    });
    rmSync(folder, { recursive: true });
  });

  test('prints a line for each check', async () => {
    const colored = await runCommand(['doctor'], { env: { DATABASE_URL: app.databaseUrl } });
    const stdout = stripVTControlCharacters(colored.stdout);
    expect(stdout).toMatch(/^ok {7}server {7}/m);
    expect(stdout).toMatch(/^failure {2}consistency {2}.+\n {22}→ Run `reconcile --fix`\.$/m);
  });
});
