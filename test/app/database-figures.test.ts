/**
 * @engines sqlite server
 * @tier fast
 * @serverTier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { metricSources } from '../../src/app/context.ts';
import { DatabaseFigures } from '../../src/app/database-figures.ts';
import { recordBackup, systemActor } from '../../src/auth/audit/log.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { engine } from '../harness/app/database.ts';
import { samplesOf } from '../harness/documents/metrics.ts';
import { until } from '../harness/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

describe('the figures of a database', () => {
  test('are its size, its room on SQLite, its missing migrations and its last backup', async () => {
    const { db } = app.context;
    const figures = new DatabaseFigures(db);
    await figures.renew();
    const disk = { bytes: expect.any(Number), freeBytes: expect.any(Number) };
    expect(figures.latest).toEqual({
      size: { bytes: expect.any(Number), ...(engine === 'sqlite' && { disk }) },
      pendingMigrations: 0,
      lastBackup: undefined,
    });
    expect(figures.latest.size?.bytes).toBeGreaterThan(10_000);

    const now = new Date('2026-01-02T03:04:05.678Z');
    await recordBackup(db, systemActor(now), { file: 'copy.db', bytes: 1 });
    await figures.renew();
    expect(figures.latest.lastBackup).toEqual(now);
  });

  test('are metrics from the second scrape on', async () => {
    const metrics = new Metrics();
    metrics.addSources(metricSources(app.context));
    let names: string[] = [];
    await until(async () => {
      const samples = samplesOf(await metrics.text()).map(({ name }) => name.replace('content_gateway_', ''));
      names = samples.filter((name) => /^database_(size|disk)|^migrations_pending|^last_backup/.test(name));
      return ['migrations_pending', 'last_backup_timestamp_seconds'].every((name) => names.includes(name));
    });
    const disk = ['database_disk_size_bytes', 'database_disk_free_bytes'];
    expect(names).toEqual([
      'database_size_bytes',
      ...(engine === 'sqlite' ? disk : []),
      'migrations_pending',
      'last_backup_timestamp_seconds',
    ]);
  });

  test('stay as they were while the database is away', async () => {
    const own = await startApp();
    const figures = new DatabaseFigures(own.context.db);
    await figures.renew();
    const before = { ...figures.latest };
    await own.stop();
    await figures.renew();
    expect(figures.latest).toMatchObject({ pendingMigrations: before.pendingMigrations });
  });
});
