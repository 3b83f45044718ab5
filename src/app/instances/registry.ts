import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { LessThan, MoreThan } from 'typeorm';
import { counted } from '../../../contract/text.ts';
import { BackgroundJob } from '../../base/background-job.ts';
import type { WritePause } from '../../db/batching/write-buffer.ts';
import type { Reader } from '../../db/connection.ts';
import { sweepRows } from '../../db/sweep.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { newId } from '../../db/values.ts';
import type { Deadline } from '../../base/deadline.ts';
import { countByKey, type WebhookSecrets } from '../../event/webhook/secrets.ts';
import { release } from '../../base/version.ts';
import { instancesIn } from './entity.ts';

/** The interval at which an instance stores that it runs; with replicas, a shorter one measures their lag. */
const INTERVAL_MS = 30_000;
const STAMP_MS = 1000;
/** An instance that was not seen for this time has ended without removing its row. */
const LIVE_MS = 100_000;
/** The time for which the rows of such instances are kept. */
export const KEPT_MS = 86_400_000;
const HOST_LENGTH = 200;
/** The most keys that fit the column. */
const MOST_KEYS = 20;

/** A running instance. */
export interface Instance {
  id: string;
  host: string;
  version: string;
  /** The number of its processes that answer requests. */
  workers: number;
  /** UTC, ISO 8601. */
  seenAt: string;
  /** The number of webhooks that it can sign messages to, and of all; null if its version does not store its keys. */
  webhooks: { signed: number; total: number } | null;
}

interface RegistryOptions {
  workers: number;
  /** Whether the row's time serves to measure the lag of replicas. */
  isStamp: boolean;
  secrets: Pick<WebhookSecrets, 'keyIds'>;
  now: () => Date;
  log: Logger;
  pause: WritePause;
}

/** Maintains the row of this instance, which shows operators the running instances and their versions. */
export class InstanceRegistry {
  readonly #db: Pick<WorkloadPool, 'transaction'>;
  readonly #options: RegistryOptions;
  readonly #id: string;
  readonly #job: BackgroundJob;
  #isStarted = false;

  constructor(db: Pick<WorkloadPool, 'transaction'>, options: RegistryOptions) {
    this.#db = db;
    this.#options = options;
    this.#id = newId(options.now());
    // The service also runs without the row.
    this.#job = new BackgroundJob({
      turn: () => this.#store(),
      retryMs: options.isStamp ? STAMP_MS : INTERVAL_MS,
      log: options.log,
      failure: 'the row of this instance could not be stored',
      level: 'debug',
    });
  }

  /** Stores the row now, and repeatedly until it is closed. */
  start(): void {
    if (this.#options.pause.isPermanent) return;
    this.#isStarted = true;
    this.#job.start();
  }

  /** Removes the row, as far as the deadline allows. Never rejects. */
  async close(deadline: Deadline): Promise<void> {
    if (!this.#isStarted) return;
    await deadline.race(this.#remove(deadline)).catch(() => undefined);
  }

  async #remove(deadline: Deadline): Promise<void> {
    await this.#job.close();
    if (await this.#options.pause.isOn()) return;
    const remove = this.#db.transaction((tx) => instancesIn(tx).delete({ id: this.#id }), deadline);
    await remove.catch(() => undefined);
  }

  async #store(): Promise<number> {
    const { workers, isStamp, secrets, now, pause } = this.#options;
    const pauseMs = isStamp ? STAMP_MS : INTERVAL_MS;
    if (await pause.isOn()) return pauseMs;
    const row = {
      id: this.#id,
      host: hostname().slice(0, HOST_LENGTH),
      version: release,
      workers,
      seenAt: now(),
      webhookKeys: secrets.keyIds.slice(0, MOST_KEYS).join(),
    };
    await this.#db.transaction(async (tx) => {
      await instancesIn(tx).delete({ id: this.#id });
      await instancesIn(tx).insert(row);
    });
    return pauseMs;
  }
}

/** The running instances, the oldest first. */
export const liveInstances = async (reader: Pick<Reader, 'manager'>, now: Date): Promise<Instance[]> => {
  const rows = await instancesIn(reader).find({
    where: { seenAt: MoreThan(new Date(now.getTime() - LIVE_MS)) },
    order: { id: 'ASC' },
  });
  const counts = await countByKey(reader);
  return rows.map(({ seenAt, webhookKeys, ...row }) => ({
    ...row,
    seenAt: seenAt.toISOString(),
    webhooks: webhookKeys === null ? null : counts.signedBy(webhookKeys.split(',')),
  }));
};

/** Describes the webhooks that an instance can send to. */
export const describeWebhooks = ({ webhooks }: Instance): string | undefined => {
  if (webhooks === null || webhooks.total === 0) return undefined;
  const { signed, total } = webhooks;
  return `sends to ${signed === total ? 'all' : signed === 0 ? 'none' : signed} of ${counted(total, 'webhook')}`;
};

/** Deletes some rows of instances that ended long ago without removing them. Returns whether there may be more. */
export const sweepInstances = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> =>
  sweepRows(db, instancesIn, () => ({ seenAt: LessThan(new Date(now.getTime() - KEPT_MS)) }));
