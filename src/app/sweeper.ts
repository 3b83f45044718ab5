import type { Logger } from 'pino';
import { auditEnd, sweepEvents, systemActor } from '../auth/audit/log.ts';
import { sweepRecords } from '../auth/idempotency/records.ts';
import { sweepKeys } from '../auth/key-sweep.ts';
import { sweepQuotas } from '../auth/quotas.ts';
import { BackgroundJob } from '../base/background-job.ts';
import { randomNumber } from '../base/runtime.ts';
import type { Config } from '../config/config.ts';
import { sweepUses, sweepConsumerUses } from '../consumers/use/store.ts';
import { sweepFailedCalls } from '../consumers/use/failed-calls.ts';
import type { WritePause } from '../db/batching/write-buffer.ts';
import type { Database } from '../db/database.ts';
import { sweepOldEvents } from '../event/outbox/feed.ts';
import { sweepSecrets } from '../event/webhook/secrets.ts';
import { sweepChallenges } from '../event/webhook/sender/challenges.ts';
import { sweepDeliveries } from '../event/webhook/deliveries.ts';
import { checkPagesNightly } from './deployment/pages.ts';
import { sweepInvitations } from '../user/invitations.ts';
import { sweepInstances } from './instances/registry.ts';

const MINUTE_MS = 60_000;
/** The interval of sweeps; the first one also begins within this time. */
const INTERVAL_MS = 5 * MINUTE_MS;
/** The pause between two removals, in which other work runs. */
const PAUSE_MS = 20;

/** A kind of rows that expire. */
export interface Expiring {
  /** The name of the rows, in the plural. */
  name: string;
  /** Removes some expired rows. Resolves to whether there may be more. */
  sweep: () => Promise<boolean>;
}

/** The rows of a service that expire, and the pages of an SQLite file, which are checked at night. */
export const expiringRows = (
  database: Database,
  { auditRetentionDays, eventRetentionDays }: Pick<Config, 'auditRetentionDays' | 'eventRetentionDays'>,
  now: () => Date,
  log: Logger,
): Expiring[] => {
  const db = database.background;
  const keysEnd = (): Date => auditEnd(now(), auditRetentionDays);
  return [
    { name: 'idempotency records', sweep: () => sweepRecords(db, now()) },
    { name: 'audit entries', sweep: () => sweepEvents(db, now(), auditRetentionDays) },
    { name: 'keys', sweep: async () => (await sweepKeys(db, keysEnd(), systemActor(now()))) > 0 },
    { name: 'invitations', sweep: () => sweepInvitations(db, now()) },
    { name: 'events', sweep: () => sweepOldEvents(db, now(), eventRetentionDays) },
    { name: 'deliveries of webhooks', sweep: () => sweepDeliveries(db, now(), eventRetentionDays) },
    { name: 'challenges of webhooks', sweep: () => sweepChallenges(db, now()) },
    { name: 'replaced secrets of webhooks', sweep: () => sweepSecrets(db, now()) },
    { name: 'counts of key uses', sweep: () => sweepUses(db, now()) },
    { name: 'uses of consumers', sweep: () => sweepConsumerUses(db, now()) },
    { name: 'failed calls', sweep: () => sweepFailedCalls(db, now()) },
    { name: 'counts of quotas', sweep: () => sweepQuotas(db, now()) },
    { name: 'rows of instances', sweep: () => sweepInstances(db, now()) },
    { name: 'checks of pages', sweep: () => checkPagesNightly(database, now(), log) },
  ];
};

/** Removes expired rows in the background, in small batches. Any number of processes may run one. */
export class Sweeper {
  readonly #log: Logger;
  readonly #job: BackgroundJob;

  constructor(expiring: readonly Expiring[], log: Logger, { pause }: { pause?: WritePause } = {}) {
    this.#log = log;
    this.#job = new BackgroundJob({
      turn: async () => {
        if (!(await pause?.isOn())) for (const one of expiring) await this.#sweep(one);
        return INTERVAL_MS * (0.5 + randomNumber());
      },
      retryMs: INTERVAL_MS,
      log,
      failure: 'expired rows could not be removed yet',
    });
  }

  /** Sweeps repeatedly until it is closed. */
  start(): void {
    // Processes that start together must not sweep together.
    this.#job.start(INTERVAL_MS * randomNumber());
  }

  /** Stops as soon as the current removal has ended. */
  close(): Promise<void> {
    return this.#job.close();
  }

  async #sweep({ name, sweep }: Expiring): Promise<void> {
    try {
      while (!this.#job.signal.aborted && (await sweep())) await this.#job.pause(PAUSE_MS);
    } catch (error) {
      this.#log.warn({ err: error }, `expired ${name} could not be removed yet`);
    }
  }
}
