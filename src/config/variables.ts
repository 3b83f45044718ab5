import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { checkAddress, DEFAULT_DATABASE_URL, hasUnencoded, ILL_FORMED } from '../db/address.ts';
import { AddressError } from '../base/errors.ts';
import { parseQuotas, QuotaError } from '../limits/rate-limit/policies.ts';
import { LogoError, readLogo } from './brand-logo.ts';

// The environment variables: their forms, their defaults, and the messages about their faults.

export const MAX_PORT = 65_535;

/** A whole number in a range, or `word`, which means `value`. */
const wholeNumberOr = <Value>(word: string | undefined, value: () => Value, minimum: number, maximum: number) =>
  z.string().transform((text, ctx): number | Value => {
    if (text === word) return value();
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= minimum && number <= maximum) return number;
    const numbers = `a whole number from ${minimum} to ${maximum}`;
    ctx.issues.push({
      code: 'custom',
      input: text,
      message: `must be ${word === undefined ? '' : `${word} or `}${numbers}`,
    });
    return z.NEVER;
  });

const wholeNumber = (minimum: number, maximum: number) =>
  wholeNumberOr(undefined, (): never => z.NEVER, minimum, maximum);

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

const networks = z
  .string()
  .transform((list) => list.split(',').map((network) => network.trim()))
  .refine(
    (list) => list.every((network) => ipaddr.isValidCIDR(network)),
    'must be a list of networks such as 10.0.0.0/8',
  );

const portList = z
  .string()
  .transform((list) => list.split(',').map(Number))
  .refine(
    (list) => list.every((port) => Number.isInteger(port) && port > 0 && port <= MAX_PORT),
    'must be a list of ports such as 443,8443',
  );

const redisUrl = z
  .string()
  .refine(
    (url) =>
      /^rediss?:\/\/[^/]/.test(url) &&
      (hasUnencoded(url) || (URL.canParse(url) && /^(?:\/\d*)?$/.test(new URL(url).pathname))),
    'must be redis://user:password@host:port/number or rediss://…',
  )
  .refine((url) => !hasUnencoded(url), ILL_FORMED);

const publicUrl = z
  .string()
  .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), 'must be an http or https URL')
  .transform((url) => url.replace(/\/+$/, ''));

const KEY = /^[\w+/-]{43}=?$/;

/** The fault of a text without keys. */
export const NO_KEYS =
  'must be 32 bytes in base64, as `openssl rand -base64 32` prints them; of several keys, the first encrypts';

/** Keys of 32 bytes in base64, separated by commas; undefined for any other text. */
export const readKeys = (text: string): Buffer[] | undefined => {
  const keys = text.split(',').map((key) => key.trim());
  return keys.every((key) => KEY.test(key)) ? keys.map((key) => Buffer.from(key, 'base64')) : undefined;
};

const keys = z
  .string()
  .transform(readKeys)
  .refine((list) => list !== undefined, NO_KEYS);

const logo = z.string().transform((path, ctx) => {
  try {
    return readLogo(path);
  } catch (error) {
    if (!(error instanceof LogoError)) throw error;
    ctx.issues.push({ code: 'custom', input: path, message: error.message });
    return z.NEVER;
  }
});

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

/** The packages that a service may tell how to install. */
const SDKS = ['typescript', 'python', 'go', 'java', 'rust', 'types'];

const WEB_ADDRESS = /^https?:\/\/[^\s/]/i;
const MAIL_ADDRESS = /^mailto:[^\s@?]+@[^\s@?]+$/i;

/** A link that the published pages and the document may contain. */
const link = (forms: readonly RegExp[], message: string) =>
  z.string().refine((url) => URL.canParse(url) && forms.some((form) => form.test(url)), message);

/** The registries of the published packages, by language: `typescript=https://registry.npmjs.org,go=…`. */
const registries = z
  .string()
  .transform((list) => list.split(',').map((pair) => pair.trim().split(/=(.*)/, 2)))
  .refine(
    (pairs) =>
      pairs.every(([name = '', url = '']) => SDKS.includes(name) && WEB_ADDRESS.test(url) && !/[\s"'<>\\$`]/.test(url)),
    `must be a list such as typescript=https://registry.npmjs.org, with the names ${SDKS.join(', ')}`,
  )
  .transform((pairs): Readonly<Record<string, string>> =>
    Object.fromEntries(pairs.map(([name, url = '']) => [name, url.replace(/\/+$/, '')])),
  );

/** A person, as the audit log names them. */
export const auditActor = z
  .string()
  .trim()
  .min(1, 'must not be blank')
  .max(100, 'must have at most 100 characters')
  .regex(/^\P{Cc}*$/u, 'must be one line without control characters');

/** The packages in a release, or those that `npm run sdk` has made. */
const DEFAULT_SDKS_DIR = join(dirname(createRequire(import.meta.url).resolve('#package')), 'build/sdk/artifacts');

/** The variables of the service. */
export const variables = z.object({
  PORT: wholeNumber(0, MAX_PORT).default(3000),
  HOST: z.string().optional(),
  DATABASE_URL: databaseUrl.default(DEFAULT_DATABASE_URL),
  DATABASE_READ_URL: databaseUrl
    .refine((url) => !url.startsWith('sqlite:'), 'must be mysql://user:password@host:port/database or mariadb://…')
    .optional(),
  REPLICA_MAX_LAG: wholeNumber(1, 86_400).default(5),
  MIGRATE_DATABASE_URL: databaseUrl.optional(),
  AUTO_MIGRATE: flag.optional(),
  READ_ONLY: flag.default(false),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
  LOG_FORMAT: z.enum(['json', 'pretty'], { error: 'must be json or pretty' }).optional(),
  SLOW_REQUEST_MS: wholeNumber(0, 600_000).default(1000),
  PUBLIC_URL: publicUrl.optional(),
  SECURITY_CONTACT: link([MAIL_ADDRESS, /^https:\/\/[^\s/]/i], 'must be a mailto: or https:// URL').optional(),
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
  WORKERS: wholeNumberOr('auto', availableParallelism, 1, 256).default(1),
  RATE_LIMIT: quotas.prefault('on'),
  METRICS_PORT: wholeNumber(1, MAX_PORT).optional(),
  METRICS_HOST: z.string().optional(),
  REDIS_URL: redisUrl.optional(),
  REDIS_TIMEOUT_MS: wholeNumber(1, 1000).default(5),
  REQUEST_TIMEOUT_MS: wholeNumber(100, 600_000).default(10_000),
  MAX_QUEUE_MS: wholeNumberOr('off', () => undefined, 0, 60_000).default(1000),
  AUDIT_ACTOR: auditActor.optional(),
  USE_RECORDING: z.enum(['on', 'off'], { error: 'must be on or off' }).default('on'),
  AUDIT_RETENTION_DAYS: wholeNumber(1, 36_500).default(365),
  EVENTS: z.enum(['on', 'off'], { error: 'must be on or off' }).default('on'),
  EVENT_RETENTION_DAYS: wholeNumber(1, 3650).default(30),
  WEBHOOK_ALLOW: networks.optional(),
  WEBHOOK_PORTS: portList.prefault('443,8443'),
  WEBHOOK_HTTP: flag.default(false),
  WEBHOOK_SECRET_KEY: keys.optional(),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 600_000).default(0),
  SHUTDOWN_TIMEOUT_MS: wholeNumber(0, 600_000).default(10_000),
  BRAND_NAME: z
    .string()
    .trim()
    .min(1, 'must not be blank')
    .max(60, 'must have at most 60 characters')
    .regex(/^\P{Cc}*$/u, 'must be one line without control characters')
    .default('Content Gateway'),
  BRAND_COLOR: z
    .string()
    .regex(/^#[\da-f]{6}$/i, 'must be a color such as #2457d6')
    .toLowerCase()
    .default('#2457d6'),
  BRAND_LOGO: logo.optional(),
  BRAND_CONTACT: link(
    [MAIL_ADDRESS, WEB_ADDRESS],
    'must be mailto:name@example.com or an http or https URL',
  ).optional(),
  KEY_REQUEST_URL: link(
    [MAIL_ADDRESS, WEB_ADDRESS],
    'must be mailto:name@example.com or an http or https URL',
  ).optional(),
  BRAND_TERMS: link([WEB_ADDRESS], 'must be an http or https URL').optional(),
  SOURCE_URL: link([WEB_ADDRESS], 'must be an http or https URL').optional(),
  SDKS_DIR: z
    .string()
    .refine((path) => path === 'off' || isFolder(path), 'must be off or the path of a folder that is there')
    .default(DEFAULT_SDKS_DIR),
  SDK_PACKAGES: registries.default({}),
});

/** The names of all variables that the service reads. */
export const variableNames: readonly string[] = Object.keys(variables.shape);

/** The variables with secret values. */
export const secretNames: readonly string[] = [
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'MIGRATE_DATABASE_URL',
  'REDIS_URL',
  'WEBHOOK_SECRET_KEY',
];

/** The variables that name a file with the value of a secret variable. */
export const secretFileNames: readonly string[] = secretNames.map((name) => `${name}_FILE`);

const collector = z
  .string()
  .refine(
    (url) => URL.canParse(url) && WEB_ADDRESS.test(url),
    'must be an http or https URL, such as http://localhost:4318',
  );

const protocol = z.literal('http/protobuf', { error: 'must be http/protobuf, which every collector takes' });

/** OpenTelemetry's variables that turn traces on or off. Its SDK reads them itself. */
export const telemetry = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'must be otlp or none' }).optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
});

/** Further variables of the SDK. */
const TELEMETRY = [
  ...['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY', 'COMPRESSION', 'HEADERS', 'TIMEOUT'].flatMap((name) => [
    `OTEL_EXPORTER_OTLP_${name}`,
    `OTEL_EXPORTER_OTLP_TRACES_${name}`,
  ]),
  ...['EXPORT_TIMEOUT', 'MAX_EXPORT_BATCH_SIZE', 'MAX_QUEUE_SIZE', 'SCHEDULE_DELAY'].map((name) => `OTEL_BSP_${name}`),
  ...['RESOURCE_ATTRIBUTES', 'SERVICE_NAME', 'TRACES_SAMPLER', 'TRACES_SAMPLER_ARG'].map((name) => `OTEL_${name}`),
];
/** The names of OpenTelemetry's variables that have an effect here. */
export const telemetryNames: readonly string[] = [...Object.keys(telemetry.shape), ...TELEMETRY];
