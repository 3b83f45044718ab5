import { pino } from 'pino';
import { createApp } from './app.ts';
import { type Config, ConfigError } from './config.ts';
import { closeContext, type Context, openContext } from './context.ts';
import { createDemo } from './demo/records.ts';
import { Listener } from './http/listener.ts';
import { fillSandbox } from './demo/sandbox.ts';
import { sandboxWelcome, welcome } from './demo/welcome.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

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

/** Resolves at the first signal that asks to stop. A second one ends the process at once, as it does without us. */
const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      for (const name of STOP_SIGNALS) process.off(name, onSignal);
      resolve(signal);
    };
    for (const name of STOP_SIGNALS) process.on(name, onSignal);
  });

/** Says where the service is, then waits for the signal to stop. */
const run = async ({ config, db, log, now }: Context, port: number, isReady: boolean): Promise<void> => {
  const stopped = stopSignal();
  const isEmbedded = db.dialect.engine === 'sqlite';
  // Only now, since the key is shown only once, and not by a start that fails.
  const demoKey = isReady && isEmbedded ? await createDemo(db, now()) : undefined;
  const url = config.publicUrl ?? localUrl({ ...config, port });
  log.info({ url, engine: db.dialect.engine }, 'listening');
  process.stdout.write(config.sandbox ? sandboxWelcome(url) : welcome(url, demoKey));
  const signal = await stopped;
  log.info({ signal }, 'stopping');
};

/**
 * Runs the service until it is told to stop by SIGTERM or SIGINT: then it accepts nothing more, finishes what runs,
 * stores what is buffered, and closes the database. The log goes to the standard error, as JSON lines.
 * @throws ConfigError for an address that cannot be had, AppError DATABASE_UNAVAILABLE
 */
export const serve = async (config: Config): Promise<void> => {
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: false }));
  const context = await openContext(config, log);
  try {
    const isReady = await prepareDatabase(context);
    if (config.sandbox) await fillSandbox(context.db);
    const app = createApp(context);
    const listener = new Listener(app, app);
    const port = await listen(listener, config);
    try {
      await run(context, port, isReady);
    } finally {
      const complete = await listener.stop(config.shutdownTimeoutMs);
      if (!complete) log.warn({ timeoutMs: config.shutdownTimeoutMs }, 'cut off requests that took too long');
    }
  } finally {
    await closeContext(context);
  }
  log.info('stopped');
};
