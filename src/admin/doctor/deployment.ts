import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { counted } from '../../../contract/text.ts';
import { currentDate, currentTime, performance } from '../../base/runtime.ts';
import { describeWebhooks, type Instance, liveInstances } from '../../app/instances/registry.ts';
import { readPageState } from '../../app/deployment/pages.ts';
import { describePlace, isSamePlace, placeOf, readPlace } from '../../app/deployment/place.ts';
import { warningsOf } from '../../app/warnings.ts';
import { BACKUP, timeOfLast } from '../../auth/audit/log.ts';
import { type Config, inContainer } from '../../config/config.ts';
import { IN_MEMORY, sqliteFile } from '../../db/address.ts';
import type { Database } from '../../db/database.ts';
import { readMaintenance } from '../../rpc/maintenance/maintenance.ts';
import { examineSecrets, WebhookSecrets } from '../../event/webhook/secrets.ts';
import { isServed, packages } from '../../base/packages.ts';
import { release } from '../../base/version.ts';
import { type Check, failure, type Finding, ok, skipped, warning } from './check.ts';
import { faultOfPublished } from './registry.ts';

const MIB = 2 ** 20;
/** A volume with less than this share free is nearly full. */
const FREE_WARNING = 0.1;
const FREE_FAILURE = 0.02;
const REDIS_TRIES = 5;

const settings = (config: Config): Finding => {
  const { databaseUrl, strays, workers, quotas, redisUrl } = config;
  const found = [
    ...strays.map(({ message }) => message),
    ...warningsOf({
      databaseUrl,
      workers,
      secretFiles: config.secretFiles,
      uid: process.getuid?.(),
      inContainer: inContainer(),
      countsApart: workers > 1 && quotas !== undefined && redisUrl === undefined,
      // Other checks cover these two.
      lacksWebhookKey: false,
      isDurable: true,
      nodeVersion: process.versions.node,
      now: currentDate(),
    }).map(({ message, path }) => (path === undefined ? message : `${path}: ${message}`)),
  ];
  if (found.length === 0) return ok('All settings are valid.');
  return warning(found.join('; '), 'docs/settings.md lists all settings.');
};

const disk = async ({ databaseUrl }: Config): Promise<Finding> => {
  if (!databaseUrl.startsWith('sqlite:')) return skipped('The disk of a server is not seen from here.');
  const file = sqliteFile(databaseUrl);
  if (file === IN_MEMORY) return skipped('The database is in memory.');
  const { bavail, blocks, bsize } = await statfs(dirname(file));
  const message = `${Math.floor((bavail * bsize) / MIB)} MiB of the volume are free, ${Math.floor((100 * bavail) / blocks)} %.`;
  const cure = 'Make room on the volume, or move the database to a larger one.';
  if (bavail / blocks < FREE_FAILURE) return failure(message, cure);
  return bavail / blocks < FREE_WARNING ? warning(message, cure) : ok(message);
};

/** Judges the times in which Redis answered: if one was short enough, the machine may have been busy. */
export const redisSpeed = (times: readonly number[], timeoutMs: number): Finding => {
  const inOrder = times.toSorted((a, b) => a - b);
  const median = inOrder[Math.floor(inOrder.length / 2)] ?? 0;
  const message = `Redis answers in ${median.toFixed(1)} ms; REDIS_TIMEOUT_MS is ${timeoutMs}.`;
  if (median < timeoutMs) return ok(message);
  const cure = 'Place Redis nearer, or raise REDIS_TIMEOUT_MS: else each instance counts by itself.';
  return Math.min(...times) < timeoutMs ? warning(message, cure) : failure(message, cure);
};

const redis = async ({ redisUrl, redisTimeoutMs }: Config): Promise<Finding> => {
  if (redisUrl === undefined) return skipped('REDIS_URL is not set: each instance counts rates by itself.');
  // Loaded on demand, to keep the start short.
  const { createClient } = await import('@redis/client');
  const client = createClient({ url: redisUrl, socket: { reconnectStrategy: false, connectTimeout: 5000 } });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const times: number[] = [];
    for (let n = 0; n < REDIS_TRIES; n += 1) {
      const sentAt = performance.now();
      await client.ping();
      times.push(performance.now() - sentAt);
    }
    return redisSpeed(times, redisTimeoutMs);
  } catch (error) {
    return failure(
      `Redis cannot be reached: ${(error as Error).message}`,
      'Look at REDIS_URL and at the server: until then each instance counts rates by itself.',
    );
  } finally {
    client.destroy();
  }
};

const describeInstance = (one: Instance): string => {
  const { host, version: its, workers } = one;
  const webhooks = describeWebhooks(one);
  return `${its} on ${host}${workers > 1 ? ` with ${workers} workers` : ''}${webhooks ? `, which ${webhooks}` : ''}`;
};

const instances = async (db: Database): Promise<Finding> => {
  const live = await liveInstances(db, currentDate());
  if (live.length === 0) return skipped('No instance was seen in the last minutes.');
  const message = `${counted(live.length, 'instance runs', 'instances run')}: ${live.map(describeInstance).join(', ')}.`;
  if (live.some(({ webhooks }) => webhooks && webhooks.signed < webhooks.total)) {
    return warning(
      message,
      'Give all instances the same WEBHOOK_SECRET_KEY, and restart them: one sends nothing where it lacks the key.',
    );
  }
  if (live.every((one) => one.version === release)) return ok(message);
  return warning(
    `${message} This command is ${release}.`,
    'After an upgrade, replace the instances that still run the other version.',
  );
};

const migrations = async (db: Database): Promise<Finding> => {
  const pending = await db.pendingMigrations();
  if (pending.length === 0) return ok('All migrations are applied.');
  return failure(`Migrations are due: ${pending.join(', ')}.`, 'Run the command `migrate`.');
};

const mode = async ({ isReadOnly }: Config, db: Database): Promise<Finding> => {
  const state = await readMaintenance(db);
  if (state) {
    const why = state.note === null ? '' : `: ${state.note}`;
    return warning(`No writes are taken since ${state.since}${why}.`, 'End it with the command `maintenance off`.');
  }
  if (isReadOnly) return warning('READ_ONLY is set here: this instance takes no writes.', 'Unset it to take writes.');
  return ok('Writes are taken.');
};

const HOUR_MS = 3_600_000;
/** A day, and the time that the backup itself takes. */
const OLD_BACKUP_HOURS = 36;

const backup = async (db: Database): Promise<Finding> => {
  const last = await timeOfLast(db, BACKUP);
  const cure = 'Back up each day: docs/backup.md has a timer for it.';
  if (!last) return warning('No backup was recorded.', cure);
  const hours = Math.floor((currentTime() - last.getTime()) / HOUR_MS);
  const message = `The last backup is of ${last.toISOString()}, ${counted(hours, 'hour')} ago.`;
  return hours > OLD_BACKUP_HOURS ? warning(message, cure) : ok(message);
};

const webhookKey = async (config: Config, db: Database): Promise<Finding> => {
  const secrets = new WebhookSecrets(config);
  const { total, unreadable, outdated } = await examineSecrets(db, secrets);
  if (total === 0 && !config.recordsEvents) return skipped('Events are off, and there are no webhooks.');
  if (unreadable > 0) {
    return failure(
      `The secrets of ${unreadable} of ${counted(total, 'webhook')} cannot be decrypted: nothing is sent to them.`,
      'Restore the key that they were encrypted with, beside the others: docs/operations.md tells how.',
    );
  }
  if (!secrets.isOn) {
    return warning(
      `No webhook can be created, as WEBHOOK_SECRET_KEY is not set${total > 0 ? `; the secrets of ${counted(total, 'webhook')} are not encrypted` : ''}.`,
      'Set WEBHOOK_SECRET_KEY: docs/operations.md tells how.',
    );
  }
  if (outdated === 0) return ok(`The secrets of ${counted(total, 'webhook')} are encrypted with the first key.`);
  return warning(
    `The secrets of ${outdated} of ${counted(total, 'webhook')} are not encrypted with the first key yet.`,
    'Restart the service, and keep the former keys until then.',
  );
};

const damaged = (faults: readonly string[]): Finding =>
  failure(`The file of the database is damaged: ${faults.join('; ')}.`, 'Restore a backup: docs/backup.md tells how.');

const pages = async (db: Database, isDeep: boolean): Promise<Finding> => {
  if (!db.pageFaults) {
    const isServer = db.dialect.engine !== 'sqlite';
    return skipped(
      isServer
        ? 'The pages of a server are not looked at from here, also not by --deep: use its own CHECK TABLE.'
        : 'The database is in memory.',
    );
  }
  if (isDeep) {
    const faults = await db.pageFaults();
    return faults.length > 0 ? damaged(faults) : ok('All pages of the file are sound.');
  }
  const state = await readPageState(db);
  if (!state) return skipped('No pages were looked at yet: the service does so at night, and --deep now.');
  const faults = Object.entries(state.faults).map(([table, fault]) => `${table}: ${fault}`);
  if (faults.length > 0) return damaged(faults);
  return ok(
    `The nightly checks find no damage; ${state.completedAt ? `the last round through all tables ended at ${state.completedAt}` : 'not all tables had their turn yet'}.`,
  );
};

const place = async (config: Config, db: Database): Promise<Finding> => {
  const known = await readPlace(db);
  if (!known) return skipped('No instance that sends webhooks has started yet.');
  const own = placeOf(config);
  if (isSamePlace(known, own)) return ok(`The database belongs to the deployment at ${describePlace(known)}.`);
  return warning(
    `The database belongs to the deployment at ${describePlace(known)}. With the settings here, ${describePlace(own)} is another one: it holds webhooks.`,
    'If the deployment has moved here for good, run `webhooks resume --here`.',
  );
};

const languagesOf = (list: typeof packages): string => list.map(([language]) => language).join(', ') || 'none';

const sdks = async (config: Config): Promise<Finding> => {
  const published = packages.filter(([language]) => config.sdkPackages[language] !== undefined);
  const faults = await Promise.all(
    published.map(([language, one]) => faultOfPublished(one, config.sdkPackages[language] ?? '', config.sdksDir)),
  );
  const found = faults.filter((fault) => fault !== undefined);
  if (found.length > 0) return failure(found.join(' '), 'Publish the package, or correct SDK_PACKAGES.');
  const served = packages.filter(([, one]) => isServed(config, one));
  if (served.length + published.length === 0) return skipped('No package of an SDK is served or published.');
  return ok(
    `Packages of SDKs that are published: ${languagesOf(published)}; served at /sdks/: ${languagesOf(served)}.`,
  );
};

/** Checks of the settings, this machine and the instances, in this order. */
export const deploymentChecks = (config: Config, db: Database, isDeep: boolean): Check[] => [
  { name: 'settings', run: () => settings(config) },
  { name: 'disk', run: () => disk(config) },
  { name: 'Redis', run: () => redis(config) },
  { name: 'migrations', run: () => migrations(db) },
  { name: 'instances', needsTables: true, run: () => instances(db) },
  { name: 'pages', needsTables: true, isLong: isDeep, run: () => pages(db, isDeep) },
  { name: 'deployment', needsTables: true, run: () => place(config, db) },
  { name: 'webhooks', needsTables: true, run: () => webhookKey(config, db) },
  { name: 'backup', needsTables: true, run: () => backup(db) },
  { name: 'mode', needsTables: true, run: () => mode(config, db) },
  { name: 'SDKs', run: () => sdks(config) },
];
