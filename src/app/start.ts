import { type Logger, pino } from 'pino';
import { clearTimeout, setTimeout } from '../base/runtime.ts';
import type { Config } from '../config/config.ts';
import { describeAddress } from '../db/address.ts';
import type { MetricsDocument, MetricsServer } from '../http/server/metrics-server.ts';
import type { Observer } from '../base/observer.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { RecentRequests } from '../http/middleware/request-log.ts';
import type { Traces } from '../telemetry/tracing/traces.ts';
import { isWorker } from './cluster/workers.ts';
import { type Context, metricSources, openContext } from './context.ts';
import { createLog, prettyLines } from './log.ts';
import { migrateBy } from './migrate.ts';

const LOG_BUFFER_BYTES = 4096;
const LOG_DELAY_MS = 200;
/** The time limit for writing the line about an uncaught exception. */
const LAST_WORDS_MS = 1000;
/** The exit status of Node.js for an uncaught exception. */
const FAULT = 1;

/** The log of a process. */
export interface ProcessLog {
  log: Logger;
  /**
   * Resolves when all lines are written, or writing fails. A full pipe without a reader blocks the writing thread, and
   * the exit of a process waits for its threads: after this time, in milliseconds, SIGKILL ends the process.
   */
  end: (ms: number) => Promise<void>;
}

/** Opens the log on the standard error, which is written in blocks. The rest is written when the process ends. */
export const openLog = async ({ logLevel, logFormat }: Config): Promise<ProcessLog> => {
  const destination = pino.destination({ dest: 2, sync: false, minLength: LOG_BUFFER_BYTES });
  let flushing: NodeJS.Timeout | undefined;
  const buffered = {
    // pino calls this after a fatal line.
    flushSync: () => destination.flushSync(),
    write: (line: string) => {
      destination.write(line);
      flushing ??= setTimeout(() => {
        flushing = undefined;
        destination.flush();
      }, LOG_DELAY_MS).unref();
    },
  };
  const lines = logFormat === 'pretty' ? await prettyLines(buffered, process.stderr.isTTY) : buffered;
  const log = createLog(logLevel, lines);
  let isBroken = false;
  destination.on('error', () => (isBroken = true));
  const end = async (ms: number): Promise<void> => {
    if (isBroken) return;
    const late = setTimeout(() => process.kill(process.pid, 'SIGKILL'), ms);
    await new Promise<void>((resolve) => destination.flush(() => resolve()));
    clearTimeout(late);
  };
  const exit = async (): Promise<void> => {
    await end(LAST_WORDS_MS);
    process.exit(FAULT);
  };
  // Node.js would print all members of the error, including statements and values.
  process.on('uncaughtException', (error) => {
    try {
      log.fatal({ err: error }, 'uncaught exception; exiting');
      void exit();
    } catch {
      process.exit(FAULT);
    }
  });
  return { log, end };
};

/** Makes the documents about the state of a service, which are served with its metrics. */
export type StatusDocuments = (sources: {
  context: Context;
  metrics: Metrics;
  requests: RecentRequests;
}) => Promise<ReadonlyMap<string, MetricsDocument>>;

/** The metrics of this process, if they are configured; they are loaded on demand, to keep the start short. */
export const openMetrics = async (config: Config): Promise<Metrics | undefined> =>
  config.metrics && new (await import('../telemetry/metrics/metrics.ts')).Metrics();

/** The traces of this process, also loaded on demand. A supervisor answers no requests, and has none. */
export const openTraces = async (config: Config, log: Logger): Promise<Traces | undefined> => {
  if (!config.isTracing || (config.workers > 1 && !isWorker)) return undefined;
  return new (await import('../telemetry/tracing/traces.ts')).Traces(config, log);
};

/** @throws ConfigError for an address that cannot be had */
export const exposeMetrics = async (
  metrics: Metrics,
  context: Context,
  documentsOf: StatusDocuments,
): Promise<MetricsServer | undefined> => {
  const { config, log, requests } = context;
  metrics.addSources(metricSources(context));
  const { serveMetrics } = await import('../http/server/metrics-server.ts');
  return (
    config.metrics && serveMetrics(metrics, config.metrics, log, await documentsOf({ context, metrics, requests }))
  );
};

/** Migrates if this is configured. Returns whether the schema is up to date. */
export const prepareDatabase = async ({ config, db, log }: Context): Promise<boolean> => {
  if (config.autoMigrate) {
    const applied = await migrateBy(config, db);
    if (applied.length > 0) log.info({ applied }, 'migrated');
  }
  const pending = await db.pendingMigrations();
  if (pending.length > 0) {
    log.warn({ pending }, 'migrations are due: run the command `migrate`, or start with AUTO_MIGRATE=true');
  }
  return pending.length === 0;
};

/** Connects and logs the database, and warns of variables that may be misspelled settings. */
export const open = async (
  config: Config,
  log: Logger,
  { level = 'info', observer }: { level?: 'info' | 'debug'; observer?: Observer | undefined } = {},
): Promise<Context> => {
  const { databaseUrl, databaseReadUrl, strays } = config;
  if (!isWorker) for (const { variable, message } of strays) log.warn({ variable }, message);
  const context = await openContext(config, log, undefined, observer);
  const replicas = databaseReadUrl === undefined ? undefined : describeAddress(databaseReadUrl);
  if (!isWorker) log[level]({ database: describeAddress(databaseUrl), replicas }, 'opened the database');
  return context;
};
