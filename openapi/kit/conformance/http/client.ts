import { setTimeout as sleep } from 'node:timers/promises';
import { boundedText, faultOf } from './remote.ts';
import { Mismatch, Skip } from '../findings/finding.ts';
import { failureMember } from '../values.ts';
import type { Exchange, Reply, Request, SentRequest } from '../exchange.ts';

/** One item of `RateLimit-Policy`: `"anonymous";q=600;w=60`. */
const POLICY = /"([^"]+)";q=(\d+);w=(\d+)/g;
/** `"anonymous";r=0;t=60` */
const LEFT = /^"([^"]+)";r=(\d+);t=\d+/;

const MS = 1000;

/**
 * The milliseconds until a caller without quota may send one more request, by the headers of a reply
 * (draft-ietf-httpapi-ratelimit-headers); 0 with some quota left, or if the reply does not say.
 */
export const paceOf = (headers: Headers): number => {
  const [, name, left] = LEFT.exec(headers.get('ratelimit') ?? '') ?? [];
  if (name === undefined || Number(left) > 0) return 0;
  const policies = (headers.get('ratelimit-policy') ?? '').matchAll(POLICY);
  const [, , quota, seconds] = [...policies].find(([, one]) => one === name) ?? [];
  return quota === undefined ? 0 : (Number(seconds) * MS) / Number(quota);
};

export interface ClientOptions {
  /** The address of the deployment, without a slash at the end. */
  baseUrl: string;
  /** The site that the requests give as the origin of their scripts. */
  origin: string;
  /** The name of the run, part of each request id. */
  run: string;
  timeoutMs: number;
  /** Called with the number of seconds for which the deployment asks to wait. */
  onWait: (seconds: number) => void;
}

const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;
/** How long the deployment's rate limit may delay one request. */
const PATIENCE_S = 120;
/** How long an overloaded deployment may delay one request, and all requests together. */
const OVERLOAD_PATIENCE_S = 15;
const MAX_OVERLOAD_S = 120;
/** After this many consecutive requests without a reply, the client sends no more of the kind. */
const MAX_SILENCE = 3;

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The status that refuses a request, or a call in a batch, for now. */
const refusalOf = ({ status, json }: Reply): number | undefined =>
  [status, ...(Array.isArray(json) ? json.map((part) => failureMember(part, 'httpStatus')) : [])]
    .map(Number)
    .find((one) => one === TOO_MANY_REQUESTS || one === UNAVAILABLE);

const secondsToWait = (reply: Reply): number | undefined => {
  const seconds = reply.headers.get('retry-after') ?? '';
  return /^[0-9]+$/.test(seconds) ? Math.max(1, Number(seconds)) : undefined;
};

/** The error for a request without a complete reply. */
export class NoReply extends Mismatch {
  /** The cause: `connect ECONNREFUSED 127.0.0.1:3000`. */
  readonly fault: string;

  constructor(fault: string, exchange: Exchange) {
    super([{ expected: 'a reply', came: `none: ${fault}`, exchange }]);
    this.fault = fault;
  }
}

/** Speaks HTTP with the deployment and remembers every reply. */
export class Client {
  readonly replies: Reply[] = [];
  readonly #options: ClientOptions;
  readonly #silence = new Map<string, number>();
  #part = '0';
  #sent = 0;
  #overloadedFor = 0;
  /** The milliseconds to wait before the next request, to avoid a refusal. */
  #paceMs = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  /** The site that the requests give as the origin of their scripts. */
  get origin(): string {
    return this.#options.origin;
  }

  /** Begins a part of the run. Its name and place give the ids of its requests. */
  begin(part: string): void {
    this.#part = part;
    this.#sent = 0;
  }

  /**
   * Sends a request, with a request id of its own unless given. Keeps to the pace of rate limit headers. After a
   * refusal for the rate, or for overload, it waits as asked, and repeats the request.
   * @throws NoReply, and Skip after too many such refusals
   */
  async send(subject: string, path: string, { method = 'POST', headers = {}, body }: Request): Promise<Reply> {
    const { baseUrl, origin, run } = this.#options;
    this.#sent += 1;
    const requestId = headers['X-Request-Id'] ?? `verify-${run}-${this.#part}.${this.#sent}`;
    const request = {
      method,
      url: baseUrl + path,
      headers: {
        'X-Request-Id': requestId,
        Origin: origin,
        // `fetch` would set the same.
        ...(body !== undefined && { 'Content-Type': 'text/plain;charset=UTF-8' }),
        ...headers,
      },
      body,
    };
    for (let waited = 0; ;) {
      if (this.#paceMs > 0) {
        this.#options.onWait(this.#paceMs / 1000);
        await sleep(this.#paceMs);
      }
      const reply = await this.#exchange(subject, requestId, request);
      const seconds = this.#patienceWith(reply, waited);
      if (seconds === undefined) {
        this.replies.push(reply);
        return reply;
      }
      waited += seconds;
      this.#options.onWait(seconds);
      await sleep(seconds * 1000);
    }
  }

  /** How many seconds to wait before repeating a request that was delayed for `waited`; undefined to give up. */
  #patienceWith(reply: Reply, waited: number): number | undefined {
    const [status, seconds] = [refusalOf(reply), secondsToWait(reply)];
    if (status === undefined || seconds === undefined) return undefined;
    if (status === TOO_MANY_REQUESTS) return waited + seconds > PATIENCE_S ? undefined : seconds;
    if (waited + seconds > OVERLOAD_PATIENCE_S || this.#overloadedFor + seconds > MAX_OVERLOAD_S) return undefined;
    this.#overloadedFor += seconds;
    return seconds;
  }

  async #exchange(subject: string, requestId: string, request: SentRequest): Promise<Reply> {
    const silence = this.#silence.get(subject) ?? 0;
    if (silence >= MAX_SILENCE) throw new Skip(`${MAX_SILENCE} requests in a row got no reply`);
    const { method, url, headers, body } = request;
    try {
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(this.#options.timeoutMs),
        ...(body !== undefined && { body }),
      });
      const { status, headers: received, body: answer } = response;
      const text = answer ? await boundedText(answer) : '';
      this.#paceMs = paceOf(received);
      this.#silence.delete(subject);
      return { subject, requestId, request, status, headers: received, text, json: parsed(text) };
    } catch (error) {
      this.#silence.set(subject, silence + 1);
      throw new NoReply(faultOf(error, this.#options.timeoutMs), { subject, requestId, request });
    }
  }
}
