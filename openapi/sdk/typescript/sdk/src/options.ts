import { platform } from '#platform';
import { CONTRACT_VERSION, PRODUCT } from './version.js';

/** How calls are made, for a client or for one call, which prevails. */
export interface CommonOptions {
  /** The longest that an attempt may take, from connecting to the end of the body, in milliseconds. Default: 30 000. */
  timeoutMs?: number | undefined;
  /** The longest that connecting may take, in milliseconds. Default: 5 000. Without effect in browsers and with a `fetch` of your own. */
  connectTimeoutMs?: number | undefined;
  /** How often a failed attempt is repeated: a whole number from 0. Default: 2. */
  maxRetries?: number | undefined;
  /** More headers. They prevail over those of the client, which prevail over those of the SDK. */
  headers?: Record<string, string | undefined> | undefined;
}

/** What one call may set. */
export interface CallOptions extends CommonOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** What one call that writes may set. */
export interface WriteOptions extends CallOptions {
  /**
   * What the service knows a repeated write by, to do it only once. Default: a UUID of each call, the same on every attempt.
   * Give one of your own that you keep, and you may repeat the whole call, even from another process.
   */
  idempotencyKey?: string | undefined;
}

/** What a `fetch` of your own is called with. */
export interface FetchRequest {
  /** Always `POST`. */
  method: 'POST';
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON. */
  body: string;
  /** Redirects are not followed, so that a key goes nowhere else. */
  redirect: 'manual';
  /** Ends the attempt. */
  signal: AbortSignal;
}

/** What is read of the reply of a `fetch` of your own. */
export interface FetchReply {
  /** The HTTP status. */
  readonly status: number;
  /** The headers. */
  readonly headers: { forEach: (use: (value: string, name: string) => void) => void };
  /** Reads the body to its end. */
  text: () => Promise<string>;
}

/** A `fetch`: the global one, undici's, or one that passes calls through a proxy, traces or tests. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchReply>;

/** The time, as the client sees it. For tests: a clock of your own makes retries quick. */
export interface Clock {
  /** The milliseconds since 1970, which dates in `Retry-After` are compared with. */
  now: () => number;
  /** Resolves after so many milliseconds, or rejects once the signal is aborted. */
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What a client is made with. */
export interface GatewayOptions extends CommonOptions {
  /** Where the service is, such as `{{homepage}}`. Default: the variable `{{environment}}_URL`. */
  baseUrl?: string | undefined;
  /** An API key; without one, public procedures can be called. Default: the variable `{{environment}}_API_KEY`; `null` for none. */
  apiKey?: string | null | undefined;
  /** Used to send requests. Default: undici's on Node.js, else the global one. */
  fetch?: Fetch | undefined;
  /** The time. Default: the machine's. */
  clock?: Clock | undefined;
}

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
  readonly headers: Headers;
  readonly limits: Limits;
  readonly send: (url: string, request: FetchRequest, connectTimeoutMs: number) => Promise<FetchReply>;
  readonly clock: Clock;
}

const DEFAULTS: Limits = { timeoutMs: 30_000, connectTimeoutMs: 5_000, maxRetries: 2 };

/** What timers can hold: about 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const checkTimeout = (name: string, ms: number): void => {
  if (!(ms > 0 && ms <= MAX_TIMEOUT_MS)) {
    throw new TypeError(`${name} must be a number of milliseconds from 1 to ${MAX_TIMEOUT_MS}, and is ${ms}`);
  }
};

/**
 * The limits of a call: those given, else the fallback's.
 *
 * @throws TypeError if one is out of range
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
    throw new TypeError(`maxRetries must be a whole number from 0, and is ${maxRetries}`);
  }
  return { timeoutMs, connectTimeoutMs, maxRetries };
};

/**
 * Sets headers over those there are.
 *
 * @throws TypeError that names a header which cannot be sent, and doesn't show its value: it may be a secret
 */
export const setHeaders = (headers: Headers, more: Record<string, string | undefined> = {}): void => {
  for (const [name, value] of Object.entries(more)) {
    if (value === undefined) continue;
    try {
      headers.set(name, value);
    } catch {
      throw new TypeError(`the header ${JSON.stringify(name)} has a name or value that HTTP cannot send`);
    }
  }
};

const VARIABLE = '{{environment}}';

/** Where calls go: without slashes at the end. @throws TypeError if this is no base of http(s) URLs */
const baseUrlOf = (given: string | undefined): { baseUrl: string; origin: string } => {
  const text = given ?? platform.environment(`${VARIABLE}_URL`);
  if (!text) throw new TypeError(`no base URL: give baseUrl, or set ${VARIABLE}_URL`);
  const rule = `${given === undefined ? `${VARIABLE}_URL` : 'baseUrl'} must be an http or https URL`;
  if (!URL.canParse(text)) throw new TypeError(`${rule}, such as {{homepage}}`);
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`${rule}, and begins with ${url.protocol}`);
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError(`${rule} without user, password, query and fragment`);
  }
  return { baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, origin: url.origin };
};

const apiKeyOf = (given: string | null | undefined): string | null => {
  const key = given === undefined ? platform.environment(`${VARIABLE}_API_KEY`) : given;
  if (!key) return null;
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError('the API key has characters that a header cannot hold: look for a line end or a space');
  }
  return key;
};

const headersOf = (apiKey: string | null, given: CommonOptions['headers']): Headers => {
  const headers = new Headers({ 'Content-Type': 'application/json', Accept: 'application/json' });
  if (platform.runtime) headers.set('User-Agent', `${PRODUCT} (contract ${CONTRACT_VERSION}; ${platform.runtime})`);
  if (apiKey) headers.set('Authorization', `Bearer ${apiKey}`);
  setHeaders(headers, given);
  return headers;
};

const machineClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

/**
 * Completes and checks the options of a client.
 *
 * @throws TypeError that says which one is wrong, and never shows the key
 */
export const settingsOf = (options: GatewayOptions): Settings => {
  const { fetch, clock = machineClock } = options;
  return {
    ...baseUrlOf(options.baseUrl),
    headers: headersOf(apiKeyOf(options.apiKey), options.headers),
    limits: limitsOf(options),
    send: fetch ?? platform.send,
    clock,
  };
};
