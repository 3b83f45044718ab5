import { setTimeout as sleep } from 'node:timers/promises';
import { Mismatch, Skip, valueAt } from './finding.ts';

export interface Request {
  /** POST, unless given. */
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Reply {
  /** What the request was about: the id of an operation, or `service`. */
  subject: string;
  method: string;
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
  /** The name of the run, part of each request id. */
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

/** Whether a request, or a call in a batch, was refused for its rate. */
const isLimited = ({ status, json }: Reply): boolean =>
  status === TOO_MANY_REQUESTS ||
  (Array.isArray(json) &&
    json.some((part) => valueAt(part, ['error', 'json', 'data', 'httpStatus']) === TOO_MANY_REQUESTS));

const secondsToWait = (reply: Reply): number | undefined => {
  const seconds = reply.headers.get('retry-after') ?? '';
  return isLimited(reply) && /^[0-9]+$/.test(seconds) ? Math.max(1, Number(seconds)) : undefined;
};

/** A request got no reply, or not the whole of it. */
export class NoReply extends Mismatch {
  /** Why: `connect ECONNREFUSED 127.0.0.1:3000`. */
  readonly fault: string;

  constructor(fault: string, request: Pick<Reply, 'subject' | 'requestId'>) {
    super([{ expected: 'a reply', came: `none: ${fault}`, request }]);
    this.fault = fault;
  }
}

/** Speaks HTTP with the deployment and remembers every reply. */
export class Client {
  readonly replies: Reply[] = [];
  readonly #options: ClientOptions;
  readonly #silence = new Map<string, number>();
  #sent = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The site whose scripts the requests pretend to come from. */
  get origin(): string {
    return this.#options.origin;
  }

  /**
   * Sends a request, with a request id of its own unless it brings one. Where the deployment limits rates, waits as it
   * asks to, and sends it again.
   * @throws NoReply, and Skip when that has happened too often
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
    const requestId = headers?.['X-Request-Id'] ?? `verify-${run}-${this.#sent}`;
    try {
      const response = await fetch(baseUrl + path, {
        method,
        headers: { 'X-Request-Id': requestId, Origin: origin, ...headers },
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        ...(body !== undefined && { body }),
      });
      const text = await response.text();
      const { status, headers: received } = response;
      const reply = { subject, method, requestId, status, headers: received, text, json: parsed(text) };
      this.#silence.delete(subject);
      this.replies.push(reply);
      return reply;
    } catch (error) {
      this.#silence.set(subject, silence + 1);
      throw new NoReply(this.#faultOf(error), { subject, requestId });
    }
  }

  #faultOf(error: unknown): string {
    const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    if (name === 'TimeoutError') return `it took more than ${this.#options.timeoutMs / 1000} s`;
    return cause?.message || cause?.code || message;
  }
}
