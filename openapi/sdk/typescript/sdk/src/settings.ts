import { platform } from '#platform';
import { onAbort } from './abort.js';
import { logHook } from './attempt-hook.js';
import type { AttemptHook } from './attempt-hook.js';
import type { Clock, CommonOptions, GatewayOptions } from './options.js';
import type { Send } from './platform/platform.js';
import { turnsOf } from './turns.js';
import type { Turns } from './turns.js';
import { UsageError } from './usage-error.js';
import { AGENT, CONTRACT_VERSION } from './version.js';

/** The limits of a call, checked. */
export interface Limits {
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly maxRetries: number;
}

/** The options of a client, checked and complete. */
export interface Settings {
  readonly baseUrl: string;
  readonly origin: string;
  readonly apiKey: string | null;
  readonly headers: Headers;
  readonly limits: Limits;
  readonly send: Send;
  /** Sends what is answered with a stream, over connections that the limit doesn't count. */
  readonly sendForStream: Send;
  /** The turns of attempts, of which there are as many as connections. */
  readonly turns: Turns;
  readonly hooks: readonly AttemptHook[];
  readonly clock: Clock;
}

const DEFAULTS: Limits = { timeoutMs: 30_000, connectTimeoutMs: 5_000, maxRetries: 2 };

const MAX_CONNECTIONS = 100;

/** What timers can hold: about 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** @throws UsageError that names the option, if a timer can't wait as long */
export const checkTimeout = (name: string, ms: number): void => {
  if (typeof ms !== 'number' || !(ms > 0 && ms <= MAX_TIMEOUT_MS)) {
    throw new UsageError(`${name} must be a number of milliseconds from 1 to ${MAX_TIMEOUT_MS}, and is ${ms}`);
  }
};

/**
 * The limits of a call: those given, else the fallback's.
 *
 * @throws UsageError if one is out of range
 */
export const limitsOf = (options: CommonOptions, fallback: Limits = DEFAULTS): Limits => {
  const {
    timeoutMs = fallback.timeoutMs,
    connectTimeoutMs = fallback.connectTimeoutMs,
    maxRetries = fallback.maxRetries,
  } = options;
  checkTimeout('timeoutMs', timeoutMs);
  checkTimeout('connectTimeoutMs', connectTimeoutMs);
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new UsageError(`maxRetries must be a whole number from 0, and is ${maxRetries}`);
  }
  return { timeoutMs, connectTimeoutMs, maxRetries };
};

/**
 * Sets headers over those there are.
 *
 * @throws UsageError that names a header which cannot be sent, and doesn't show its value: it may be a secret
 */
export const setHeaders = (headers: Headers, more: Record<string, string | undefined> | null | undefined): void => {
  for (const [name, value] of Object.entries(more ?? {})) {
    if (value === undefined) continue;
    try {
      headers.set(name, value);
    } catch {
      throw new UsageError(`the header ${JSON.stringify(name)} has a name or value that HTTP cannot send`);
    }
  }
};

const VARIABLE = '{{environment}}';

/** Where calls go: without slashes at the end. @throws UsageError if this is no base of http(s) URLs */
const baseUrlOf = (given: string | undefined): { baseUrl: string; origin: string } => {
  const text = given ?? platform.environment(`${VARIABLE}_URL`);
  if (!text) throw new UsageError(`no base URL: give baseUrl, or set ${VARIABLE}_URL`);
  const rule = `${given === undefined ? `${VARIABLE}_URL` : 'baseUrl'} must be an http or https URL`;
  if (!URL.canParse(text)) throw new UsageError(`${rule}, such as {{homepage}}`);
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new UsageError(`${rule}, and begins with ${url.protocol}`);
  if (url.username || url.password || /[?#]/.test(text)) {
    throw new UsageError(`${rule} without user, password, query and fragment`);
  }
  return { baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, origin: url.origin };
};

const apiKeyOf = (given: string | null | undefined): string | null => {
  const key = given === undefined ? platform.environment(`${VARIABLE}_API_KEY`) : given;
  if (!key) return null;
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UsageError('the API key has characters that a header cannot hold: look for a line end or a space');
  }
  return key;
};

/** @throws UsageError if it is no whole number from 1 */
const checkMaxConnections = (count: number): void => {
  if (!Number.isInteger(count) || count < 1) {
    throw new UsageError(`maxConnections must be a whole number from 1, and is ${count}`);
  }
};

/** A token of HTTP, and a version if there is one. */
const APP_NAME = /^[\w!#$%&'*+.^`|~-]+(?:\/[\w!#$%&'*+.^`|~-]+)?$/;

const userAgentOf = (appName: string | undefined): string => {
  const agent = `${AGENT} (contract ${CONTRACT_VERSION}; ${platform.runtime})`;
  if (appName === undefined) return agent;
  if (!APP_NAME.test(appName)) {
    throw new UsageError(`appName must be a name such as my-app or my-app/1.2, and is ${JSON.stringify(appName)}`);
  }
  return `${agent} ${appName}`;
};

const headersOf = (apiKey: string | null, { appName, headers: more }: GatewayOptions): Headers => {
  const headers = new Headers({ 'Content-Type': 'application/json', Accept: 'application/json' });
  const userAgent = userAgentOf(appName);
  if (platform.runtime) headers.set('User-Agent', userAgent);
  if (apiKey) headers.set('Authorization', `Bearer ${apiKey}`);
  setHeaders(headers, more);
  return headers;
};

const hooksOf = (onAttempt: AttemptHook | undefined): AttemptHook[] => {
  const log = platform.environment(`${VARIABLE}_LOG`) === 'debug' ? platform.log : undefined;
  return [...(onAttempt ? [onAttempt] : []), ...(log ? [logHook(log)] : [])];
};

const machineClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        ignore();
        resolve();
      }, ms);
      const ignore = onAbort(signal, () => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      });
    }),
};

/**
 * Completes and checks the options of a client.
 *
 * @throws UsageError that says which one is wrong, and never shows the key
 */
export const settingsOf = (options: GatewayOptions): Settings => {
  const { fetch, clock = machineClock, maxConnections = MAX_CONNECTIONS } = options;
  checkMaxConnections(maxConnections);
  const { baseUrl, origin } = baseUrlOf(options.baseUrl);
  const apiKey = apiKeyOf(options.apiKey);
  return {
    baseUrl,
    origin,
    apiKey,
    headers: headersOf(apiKey, options),
    limits: limitsOf(options),
    send: fetch ?? platform.senderTo(baseUrl, maxConnections),
    sendForStream: fetch ?? platform.senderTo(baseUrl, null),
    turns: turnsOf(origin, maxConnections),
    hooks: hooksOf(options.onAttempt),
    clock,
  };
};
