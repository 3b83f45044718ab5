import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { createApp } from './app.ts';
import { type Config, ConfigError, inContainer } from './config.ts';
import { isDurable } from './db/durability.ts';
import { closeContext, type Context, openContext } from './context.ts';
import { Deadline } from './deadline.ts';
import { createDemo } from './demo/records.ts';
import { Gate } from './http/gate.ts';
import { Listener } from './http/listener.ts';
import { createLog } from './log.ts';
import { securityHeaders } from './http/security.ts';
import { isWorker, leaveSupervisor, stopSignal, Workers, workerStopped } from './workers.ts';
import { fillSandbox } from './demo/sandbox.ts';
import { sandboxWelcome, welcome } from './demo/welcome.ts';
import { warningsOf } from './warnings.ts';

const LOG_BUFFER_BYTES = 4096;
const LOG_DELAY_MS = 200;
/**
 * What is left to store what is buffered when requests took all the time there was to stop: it takes some milliseconds,
 * unless the database is away.
 */
const LAST_MS = 400;
/** The exit status that Node.js gives an uncaught exception, too. */
const FAULT = 1;

/** The log: JSON lines on the standard error, written some at a time. What is left is written when the process ends. */
const openLog = ({ logLevel }: Config): Logger => {
  const destination = pino.destination({ dest: 2, sync: false, minLength: LOG_BUFFER_BYTES });
  setInterval(() => destination.flush(), LOG_DELAY_MS).unref();
  const log = createLog(logLevel, destination);
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
    if (applied.length > 0) log.info({ applied }, 'migrated');
  }
  const pending = await db.pendingMigrations();
  if (pending.length > 0) {
    log.warn({ pending }, 'migrations are due: run the command `migrate`, or start with AUTO_MIGRATE=true');
  }
  return pending.length === 0;
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

/** Says where the service is. `demoKey` is the key that was just made for the demo, if it was. */
const announce = async (context: Context, port: number, demoKey: string | undefined): Promise<void> => {
  const { config, db, log } = context;
  const url = config.publicUrl ?? localUrl({ ...config, port });
  log.info({ url, engine: db.dialect.engine, workers: config.workers }, 'listening');
  await warn(context);
  process.stdout.write(config.sandbox ? sandboxWelcome(url) : welcome(url, demoKey));
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
): Promise<void> => {
  const { config, log } = context;
  const app = createApp(context);
  const headersOf = securityHeaders(config.corsOrigins);
  const gate = new Gate({ lanes: context.lanes, headersOf, log });
  const listener = new Listener(app, { prototypes: app, headers: headersOf(), log, gate });
  const port = await listen(listener, config);
  try {
    await onListening(port);
    log.info({ reason: await stopped }, 'stopping');
    context.stopping.abort();
    stopTime.begin(config.shutdownDelayMs);
    await sleep(config.shutdownDelayMs);
  } finally {
    const complete = await listener.stop(stopTime.left);
    if (!complete) log.warn({ timeoutMs: config.shutdownTimeoutMs }, 'cut off requests that took too long');
  }
};

/** Fills an embedded database that is empty. Returns the key of the demo, if it was made. */
const fillDemo = async ({ db, now }: Context, isReady: boolean): Promise<string | undefined> =>
  isReady && db.dialect.engine === 'sqlite' ? createDemo(db, now()) : undefined;

/** One process that does it all. */
const serveAlone = async (context: Context, stopTime: StopTime): Promise<void> => {
  const isReady = await prepareDatabase(context);
  context.indexer.start();
  context.sweeper.start();
  if (context.config.sandbox) await fillSandbox(context.db);
  const stopped = stopSignal();
  await answer(context, stopped, stopTime, async (port) => {
    // Only now, since the key is shown only once, and not by a start that fails.
    await announce(context, port, await fillDemo(context, isReady));
  });
};

/** The first of `config.workers` processes: it migrates, keeps the others running, and says where they listen. */
const superviseWorkers = async (context: Context, stopTime: StopTime): Promise<void> => {
  const { config, log } = context;
  const isReady = await prepareDatabase(context);
  context.indexer.start();
  context.sweeper.start();
  const stopped = stopSignal();
  const workers = new Workers(config.workers, log);
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
 * stores what is buffered, and closes the database. The log goes to the standard error, as JSON lines.
 * @throws ConfigError for an address that cannot be had, AppError DATABASE_UNAVAILABLE
 */
export const serve = async (config: Config): Promise<void> => {
  const log = openLog(config);
  const told = isWorker ? workerStopped() : undefined;
  let isOpen = false;
  // Nothing is to be finished yet, and a database that does not answer would keep it.
  void told?.then(() => isOpen || process.exit(0));
  const context = await openContext(config, log);
  isOpen = true;
  const stopTime = new StopTime(config.shutdownTimeoutMs);
  try {
    if (told) await answer(context, told, stopTime, () => undefined);
    else if (config.workers > 1) await superviseWorkers(context, stopTime);
    else await serveAlone(context, stopTime);
  } finally {
    await closeContext(context, new Deadline(stopTime.leftInAll));
    leaveSupervisor();
  }
  log.info('stopped');
};
