import { hostname } from 'node:os';
import { currentTime, performance } from '../../base/runtime.ts';
import type { Context } from '../../app/context.ts';
import { type Instance, liveInstances } from '../../app/instances/registry.ts';
import { describeAddress } from '../../db/address.ts';
import { type MaintenanceState, readMaintenance } from '../../rpc/maintenance/maintenance.ts';
import type { Metrics } from '../../telemetry/metrics/metrics.ts';
import type { RecentFailures, RecentRequest, RecentRequests } from '../../http/middleware/request-log.ts';
import { release } from '../../base/version.ts';
import type { Diagnosis } from '../doctor/check.ts';
import { examine } from '../doctor/doctor.ts';
import { type BusyKey, busyKeys } from './keys.ts';

/** The time for which a result of the doctor is reused. */
const EXAMINED_FOR_MS = 60_000;

/** A limiter of calls or a pool of connections, by the names of its figures. */
export interface Usage {
  name: string;
  used: number;
  limit: number;
  waiting: number;
}

/** The state of this process and of the deployment, for operators. */
export interface Status {
  process: {
    version: string;
    node: string;
    host: string;
    pid: number;
    startedAt: Date;
    memoryBytes: number;
    database: string;
  };
  limiters: Usage[];
  pools: Usage[];
  failures: readonly RecentFailures[];
  slowRequests: readonly RecentRequest[];
  keys: BusyKey[];
  migrations: { applied: string[]; pending: string[] };
  instances: Instance[];
  maintenance: MaintenanceState | null;
  doctor: Diagnosis[];
}

/** The parts of a running service that the status describes. */
export interface StatusSources {
  context: Context;
  metrics: Metrics;
  requests: RecentRequests;
}

/** Reads the status. It asks the database little, and the doctor once a minute. */
export class StatusReader {
  readonly #sources: StatusSources;
  readonly #describe: (error: unknown) => string;
  #examined: { at: number; diagnoses: Promise<Diagnosis[]> } | undefined;

  /** `describe` words an error of a check. */
  constructor(sources: StatusSources, describe: (error: unknown) => string) {
    this.#sources = sources;
    this.#describe = describe;
  }

  /** @throws AppError DATABASE_UNAVAILABLE, TIMEOUT */
  async read(): Promise<Status> {
    const { context, metrics, requests } = this.#sources;
    const { config, now } = context;
    const db = context.db.background;
    const [limiters, pools] = await Promise.all([
      usages(metrics, 'limiter', { used: 'limiter_running', limit: 'limiter_capacity', waiting: 'limiter_waiting' }),
      usages(metrics, 'pool', {
        used: 'database_connections',
        limit: 'database_connections_max',
        waiting: 'database_waiting',
      }),
    ]);
    const perProcess = pools.reduce((sum, { limit }) => sum + limit, 0);
    return {
      process: {
        version: release,
        node: process.versions.node,
        host: hostname(),
        pid: process.pid,
        startedAt: new Date(currentTime() - Math.round(process.uptime() * 1000)),
        memoryBytes: process.memoryUsage.rss(),
        database: describeAddress(config.databaseUrl),
      },
      limiters,
      pools,
      failures: requests.failures,
      slowRequests: requests.slow,
      keys: await busyKeys(db, now()),
      migrations: { applied: await context.db.appliedMigrations(), pending: await context.db.pendingMigrations() },
      instances: await liveInstances(db, now()),
      maintenance: (await readMaintenance(db)) ?? null,
      doctor: await this.#doctor(perProcess),
    };
  }

  #doctor(perProcess: number): Promise<Diagnosis[]> {
    const at = performance.now();
    if (!this.#examined || at - this.#examined.at > EXAMINED_FOR_MS) {
      this.#examined = { at, diagnoses: this.#examine(perProcess) };
    }
    return this.#examined.diagnoses;
  }

  async #examine(perProcess: number): Promise<Diagnosis[]> {
    const { config, db } = this.#sources.context;
    const found: Diagnosis[] = [];
    for await (const diagnosis of examine(config, db, { perProcess, describe: this.#describe })) found.push(diagnosis);
    return found;
  }
}

/** The values of three gauges, by the label that names their subject. */
const usages = async (
  metrics: Metrics,
  label: string,
  gauges: Record<'used' | 'limit' | 'waiting', Parameters<Metrics['values']>[0]>,
): Promise<Usage[]> => {
  const found = new Map<string, Usage>();
  for (const member of ['used', 'limit', 'waiting'] as const) {
    for (const { labels, value } of await metrics.values(gauges[member])) {
      if (labels['state'] === 'idle') continue;
      const name = String(labels[label]);
      const usage = found.get(name) ?? { name, used: 0, limit: 0, waiting: 0 };
      found.set(name, usage);
      usage[member] = value;
    }
  }
  return [...found.values()];
};
