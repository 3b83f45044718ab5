import { existsSync } from 'node:fs';
import { z } from 'zod';
import { secureRandomBytes } from '../base/runtime.ts';
import type { Quotas } from '../limits/rate-limit/policies.ts';
import { type StrayVariable, strayVariables } from '../base/suggestions/variables.ts';
import type { Logo } from './brand-logo.ts';
import { databaseOf } from '../db/address.ts';
import { withSecretFiles } from './secret-files.ts';
import { secretFileNames, secretNames, telemetry, telemetryNames, variableNames, variables } from './variables.ts';

/** Whether spans are recorded and sent: only with an endpoint, and if not turned off. */
const isTracing = (given: z.output<typeof telemetry>): boolean => {
  const endpoint = given.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? given.OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = given.OTEL_TRACES_EXPORTER ?? (endpoint === undefined ? 'none' : 'otlp');
  return exporter === 'otlp' && given.OTEL_SDK_DISABLED?.toLowerCase() !== 'true';
};

/** The operator's choices for publishing the service: configuration, with neutral defaults. */
export interface Brand {
  /** The name of the service, in titles and in the bar of every page. */
  name: string;
  /** The accent of the pages, `#rrggbb`. */
  color: string;
  /** A logo instead of the default one. */
  logo: Logo | undefined;
  /** The address at which users reach the operator: a `mailto:` or http(s) URL. */
  contact: string | undefined;
  /** The terms of use: an http(s) URL. */
  terms: string | undefined;
  /** The source of the service: an http(s) URL. */
  source: string | undefined;
}

/** The settings of the service, as docs/settings.md describes them. */
export interface Config {
  port: number;
  host: string;
  databaseUrl: string;
  /** Whether the operator chose the database instead of the default one. */
  isDatabaseNamed: boolean;
  /** The address for migrations of the database, with an account that may change tables. */
  migrateDatabaseUrl: string;
  /** The address of the database for anonymous reads, which may miss recent writes. */
  databaseReadUrl: string | undefined;
  /** The largest lag of a replica that reads still use, in milliseconds. */
  maxReplicaLagMs: number;
  autoMigrate: boolean;
  /** Whether this instance refuses writes, and makes none by itself. */
  isReadOnly: boolean;
  logLevel: z.output<typeof variables>['LOG_LEVEL'];
  logFormat: 'json' | 'pretty';
  /** The duration in milliseconds from which a request is logged with its statements; 0 for never. */
  slowRequestMs: number;
  /** The public URL of the service, without a trailing slash. */
  publicUrl: string | undefined;
  /** The contact for reports of vulnerabilities: a `mailto:` or https URL. */
  securityContact: string | undefined;
  /** The number of trusted proxies, which name the caller's address. */
  trustProxy: number;
  corsOrigins: string[];
  /** The number of processes that answer requests. */
  workers: number;
  /** The rates of callers; undefined without limits. */
  quotas: Quotas | undefined;
  /** The address of the metrics; undefined without metrics. */
  metrics: { host: string; port: number } | undefined;
  /** Whether the service records and sends traces. */
  isTracing: boolean;
  /** The Redis in which instances count together. */
  redisUrl: string | undefined;
  /** The timeout of its answers, in milliseconds. */
  redisTimeoutMs: number;
  /** The time limit of the work on a request, in milliseconds. */
  requestTimeoutMs: number;
  /** The maximum queue time of a call, in milliseconds. If undefined, calls neither wait nor are refused. */
  maxQueueMs: number | undefined;
  /** The person whom the audit log names, in addition to the system user. */
  auditActor: string | undefined;
  /** The days for which entries of the audit log are stored. */
  auditRetentionDays: number;
  /** Whether the service records which operations and parts of inputs each consumer uses. */
  recordsUse: boolean;
  /** Whether changes are recorded as events. */
  recordsEvents: boolean;
  /** The days for which events are stored. */
  eventRetentionDays: number;
  /** The hosts that webhooks may reach. */
  webhooks: { allowed: string[]; ports: number[]; allowsHttp: boolean };
  /** The keys for encrypting the secrets of webhooks. New secrets use the first one. */
  webhookKeys: readonly Buffer[];
  /** The files from which secrets were read. */
  secretFiles: readonly string[];
  /** The milliseconds for which a stopping service still accepts requests, while `/readyz` reports the stop. */
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  brand: Brand;
  /** The operator's own way to give out keys: a `mailto:` or http(s) URL. */
  keyRequestUrl: string | undefined;
  /** The folder of the packages at `/sdks/`, which may be missing; undefined without this page. */
  sdksDir: string | undefined;
  /** The registries of the published packages, by language. */
  sdkPackages: Readonly<Record<string, string>>;
  /** The names of the variables that are set. */
  given: readonly string[];
  /** Variables that resemble misspelled settings, or are not used. */
  strays: StrayVariable[];
  /** Whether this is the sandbox: in memory, with known keys, and with faults on demand. */
  sandbox: boolean;
  /** The seed of the sandbox's random faults; undefined for none. */
  sandboxSeed: number | undefined;
}

/** Settings that the sandbox ignores. */
const UNUSED_BY_SANDBOX: readonly string[] = [
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'REPLICA_MAX_LAG',
  'MIGRATE_DATABASE_URL',
  'AUTO_MIGRATE',
  'READ_ONLY',
  'WORKERS',
  'RATE_LIMIT',
  'MAX_QUEUE_MS',
  'REDIS_URL',
  'REDIS_TIMEOUT_MS',
  'WEBHOOK_SECRET_KEY',
];

/** The settings of the sandbox, which does not use the configured database. */
export const sandboxOf = (config: Config, sandboxSeed?: number): Config => ({
  ...config,
  strays: [
    ...config.strays,
    ...config.given
      .filter((variable) => UNUSED_BY_SANDBOX.includes(variable.replace(/_FILE$/, '')))
      .filter((variable) => variable !== 'RATE_LIMIT' || config.quotas !== undefined)
      .map((variable) => ({
        variable,
        message: `${variable} is not used: a sandbox has its data in memory, in one process without limits`,
      })),
  ],
  databaseUrl: 'sqlite::memory:',
  migrateDatabaseUrl: 'sqlite::memory:',
  databaseReadUrl: undefined,
  autoMigrate: true,
  isReadOnly: false,
  // Each process would have separate data.
  workers: 1,
  // Tests have no limits.
  quotas: undefined,
  maxQueueMs: undefined,
  redisUrl: undefined,
  // The spaces of a sandbox are copies of one another.
  webhookKeys: [secureRandomBytes(32)],
  sandbox: true,
  sandboxSeed,
});

/** An unusable setting. The message names the variable, the fault and the allowed values. */
export class ConfigError extends Error {}

/** Whether this process probably runs in a container. */
export const inContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv');

/** The fault of two addresses that name different databases. */
const otherDatabase = ({
  DATABASE_URL: url,
  MIGRATE_DATABASE_URL: migrateUrl,
}: Record<string, string>): string | undefined =>
  url === undefined || migrateUrl === undefined || databaseOf(url) === databaseOf(migrateUrl)
    ? undefined
    : `MIGRATE_DATABASE_URL names ${databaseOf(migrateUrl)}, and DATABASE_URL ${databaseOf(url)}: they must name the same database`;

/**
 * Reads the settings from environment variables; an empty one counts as missing.
 * @throws ConfigError that lists every faulty variable
 */
export const readConfig = (environment: NodeJS.ProcessEnv = process.env): Config => {
  const given = Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  const { values: present, fromFiles, faults: fileFaults } = withSecretFiles(Object.fromEntries(given));
  const known = [...variableNames, ...secretFileNames, ...telemetryNames];
  const strays = strayVariables(
    given.map(([name]) => name),
    known,
  );
  const { success, data, error } = z.object({ ...variables.shape, ...telemetry.shape }).safeParse(present);
  const faults = (error?.issues ?? []).map((issue) => {
    const name = String(issue.path[0]);
    if (fromFiles.has(name)) return `${name}_FILE "${fromFiles.get(name)}" holds a value that ${issue.message}`;
    // A log must not show a password.
    return `${name}${secretNames.includes(name) ? '' : ` "${present[name]}"`} ${issue.message}`;
  });
  const other = success ? otherDatabase(present) : undefined;
  const all = new Set([...fileFaults, ...faults, ...(other === undefined ? [] : [other])]);
  // A misspelled name may be the cause.
  if (!success || all.size > 0) {
    throw new ConfigError([...all, ...strays.map(({ message }) => message)].join('\n'));
  }
  // A container's ports are published one by one.
  const defaultHost = inContainer() ? '0.0.0.0' : '127.0.0.1';
  const { METRICS_PORT: metricsPort, METRICS_HOST: metricsHost = defaultHost } = data;
  return {
    port: data.PORT,
    host: data.HOST ?? defaultHost,
    databaseUrl: data.DATABASE_URL,
    isDatabaseNamed: present['DATABASE_URL'] !== undefined,
    migrateDatabaseUrl: data.MIGRATE_DATABASE_URL ?? data.DATABASE_URL,
    databaseReadUrl: data.DATABASE_READ_URL,
    maxReplicaLagMs: data.REPLICA_MAX_LAG * 1000,
    autoMigrate: (data.AUTO_MIGRATE ?? data.DATABASE_URL.startsWith('sqlite:')) && !data.READ_ONLY,
    isReadOnly: data.READ_ONLY,
    logLevel: data.LOG_LEVEL,
    // The output is for a person on a terminal, or for a program.
    logFormat: data.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    slowRequestMs: data.SLOW_REQUEST_MS,
    publicUrl: data.PUBLIC_URL,
    securityContact: data.SECURITY_CONTACT,
    trustProxy: data.TRUST_PROXY,
    corsOrigins: data.CORS_ORIGINS,
    workers: data.WORKERS,
    quotas: data.RATE_LIMIT,
    metrics: metricsPort === undefined ? undefined : { host: metricsHost, port: metricsPort },
    isTracing: isTracing(data),
    redisUrl: data.REDIS_URL,
    redisTimeoutMs: data.REDIS_TIMEOUT_MS,
    requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
    maxQueueMs: data.MAX_QUEUE_MS,
    auditActor: data.AUDIT_ACTOR,
    auditRetentionDays: data.AUDIT_RETENTION_DAYS,
    recordsUse: data.USE_RECORDING === 'on',
    recordsEvents: data.EVENTS === 'on',
    eventRetentionDays: data.EVENT_RETENTION_DAYS,
    webhooks: { allowed: data.WEBHOOK_ALLOW ?? [], ports: data.WEBHOOK_PORTS, allowsHttp: data.WEBHOOK_HTTP },
    webhookKeys: data.WEBHOOK_SECRET_KEY ?? [],
    secretFiles: [...fromFiles.values()],
    shutdownDelayMs: data.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: data.SHUTDOWN_TIMEOUT_MS,
    brand: {
      name: data.BRAND_NAME,
      color: data.BRAND_COLOR,
      logo: data.BRAND_LOGO,
      contact: data.BRAND_CONTACT,
      terms: data.BRAND_TERMS,
      source: data.SOURCE_URL,
    },
    keyRequestUrl: data.KEY_REQUEST_URL,
    sdksDir: data.SDKS_DIR === 'off' ? undefined : data.SDKS_DIR,
    sdkPackages: data.SDK_PACKAGES,
    given: given.map(([name]) => name).filter((name) => known.includes(name)),
    strays,
    sandbox: false,
    sandboxSeed: undefined,
  };
};
