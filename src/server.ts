import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { callsOf, createApp } from './app.ts';
import { noteMigrations, systemActor } from './audit/acts.ts';
import { type Config, ConfigError, inContainer, MAX_PORT } from './runtime/config.ts';
import { describeAddress } from './db/address.ts';
import { isDurable } from './db/durability.ts';
import { closeContext, type Context, metricSources, openContext } from './context.ts';
import { Deadline } from './deadline.ts';
import { createDemo, type Demo } from './testkit/sandbox/records.ts';
import { errorDocs } from './http/message/failures.ts';
import { LoadShedder } from './http/server/load-shedder.ts';
import { Listener } from './http/server/http-server.ts';
import { joined } from './telemetry/composite.ts';
import { createLog, prettyLines } from './runtime/log.ts';
import type { Observer } from './telemetry/hooks.ts';
import { securityHeaders } from './http/middleware/security-headers.ts';
import type { Metrics } from './telemetry/metrics/metrics.ts';
import type { MetricsServer } from './http/server/metrics-server.ts';
import { isWorker, leaveSupervisor, stopSignal, Workers, workerStopped } from './runtime/cluster/workers.ts';
import type { Traces } from './telemetry/tracing/traces.ts';
import { sandboxWelcome, welcome } from './testkit/sandbox/welcome.ts';
import { warningsOf } from './runtime/warnings.ts';
import { version } from './version.ts';

const LOG_BUFFER_BYTES = 4096;
const LOG_DELAY_MS = 200;
/**
 * What is left to store what is buffered when requests took all the time there was to stop: it takes some milliseconds,
 * unless the database is away.
 */
const LAST_MS = 400;
/** The exit status that Node.js gives an uncaught exception, too. */
const FAULT = 1;

/** The log, on the standard error, written some lines at a time. What is left is written when the process ends. */
const openLog = async ({ logLevel, logFormat }: Config): Promise<Logger> => {
  const destination = pino.destination({ dest: 2, sync: false, minLength: LOG_BUFFER_BYTES });
  setInterval(() => destination.flush(), LOG_DELAY_MS).unref();
  const lines = logFormat === 'pretty' ? await prettyLines(destination, process.stderr.isTTY) : destination;
  const log = createLog(logLevel, lines);
  // Node.js would write all that the error holds, statements and their values included.
  process.on('uncaughtException', (error) => {
    try {
      log.fatal({ err: error }, 'a fault of the service ends it');
      destination.flushSync();
    } finally {
      process.exit(FAULT);
    }
  });
  return log;
};

/** The metrics of this process, where they are wanted: a start takes long enough without them. */
const openMetrics = async (config: Config): Promise<Metrics | undefined> =>
  config.metrics && new (await import('./telemetry/metrics/metrics.ts')).Metrics();

/** The traces of this process, likewise; a supervisor answers nobody. */
const openTraces = async (config: Config, log: Logger): Promise<Traces | undefined> => {
  if (!config.isTracing || (config.workers > 1 && !isWorker)) return undefined;
  return new (await import('./telemetry/tracing/traces.ts')).Traces(config, log);
};

/** @throws ConfigError for an address that cannot be had */
const exposeMetrics = async (metrics: Metrics, context: Context): Promise<MetricsServer | undefined> => {
  const { config, log } = context;
  metrics.watch(metricSources(context));
  const { serveMetrics } = await import('./http/server/metrics-server.ts');
  return config.metrics && serveMetrics(metrics, config.metrics, log);
};

/** Why a port cannot be had, in words for the operator. */
const listenFault = ({ host, port }: Config, error: NodeJS.ErrnoException): Error => {
  switch (error.code) {
    case 'EADDRINUSE':
      return new ConfigError(`PORT "${port}" is in use on ${host}: stop the other program or choose another PORT`);
    case 'EACCES':
      return new ConfigError(`PORT "${port}" needs privileges that this process lacks: choose one from 1024 to 65535`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ConfigError(`HOST "${host}" is not an address of this machine`);
    case undefined:
    default:
      return error;
  }
};

const listen = async (listener: Listener, config: Config): Promise<number> => {
  try {
    return await listener.listen(config.port, config.host);
  } catch (error) {
    throw listenFault(config, error as NodeJS.ErrnoException);
  }
};

/** Where a browser on this machine finds the service. */
const localUrl = ({ host, port }: Config): string => {
  const isAny = host === '0.0.0.0' || host === '::';
  return `http://${isAny ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
};

/** Migrates where this is asked for. Returns whether the database is ready. */
const prepareDatabase = async ({ config, db, log }: Context): Promise<boolean> => {
  if (config.autoMigrate) {
    const applied = await db.migrate();
    await noteMigrations(db, systemActor(), { applied });
    if (applied.length > 0) log.info({ applied }, 'migrated');
  }
  const pending = await db.pendingMigrations();
  if (pending.length > 0) {
    log.warn({ pending }, 'migrations are due: run the command `migrate`, or start with AUTO_MIGRATE=true');
  }
  return pending.length === 0;
};

/** Connects, and says to which database, and which variables may have been meant to tell of another one. */
const open = async (
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

/** Says in the log what the operator should change. */
const warn = async ({ config, db, log }: Context): Promise<void> => {
  const { databaseUrl, workers, quotas, redisUrl } = config;
  const circumstances = {
    databaseUrl,
    uid: process.getuid?.(),
    inContainer: inContainer(),
    countsApart: workers > 1 && quotas !== undefined && redisUrl === undefined,
    // What cannot be asked now is no reason not to start.
    isDurable: await isDurable(db).catch(() => true),
  };
  for (const { message, ...about } of warningsOf(circumstances)) log.warn(about, message);
};

/** Says where the service is, and what was made for whoever tries it. */
const announce = async (context: Context, port: number, demo: Demo | undefined): Promise<void> => {
  const { config, db, log } = context;
  const url = config.publicUrl ?? localUrl({ ...config, port });
  log.info({ url, engine: db.dialect.engine, workers: config.workers }, 'listening');
  await warn(context);
  const title = `${config.brand.name} ${version}`;
  process.stdout.write(config.sandbox ? sandboxWelcome({ title, url }) : welcome({ title, url, demo }));
};

/** The time to stop: that for requests, which storing and disconnecting share. */
class StopTime {
  #end: number | undefined;
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** It runs from now on, or in so many milliseconds, unless it does. */
  begin(delayMs = 0): void {
    this.#end ??= performance.now() + delayMs + this.#ms;
  }

  /** How many milliseconds are left for requests. */
  get left(): number {
    this.begin();
    return Math.max(0, (this.#end ?? 0) - performance.now());
  }

  /** How many are left to store what is buffered, and to disconnect. */
  get leftInAll(): number {
    this.begin();
    return Math.max(0, (this.#end ?? 0) + LAST_MS - performance.now());
  }
}

/**
 * Answers requests until `stopped` resolves to a reason, and for a while longer, so that balancers hear of it. Then it
 * accepts nothing more, finishes what runs, and stores what is buffered. `onListening` hears of the port.
 */
const answer = async (
  context: Context,
  stopped: Promise<string>,
  stopTime: StopTime,
  onListening: (port: number) => Promise<void> | void,
  app = createApp(context),
): Promise<void> => {
  const { config, log } = context;
  const headersOf = securityHeaders(config.corsOrigins);
  const docs = errorDocs(config);
  const {
    protection: { overload },
    observer,
  } = context;
  const shedder = new LoadShedder({ overload, headersOf, docs, log, observer });
  const prototypes = app;
  const listener = new Listener(app, {
    prototypes,
    headers: headersOf(),
    docs,
    log,
    shedder,
    observer: observer?.requests,
  });
  const port = await listen(listener, config);
  try {
    await onListening(port);
    log.info({ reason: await stopped }, 'stopping');
    context.lifecycle.stopping.abort();
    stopTime.begin(config.shutdownDelayMs);
    await sleep(config.shutdownDelayMs);
  } finally {
    const complete = await listener.stop(stopTime.left);
    if (!complete) log.warn({ timeoutMs: config.shutdownTimeoutMs }, 'cut off requests that took too long');
  }
};

/**
 * Fills the default database when it is empty: one that somebody has named is theirs to fill. The key is for whoever reads
 * the terminal; what is written to a file or a journal holds none.
 */
const fillDemo = async ({ config, db, now }: Context, isReady: boolean): Promise<Demo | undefined> =>
  isReady && !config.isDatabaseNamed ? createDemo(db, now(), { withKey: process.stdout.isTTY }) : undefined;

/** One process that does it all. */
const serveAlone = async (context: Context, stopTime: StopTime): Promise<void> => {
  const isReady = await prepareDatabase(context);
  context.lifecycle.indexer.start();
  context.lifecycle.sweeper.start();
  const stopped = stopSignal();
  await answer(context, stopped, stopTime, async (port) => {
    // Only now, since the key is shown only once, and not by a start that fails.
    await announce(context, port, await fillDemo(context, isReady));
  });
};

/** One process that does it all on data that nobody misses. */
const serveSandbox = async (context: Context, stopTime: StopTime): Promise<void> => {
  const stopped = stopSignal();
  // No other service has any use for it.
  const [{ SandboxSpaces }, { createSandboxApp }] = await Promise.all([
    import('./testkit/sandbox/spaces.ts'),
    import('./testkit/sandbox/app.ts'),
  ]);
  const spaces = await SandboxSpaces.open(context);
  try {
    await answer(
      context,
      stopped,
      stopTime,
      (port) => announce(context, port, undefined),
      createSandboxApp(context, spaces),
    );
  } finally {
    await spaces.close();
  }
};

/** @throws ConfigError when there is no port for the metrics of each worker */
const assertPorts = ({ metrics, workers }: Config): void => {
  if (!metrics || metrics.port + workers <= MAX_PORT) return;
  const most = MAX_PORT - workers;
  throw new ConfigError(
    `METRICS_PORT "${metrics.port}" leaves too few for ${workers} workers: it must be at most ${most}`,
  );
};

/** The first of `config.workers` processes: it migrates, keeps the others running, and says where they listen. */
const superviseWorkers = async (context: Context, stopTime: StopTime, metrics: Metrics | undefined): Promise<void> => {
  const { config, log } = context;
  assertPorts(config);
  const isReady = await prepareDatabase(context);
  context.lifecycle.indexer.start();
  context.lifecycle.sweeper.start();
  const stopped = stopSignal();
  const workers = new Workers(config.workers, {
    variablesOf: (number): Record<string, string> =>
      config.metrics ? { METRICS_PORT: String(config.metrics.port + number) } : {},
    onExit: () => metrics?.noteWorkerExit(),
    log,
  });
  try {
    await announce(context, await workers.start(), await fillDemo(context, isReady));
    log.info({ reason: await stopped }, 'stopping');
    stopTime.begin(config.shutdownDelayMs);
  } finally {
    await workers.stop(stopTime.leftInAll);
  }
};

/**
 * Runs the service until it is told to stop by SIGTERM or SIGINT: then it accepts nothing more, finishes what runs,
 * stores what is buffered, and closes the database. The log goes to the standard error.
 * @throws ConfigError for an address that cannot be had, AppError DATABASE_UNAVAILABLE
 */
export const serve = async (config: Config): Promise<void> => {
  const log = await openLog(config);
  const told = isWorker ? workerStopped() : undefined;
  let isOpen = false;
  // Nothing is to be finished yet, and a database that does not answer would keep it.
  void told?.then(() => isOpen || process.exit(0));
  const metrics = await openMetrics(config);
  const traces = await openTraces(config, log);
  const context = await open(config, log, { observer: joined(metrics?.observer, traces?.observer) });
  isOpen = true;
  const stopTime = new StopTime(config.shutdownTimeoutMs);
  let metricsServer: MetricsServer | undefined;
  let areSent: boolean | undefined;
  try {
    metricsServer = metrics && (await exposeMetrics(metrics, context));
    traces?.watch(context.db.dialect.engine);
    if (told) await answer(context, told, stopTime, () => undefined);
    else if (config.sandbox) await serveSandbox(context, stopTime);
    else if (config.workers > 1) await superviseWorkers(context, stopTime, metrics);
    else await serveAlone(context, stopTime);
  } finally {
    await closeContext(context, new Deadline(stopTime.leftInAll));
    areSent = await traces?.close(stopTime.leftInAll);
    await metricsServer?.close();
    leaveSupervisor();
  }
  log.info('stopped');
  // What still waits for a collector would keep the process.
  if (areSent === false) process.exit();
};

/**
 * Speaks the Model Context Protocol on the standard input and output, in the name of a key or of nobody, until the input
 * ends or a signal comes: then it answers what was asked, stores what is buffered, and closes the database. The log goes
 * to the standard error.
 * @throws AppError DATABASE_UNAVAILABLE, KEY_… for a key that does not work
 */
export const serveMcp = async (config: Config, key: string | undefined): Promise<void> => {
  const log = await openLog(config);
  // Whoever starts it for an assistant shows what it says as a fault.
  const context = await open(config, log, { level: 'debug' });
  const stopTime = new StopTime(config.shutdownTimeoutMs);
  const stopped = stopSignal();
  try {
    await prepareDatabase(context);
    const calls = callsOf(context);
    const { converse } = await import('./rpc/mcp/stdio.ts');
    context.lifecycle.indexer.start();
    context.lifecycle.sweeper.start();
    await converse(calls, context, { key, stopped, stopMs: () => stopTime.left });
  } finally {
    await closeContext(context, new Deadline(stopTime.leftInAll));
  }
};
