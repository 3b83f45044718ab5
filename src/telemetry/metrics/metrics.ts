import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Observer, LimiterUsage, OverloadObserver } from '../../base/observer.ts';
import { build, version } from '../../base/version.ts';
import { callMetrics } from './calls.ts';
import { type NameOf, PREFIX } from './catalogue.ts';
import { Numbers, expose, Histograms, type ReadNumbers, register, type SetNumber } from './cells.ts';
import { databaseMetrics } from './database.ts';
import { requestMetrics } from './requests.ts';

/** The label of the limiters for calls that are refused before they are authenticated and read. */
const EARLY = 'early';

/** Counts work that begins, waits, or is refused because of overload. */
const overloadMetrics = (registry: Registry): OverloadObserver => {
  const shed = register(registry, new Numbers('shed_total'));
  const waits = register(registry, new Histograms('limiter_wait_seconds'));
  const early = shed.at(EARLY);
  const limiters = new Map<string, () => LimiterUsage>();
  const read = (member: keyof LimiterUsage) => (set: (value: number, name: string) => void) => {
    for (const [name, usage] of limiters) set(usage()[member], name);
  };
  expose(registry, 'limiter_running', read('running'));
  expose(registry, 'limiter_capacity', read('capacity'));
  expose(registry, 'limiter_waiting', read('waiting'));

  return {
    limiter: (name, usage) => {
      limiters.set(name, usage);
      const [wait, refusals] = [waits.at(name), shed.at(name)];
      return {
        began: (waitedMs) => wait.observe(waitedMs / 1000),
        refused: () => {
          refusals.n += 1;
        },
      };
    },
    shed: () => {
      early.n += 1;
    },
  };
};

/** Metrics of prom-client that use undocumented functions of Node.js. Half of them have names of counters. */
const LEFT_OUT = ['resources', 'handles', 'requests'].flatMap((kind) => [
  `nodejs_active_${kind}`,
  `nodejs_active_${kind}_total`,
]);

/** Changes in memory that are not yet stored. */
interface BufferedChanges {
  size: number;
  /** The number of changes that could not be stored, and the number of failed attempts to store some. */
  lost: number;
  failures: number;
}

interface DatabaseFigures {
  size?: { bytes: number; disk?: { bytes: number; freeBytes: number } };
  pendingMigrations?: number;
  lastBackup?: Date | undefined;
  damagedTables?: number | undefined;
}

/** The counts of the service's own parts, by their names in the metrics. */
export interface MetricSources {
  engine: string;
  /** The last known figures of the database, and the lag of each replica, in milliseconds. */
  database: { readonly latest: DatabaseFigures; readonly replicaLags: ReadonlyMap<string, number> };
  /** Undefined if this process counts alone. */
  redis: { readonly isConnected: boolean; readonly losses: number } | undefined;
  buffers: Readonly<Record<string, BufferedChanges>>;
  tails: { readonly size: number };
  /** The sender of webhooks: its attempts, and its lag if this process delivers. */
  webhooks: { readonly counts: { delivered: number; failed: number }; readonly lagSeconds: number | undefined };
  /** Look-ups in caches. */
  lookUps: Readonly<Record<string, { hits: number; misses: number }>>;
}

/** The metrics of this process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #limited = register(this.#registry, new Numbers('rate_limit_refusals_total'));
  readonly #workerExits = register(this.#registry, new Numbers('worker_exits_total')).at();
  /** The observer that counts. */
  readonly observer: Observer = {
    requests: requestMetrics(this.#registry),
    calls: callMetrics(this.#registry),
    overload: overloadMetrics(this.#registry),
    database: databaseMetrics(this.#registry),
    limited: (policy) => {
      this.#limited.at(policy).n += 1;
    },
  };

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    for (const name of LEFT_OUT) this.#registry.removeSingleMetric(name);
  }

  /** Exposes the counts of the service's own parts. */
  addSources({ engine, database, redis, buffers: named, tails, webhooks, lookUps }: MetricSources): void {
    const read = (name: NameOf<'counter' | 'gauge'>, set: ReadNumbers): void => expose(this.#registry, name, set);
    read('build_info', (set) => set(1, version, build, process.version, engine));
    this.#addDatabase(database);
    if (redis) {
      read('redis_available', (set) => set(redis.isConnected ? 1 : 0));
      read('redis_losses_total', (set) => set(redis.losses));
    }
    read('event_tails', (set) => set(tails.size));
    read('webhook_attempts_total', (set) => {
      for (const [outcome, n] of Object.entries(webhooks.counts)) set(n, outcome);
    });
    read('webhook_lag_seconds', (set) => {
      if (webhooks.lagSeconds !== undefined) set(webhooks.lagSeconds);
    });
    const ofBuffers =
      (member: keyof BufferedChanges) =>
      (set: SetNumber): void => {
        for (const [name, buffer] of Object.entries(named)) set(buffer[member], name);
      };
    read('buffered_changes', ofBuffers('size'));
    read('buffered_changes_lost_total', ofBuffers('lost'));
    read('buffer_failures_total', ofBuffers('failures'));
    read('cache_lookups_total', (set) => {
      for (const [name, { hits, misses }] of Object.entries(lookUps)) {
        set(hits, name, 'hit');
        set(misses, name, 'miss');
      }
    });
  }

  #addDatabase(database: MetricSources['database']): void {
    const figure = (name: NameOf<'gauge'>, valueOf: (figures: DatabaseFigures) => number | undefined): void =>
      expose(this.#registry, name, (set) => {
        const value = valueOf(database.latest);
        if (value !== undefined) set(value);
      });
    figure('database_size_bytes', ({ size }) => size?.bytes);
    figure('database_disk_size_bytes', ({ size }) => size?.disk?.bytes);
    figure('database_disk_free_bytes', ({ size }) => size?.disk?.freeBytes);
    figure('database_damaged_tables', ({ damagedTables }) => damagedTables);
    figure('migrations_pending', ({ pendingMigrations }) => pendingMigrations);
    figure('last_backup_timestamp_seconds', ({ lastBackup }) => lastBackup && lastBackup.getTime() / 1000);
    expose(this.#registry, 'database_replica_lag_seconds', (set) => {
      for (const [replica, ms] of database.replicaLags) set(ms / 1000, replica);
    });
  }

  /** Counts a worker that ended unexpectedly. */
  noteWorkerExit(): void {
    this.#workerExits.n += 1;
  }

  /** All metrics, in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The current values of a gauge. */
  async values(name: NameOf<'gauge'>): Promise<{ labels: Partial<Record<string, string | number>>; value: number }[]> {
    const found = await this.#registry.getSingleMetric(PREFIX + name)?.get();
    return found?.values ?? [];
  }

  /** The media type of `text`. */
  get type(): string {
    return this.#registry.contentType;
  }
}
