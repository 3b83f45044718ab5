import { setTimeout as sleep } from 'node:timers/promises';
import { type Finding, Mismatch, Skip } from './finding.ts';

export interface Request {
  /** POST, unless given. */
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Reply {
  /** What the request was about: the id of an operation, or `service`. */
  subject: string;
  /** The `X-Request-Id` that was sent. */
  requestId: string;
  status: number;
  headers: Headers;
  text: string;
  /** The body, or undefined where it is no JSON. */
  json: unknown;
}

export interface ClientOptions {
  /** Where the deployment is, without a slash at the end. */
  baseUrl: string;
  /** The site whose scripts the requests pretend to come from. */
  origin: string;
  /** Begins each request id. */
  run: string;
  timeoutMs: number;
  /** Told how many seconds the deployment wants to be left alone. */
  onWait: (seconds: number) => void;
}

const TOO_MANY_REQUESTS = 429;
/** How long one request may be put off by the deployment's rate limit. */
const PATIENCE_S = 120;
/** So many requests in a row without a reply, and no more of the kind are sent. */
const MAX_SILENCE = 3;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const secondsToWait = ({ status, headers }: Reply): number | undefined => {
  const seconds = headers.get('retry-after') ?? '';
  return status === TOO_MANY_REQUESTS && /^[0-9]+$/.test(seconds) ? Math.max(1, Number(seconds)) : undefined;
};

/** Speaks HTTP with the deployment and remembers every reply. */
export class Client {
  readonly replies: Reply[] = [];
  readonly #options: ClientOptions;
  readonly #silence = new Map<string, number>();
  #sent = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request. Where the deployment limits rates, waits as it asks to, and sends it again.
   * @throws Mismatch when no whole reply comes in time, Skip when that has happened too often
   */
  async send(subject: string, path: string, request: Request): Promise<Reply> {
    for (let waited = 0; ;) {
      const reply = await this.#exchange(subject, path, request);
      const seconds = secondsToWait(reply);
      if (seconds === undefined || waited + seconds > PATIENCE_S) return reply;
      waited += seconds;
      this.#options.onWait(seconds);
      await sleep(seconds * 1000);
    }
  }

  async #exchange(subject: string, path: string, { method = 'POST', headers, body }: Request): Promise<Reply> {
    const silence = this.#silence.get(subject) ?? 0;
    if (silence >= MAX_SILENCE) throw new Skip(`${MAX_SILENCE} requests in a row got no reply`);
    const { baseUrl, origin, run, timeoutMs } = this.#options;
    this.#sent += 1;
    const requestId = `verify-${run}-${this.#sent}`;
    try {
      const response = await fetch(baseUrl + path, {
        method,
        headers: { 'X-Request-Id': requestId, Origin: origin, ...headers },
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        ...(body !== undefined && { body }),
      });
      const text = await response.text();
      const reply = { subject, requestId, status: response.status, headers: response.headers, text, json: parsed(text) };
      this.#silence.delete(subject);
      this.replies.push(reply);
      return reply;
    } catch (error) {
      this.#silence.set(subject, silence + 1);
      throw new Mismatch([{ ...this.#silenceFinding(error), requestId }]);
    }
  }

  #silenceFinding(error: unknown): Finding {
    const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    const timedOut = name === 'TimeoutError';
    const fault = timedOut ? `none within ${this.#options.timeoutMs / 1000} s` : (cause?.code ?? cause?.message ?? message);
    return { expected: 'a reply', came: fault };
  }
}
