import type { AttemptHook } from './attempt-hook.js';

/** How calls are made, for a client or for one call, which prevails. */
export interface CommonOptions {
  /** The longest that an attempt may take, from connecting to the end of the body, in milliseconds. Default: 30 000. */
  timeoutMs?: number | undefined;
  /** The longest that connecting may take, in milliseconds. Default: 5 000. Without effect in browsers, and with a `fetch` or a global dispatcher of your own. */
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

/** What a walk through all records may set. */
export interface ListAllOptions extends CallOptions {
  /** After how many records the walk ends: a whole number from 1. Default: none. No page is fetched beyond. */
  maxRecords?: number | undefined;
}

/** What a `fetch` of your own is called with. */
export interface FetchRequest {
  /** `GET` of streams, `POST` of calls. */
  method: 'GET' | 'POST';
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON; a stream has none. */
  body?: string;
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
  /** The body: if it is a web stream, it is read instead of `text`, and no further than 64 MiB. */
  readonly body?: unknown;
  /** Reads the body to its end. */
  text: () => Promise<string>;
}

/** A `fetch`: the global one, undici's, or one that traces or tests. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchReply>;

/** The time, as the client sees it. For tests: a clock of your own makes retries quick. */
export interface Clock {
  /** The milliseconds since 1970, which dates in `Retry-After` are compared with. */
  now: () => number;
  /** Waits for the next attempt: resolves after so many milliseconds, or rejects once the signal is aborted. */
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What a client is made with. */
export interface GatewayOptions extends CommonOptions {
  /** Where the service is, such as `{{homepage}}`. Default: the variable `{{environment}}_URL`. */
  baseUrl?: string | undefined;
  /** An API key; without one, public procedures can be called. Default: the variable `{{environment}}_API_KEY`; `null` for none. */
  apiKey?: string | null | undefined;
  /** The name of your app, such as `my-app/1.2`, which the `User-Agent` ends with. Without effect in browsers. */
  appName?: string | undefined;
  /**
   * How many calls may be under way at once: a whole number from 1. The others wait for their turn, and the timeout of an attempt begins
   * when it has come. All clients of one service with the same limit share their connections. Default: 100.
   */
  maxConnections?: number | undefined;
  /** Called after each attempt that ended by itself, before the wait for the next. */
  onAttempt?: AttemptHook | undefined;
  /** Used to send requests. Default: undici's on Node.js, which honours its global dispatcher and proxies; else the global one. */
  fetch?: Fetch | undefined;
  /** The time. Default: the machine's. */
  clock?: Clock | undefined;
}
