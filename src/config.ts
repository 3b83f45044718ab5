import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { checkAddress, DEFAULT_DATABASE_URL } from './db/address.ts';
import { AddressError } from './errors.ts';
import { parseQuotas, QuotaError, type Quotas } from './limits/policies.ts';

const MAX_PORT = 65_535;

const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true');

const databaseUrl = z.string().check((ctx) => {
  try {
    checkAddress(ctx.value);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    ctx.issues.push({ code: 'custom', input: '', message: error.message });
  }
});

const quotas = z.string().transform((text, ctx) => {
  try {
    return parseQuotas(text);
  } catch (error) {
    if (!(error instanceof QuotaError)) throw error;
    ctx.issues.push({ code: 'custom', input: text, message: error.message });
    return z.NEVER;
  }
});

const redisUrl = z
  .string()
  .refine(
    (url) => URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol) && new URL(url).hostname !== '',
    'must be redis://user:password@host:port/number or rediss://…',
  );

const publicUrl = z
  .string()
  .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), 'must be an http or https URL')
  .transform((url) => url.replace(/\/+$/, ''));

const variables = z.object({
  PORT: wholeNumber(0, MAX_PORT).default(3000),
  HOST: z.string().optional(),
  DATABASE_URL: databaseUrl.default(DEFAULT_DATABASE_URL),
  DATABASE_READ_URL: databaseUrl
    .refine((url) => !url.startsWith('sqlite:'), 'must be mysql://user:password@host:port/database or mariadb://…')
    .optional(),
  AUTO_MIGRATE: flag.optional(),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
  PUBLIC_URL: publicUrl.optional(),
  TRUST_PROXY: wholeNumber(0, 32).default(0),
  CORS_ORIGINS: z
    .string()
    .transform((list) => list.split(',').map((origin) => origin.trim()))
    .pipe(
      z.array(
        z
          .string()
          .refine(
            (origin) => origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin),
            'must be * or a comma-separated list of origins such as https://app.example.com',
          ),
      ),
    )
    .default(['*']),
  WORKERS: z
    .literal('auto', { error: 'must be auto or a whole number' })
    .transform(() => availableParallelism())
    .or(wholeNumber(1, 256))
    .default(1),
  RATE_LIMIT: quotas.prefault('on'),
  REDIS_URL: redisUrl.optional(),
  REDIS_TIMEOUT_MS: wholeNumber(1, 1000).default(5),
  REQUEST_TIMEOUT_MS: wholeNumber(100, 600_000).default(10_000),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 600_000).default(0),
  SHUTDOWN_TIMEOUT_MS: wholeNumber(0, 600_000).default(10_000),
});

/** The names of all variables that are read. */
export const variableNames: readonly string[] = Object.keys(variables.shape);

/** The settings of the service, as the README's table describes them. */
export interface Config {
  port: number;
  host: string;
  databaseUrl: string;
  /** Where reads of nobody in particular go, which may then miss what was stored a moment ago. */
  databaseReadUrl: string | undefined;
  autoMigrate: boolean;
  logLevel: z.output<typeof variables>['LOG_LEVEL'];
  /** Where callers reach the service, without a trailing slash. */
  publicUrl: string | undefined;
  /** How many proxies in front of the service are trusted to name the caller's address. */
  trustProxy: number;
  corsOrigins: string[];
  /** How many processes answer requests. */
  workers: number;
  /** What callers may do within a minute; undefined for all that they like. */
  quotas: Quotas | undefined;
  /** Where instances count together. */
  redisUrl: string | undefined;
  /** How long anybody waits for an answer there. */
  redisTimeoutMs: number;
  /** How long the work for a request may take. */
  requestTimeoutMs: number;
  /** How long callers may still come when it has been told to stop, and says so. */
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  /** Whether this is the sandbox: in memory, with known keys, and with faults on demand. */
  sandbox: boolean;
}

/** The same settings for the sandbox, which leaves the database alone that they name. */
export const sandboxOf = (config: Config): Config => ({
  ...config,
  databaseUrl: 'sqlite::memory:',
  databaseReadUrl: undefined,
  autoMigrate: true,
  // Each process would have a memory of its own.
  workers: 1,
  // Tests call as often as they like.
  quotas: undefined,
  redisUrl: undefined,
  sandbox: true,
});

/** A setting that cannot be used: the message names the variable, the fault and what is allowed. */
export class ConfigError extends Error {}

/** Whether this process runs in a container, as far as one can tell. */
export const inContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv');

/**
 * Reads the settings from environment variables; an empty one counts as missing.
 * @throws ConfigError that lists every faulty variable
 */
export const readConfig = (environment: NodeJS.ProcessEnv = process.env): Config => {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const { success, data, error } = variables.safeParse(present);
  if (!success) {
    const faults = error.issues.map((issue) => {
      const name = String(issue.path[0]);
      // Whoever reads the log need not learn a password.
      const isSecret = ['DATABASE_URL', 'DATABASE_READ_URL', 'REDIS_URL'].includes(name);
      const value = isSecret ? '' : ` "${present[name]}"`;
      return `${name}${value} ${issue.message}`;
    });
    throw new ConfigError([...new Set(faults)].join('\n'));
  }
  return {
    port: data.PORT,
    host: data.HOST ?? (inContainer() ? '0.0.0.0' : '127.0.0.1'),
    databaseUrl: data.DATABASE_URL,
    databaseReadUrl: data.DATABASE_READ_URL,
    autoMigrate: data.AUTO_MIGRATE ?? data.DATABASE_URL.startsWith('sqlite:'),
    logLevel: data.LOG_LEVEL,
    publicUrl: data.PUBLIC_URL,
    trustProxy: data.TRUST_PROXY,
    corsOrigins: data.CORS_ORIGINS,
    workers: data.WORKERS,
    quotas: data.RATE_LIMIT,
    redisUrl: data.REDIS_URL,
    redisTimeoutMs: data.REDIS_TIMEOUT_MS,
    requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
    shutdownDelayMs: data.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: data.SHUTDOWN_TIMEOUT_MS,
    sandbox: false,
  };
};
