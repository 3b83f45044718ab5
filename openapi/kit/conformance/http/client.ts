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
 * (draft-ietf-httpapi-ratelimit-headers); 0 where some quota is left, or where the reply does not say.
 */
export const paceOf = (headers: Headers): number => {
  const [, name, left] = LEFT.exec(headers.get('ratelimit') ?? '') ?? [];
  if (name === undefined || Number(left) > 0) return 0;
  const policies = (headers.get('ratelimit-policy') ?? '').matchAll(POLICY);
  const [, , quota, seconds] = [...policies].find(([, one]) => one === name) ?? [];
  return quota === undefined ? 0 : (Number(seconds) * MS) / Number(quota);
};

export interface ClientOptions {
  /** Where the deployment is, without a slash at the end. */
  baseUrl: string;
  /** The site whose scripts the requests pretend to come from. */
  origin: string;
  /** The name of the run, part of each request id. */
  run: string;
  timeoutMs: number;
  /** Told how many seconds the deployment asks to wait. */
  onWait: (seconds: number) => void;
}

const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;
/** How long one request may be put off by the deployment's rate limit. */
const PATIENCE_S = 120;
/** How long one request may be put off by a deployment that has no room, and all of them together. */
const OVERLOAD_PATIENCE_S = 15;
const MAX_OVERLOAD_S = 120;
/** After this many consecutive requests without a reply, no more of the kind are sent. */
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

/** A request got no reply, or not the whole of it. */
export class NoReply extends Mismatch {
  /** Why: `connect ECONNREFUSED 127.0.0.1:3000`. */
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
  /** The milliseconds to wait before the next request, so that it is not refused. */
  #paceMs = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  /** The site whose scripts the requests pretend to come from. */
  get origin(): string {
    return this.#options.origin;
  }

  /** Begins a part of the run, from whose name and place the ids of its requests are made. */
  begin(part: string): void {
    this.#part = part;
    this.#sent = 0;
  }

  /**
   * Sends a request, with a request id of its own unless it brings one. Where the deployment limits rates, it keeps to the
   * pace of their headers; where that refuses it, or has no room, it waits as asked, and sends the same again.
   * @throws NoReply, and Skip when that has happened too often
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
        // As `fetch` would have it.
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

  /** How many seconds to wait before a request is sent again that has been put off for `waited`; undefined for no more. */
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
