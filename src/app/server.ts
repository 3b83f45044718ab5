import type { RequestListener } from 'node:http';
import type { Express } from 'express';
import { currentDate, sleep } from '../base/runtime.ts';
import { type Config, ConfigError, inContainer } from '../config/config.ts';
import { MAX_PORT } from '../config/variables.ts';
import type { Database } from '../db/database.ts';
import { isDurable } from '../db/server-facts.ts';
import { Deadline } from '../base/deadline.ts';
import { errorDocs } from '../http/message/failures.ts';
import { securityHeaders } from '../http/middleware/security-headers.ts';
import { HttpServer, type HttpServerOptions } from '../http/server/http-server.ts';
import { LoadShedder } from '../http/server/load-shedder.ts';
import type { MetricsServer } from '../http/server/metrics-server.ts';
import { observerOf } from '../telemetry/observers.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import { build, version } from '../base/version.ts';
import { createApp } from './app.ts';
import { isWorker, leaveSupervisor, stopSignal, Workers, workerStopped } from './cluster/workers.ts';
import { closeContext, type Context, startBackgroundWork } from './context.ts';
import {
  exposeMetrics,
  open,
  openLog,
  openMetrics,
  openTraces,
  prepareDatabase,
  type StatusDocuments,
} from './start.ts';
import { LOG_END_MS, StopTime } from './stop-time.ts';
import { warningsOf } from './warnings.ts';

/** The facts that a start prints: the name, version and URL of the service. */
export interface Start {
  title: string;
  url: string;
}

/** The parts of the test kit that a start uses; a higher layer provides them. */
export interface DemoAndSandbox<Demo> {
  /** Fills a database without users; undefined if it has some. */
  createDemo: (db: Database, now: Date, options: { withKey: boolean }) => Promise<Demo | undefined>;
  welcome: (start: Start, demo: Demo | undefined) => string;
  /** Makes the documents about the state of the service, which are served with its metrics. */
  statusDocuments: StatusDocuments;
  /** Opens the sandbox, on an empty database. */
  openSandbox: (context: Context) => Promise<Sandbox>;
}

/** A service whose calls are answered in workspaces. */
export interface Sandbox {
  app: Express;
  welcome: (start: Start) => string;
  close: () => Promise<void>;
}

/** Explains to the operator why a port cannot be opened. */
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

const listen = async (listener: HttpServer, config: Config): Promise<number> => {
  try {
    return await listener.listen(config.port, config.host);
  } catch (error) {
    throw listenFault(config, error as NodeJS.ErrnoException);
  }
};

/** The URL of the service for a browser on this machine. */
const localUrl = ({ host, port }: Config): string => {
  const isAny = host === '0.0.0.0' || host === '::';
  return `http://${isAny ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
};

/** Logs settings that the operator should change. */
const warn = async ({ config, db, log, routers }: Context): Promise<void> => {
  const { databaseUrl, workers, quotas, redisUrl } = config;
  const startFacts = {
    databaseUrl,
    workers,
    secretFiles: config.secretFiles,
    uid: process.getuid?.(),
    inContainer: inContainer(),
    countsApart: workers > 1 && quotas !== undefined && redisUrl === undefined,
    lacksWebhookKey: config.recordsEvents && !config.isReadOnly && !routers.webhook.secrets.isOn,
    // A database that does not answer now must not prevent the start.
    isDurable: await isDurable(db).catch(() => true),
    nodeVersion: process.versions.node,
    now: currentDate(),
  };
  for (const { message, ...about } of warningsOf(startFacts)) log.warn(about, message);
};

/** Logs the URL of the service, and prints the welcome on the standard output. */
const announce = async (context: Context, port: number, welcome: (start: Start) => string): Promise<void> => {
  const { config, db, log } = context;
  const url = config.publicUrl ?? localUrl({ ...config, port });
  log.info({ url, engine: db.dialect.engine, workers: config.workers }, 'listening');
  await warn(context);
  process.stdout.write(welcome({ title: `${config.brand.name} ${version}`, url }));
};

/** The HTTP server of an app. It refuses requests early that overload would make the app refuse. It does not listen. */
export const httpServerOf = (
  { config, log, protection: { overload }, observer }: Context,
  app: RequestListener,
  options: Pick<HttpServerOptions, 'prototypes' | 'limits'> = {},
): HttpServer => {
  const headersOf = securityHeaders(config.corsOrigins);
  const docs = errorDocs(config);
  const shedder = new LoadShedder({ overload, headersOf, docs, log, observer });
  return new HttpServer(app, { ...options, headers: headersOf(), docs, log, shedder, observer: observer?.requests });
};

/**
 * Answers requests until `stopped` resolves to a reason, and a while longer, so that balancers notice. Then it accepts
 * no more connections, finishes requests under way, and stores buffered changes. `onListening` is called with the port.
 */
const answer = async (
  context: Context,
  stopped: Promise<string>,
  stopTime: StopTime,
  onListening: (port: number) => Promise<void> | void,
  app = createApp(context),
): Promise<void> => {
  const { config, log } = context;
  const listener = httpServerOf(context, app, { prototypes: app });
  const port = await listen(listener, config);
  try {
    await onListening(port);
    log.info({ reason: await stopped }, 'stopping');
    context.lifecycle.stopping.abort();
    stopTime.begin(config.shutdownDelayMs);
    await sleep(config.shutdownDelayMs);
    // A balancer that finds no listener fails all calls.
    if (config.shutdownDelayMs > 0) await listener.completeRunning(stopTime.left);
  } finally {
    const complete = await listener.stop(stopTime.left);
    if (!complete) log.warn({ timeoutMs: config.shutdownTimeoutMs }, 'cut off requests that took too long');
  }
};

/**
 * The welcome of a start. It fills the default database if that is empty, but never a database that the operator named.
 * The key is shown on a terminal only, never written to a file or a journal.
 */
const welcomeOf = async <Demo>(
  { config, db, now }: Context,
  isReady: boolean,
  { createDemo, welcome }: DemoAndSandbox<Demo>,
): Promise<(start: Start) => string> => {
  const withKey = process.stdout.isTTY;
  const demo = isReady && !config.isDatabaseNamed ? await createDemo(db, now(), { withKey }) : undefined;
  return (start) => welcome(start, demo);
};

/** Serves from one process. */
const serveAlone = async <Demo>(context: Context, stopTime: StopTime, kit: DemoAndSandbox<Demo>): Promise<void> => {
  const isReady = await prepareDatabase(context);
  await startBackgroundWork(context);
  const stopped = stopSignal();
  await answer(context, stopped, stopTime, async (port) => {
    // The welcome is late: the key is shown once, and a start that fails must not show it.
    await announce(context, port, await welcomeOf(context, isReady, kit));
  });
};

/** Serves the sandbox from one process. */
const serveSandbox = async (
  context: Context,
  stopTime: StopTime,
  openSandbox: (context: Context) => Promise<Sandbox>,
): Promise<void> => {
  const stopped = stopSignal();
  const { app, welcome, close } = await openSandbox(context);
  try {
    await answer(context, stopped, stopTime, (port) => announce(context, port, welcome), app);
  } finally {
    await close();
  }
};

const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '::'];

/** @throws ConfigError when there is no port for the metrics of each process, or one of them is that of the API */
const assertPorts = ({ host, port, metrics, workers }: Config): void => {
  if (!metrics) return;
  // A supervisor has its own metrics.
  const last = metrics.port + (workers > 1 ? workers : 0);
  if (last > MAX_PORT) {
    throw new ConfigError(
      `METRICS_PORT "${metrics.port}" leaves too few for ${workers} workers: it must be at most ${MAX_PORT - workers}`,
    );
  }
  const isShared = [host, metrics.host].some((one) => ANY_ADDRESS.includes(one)) || host === metrics.host;
  if (!isShared || port < metrics.port || port > last) return;
  const ports = `takes the ports up to ${last} with those of ${workers} workers, and PORT is "${port}"`;
  const fault = last > metrics.port ? ports : 'is that of PORT, too';
  throw new ConfigError(`METRICS_PORT "${metrics.port}" ${fault}: choose another METRICS_PORT`);
};

/**
 * Runs the supervisor of `config.workers` processes: it migrates, keeps the workers running, and prints the URL of the
 * service.
 */
const superviseWorkers = async <Demo>(
  context: Context,
  stopTime: StopTime,
  { metrics, kit }: { metrics: Metrics | undefined; kit: DemoAndSandbox<Demo> },
): Promise<void> => {
  const { config, log } = context;
  const isReady = await prepareDatabase(context);
  await startBackgroundWork(context);
  const stopped = stopSignal();
  const workers = new Workers(config.workers, {
    variablesOf: (number): Record<string, string> =>
      config.metrics ? { METRICS_PORT: String(config.metrics.port + number) } : {},
    onExit: () => metrics?.noteWorkerExit(),
    log,
  });
  try {
    await announce(context, await workers.start(), await welcomeOf(context, isReady, kit));
    log.info({ reason: await stopped }, 'stopping');
    stopTime.begin(config.shutdownDelayMs);
  } finally {
    await workers.stop(stopTime.leftInAll);
  }
};

/**
 * Runs the service until SIGTERM or SIGINT: then it accepts no more connections, finishes requests under way, stores
 * buffered changes, and closes the database. The log is written to the standard error.
 * @throws ConfigError for an address that cannot be opened, AppError DATABASE_UNAVAILABLE
 */
export const serve = async <Demo>(config: Config, kit: DemoAndSandbox<Demo>): Promise<void> => {
  if (!isWorker) assertPorts(config);
  const { log, end } = await openLog(config);
  if (!isWorker) log.info({ version, build, node: process.version }, 'starting');
  const told = isWorker ? workerStopped() : undefined;
  let isOpen = false;
  // No request is under way yet, and a database that does not answer would delay the end.
  void told?.then(() => isOpen || process.exit(0));
  const metrics = await openMetrics(config);
  const traces = await openTraces(config, log);
  const context = await open(config, log, {
    observer: observerOf([metrics, traces].flatMap((one) => one?.observer ?? [])),
  });
  isOpen = true;
  const stopTime = new StopTime(config.shutdownTimeoutMs);
  let metricsServer: MetricsServer | undefined;
  let areSent: boolean | undefined;
  try {
    metricsServer = metrics && (await exposeMetrics(metrics, context, kit.statusDocuments));
    traces?.setEngine(context.db.dialect.engine);
    if (told) await answer(context, told, stopTime, () => undefined);
    else if (config.sandbox) await serveSandbox(context, stopTime, kit.openSandbox);
    else if (config.workers > 1) await superviseWorkers(context, stopTime, { metrics, kit });
    else await serveAlone(context, stopTime, kit);
  } finally {
    await closeContext(context, new Deadline(stopTime.leftInAll));
    areSent = await traces?.close(stopTime.leftInAll);
    await metricsServer?.close();
    leaveSupervisor();
  }
  log.info('stopped');
  await end(stopTime.leftInAll + LOG_END_MS);
  // Spans that wait for a collector would keep the process alive.
  if (areSent === false) process.exit();
};
