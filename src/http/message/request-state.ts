import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import {
  type Deprecation,
  idempotencyReplayed,
  type ProcedureMetadata,
  SENT_BYTES_PER_MS,
  startOfDay,
} from '../../../contract/index.ts';
import { keyElsewhere } from '../../auth/credential-hints.ts';
import type { Caller } from '../../auth/verifier.ts';
import { Deadline, type QueryRecorder } from '../../base/deadline.ts';
import { type AppError, CallerLeft } from '../../base/errors.ts';
import type { Config } from '../../config/config.ts';
import type { ConcurrencyLimiter } from '../../limits/overload/concurrency-limiter.ts';
import type { OnRateLimit, RateLimitKey } from '../../limits/rate-limit/limiter.ts';
import type { HeaderList, RateLimitHeaders } from './reply.ts';

declare global {
  // eslint-disable-next-line typescript/no-namespace -- Express is extended in no other way.
  namespace Express {
    interface Locals {
      state: RequestState;
    }
  }
}

/** The bytes of a body that cost as much as one chunk. */
const BYTES_PER_CHUNK = 16;

/** The chunks of a body so far. */
export interface BodyChunks {
  count: number;
  bytes: number;
  /** The refusal of a body with too many chunks. */
  fault?: AppError;
}

/**
 * The state of one request by any transport: its caller, its time limit, and the data for its reply and its log line.
 * All calls of the request share it.
 */
export class RequestState {
  /** The reply header `X-Request-Id`. */
  requestId = '';
  /** The trace that the request belongs to, if known. */
  traceId: string | undefined;
  /** The caller's address according to trusted proxies; empty if the caller has already left. */
  address = '';
  /** The headers that every reply has in addition to the request id: names and values in turn. */
  headers: HeaderList = [];
  /** The rate-limit headers, where callers have limits. */
  rateLimits: RateLimitHeaders | undefined;
  /** The milliseconds that the request waited before any work on it. */
  waitedMs = 0;
  /** The chunks of its body; undefined for a body of known length. */
  chunks: BodyChunks | undefined;

  authorization: string | undefined;
  idempotencyKey: string | undefined;
  userAgent: string | undefined;
  /** The time limit of its calls, after it has started. */
  deadline!: Deadline;
  /** The limiters that admitted parts of the same batch. They do not refuse its other calls. */
  admittedBy: Set<ConcurrencyLimiter> | undefined;
  /** The owner who is charged for its calls; undefined until known, and where callers have no limits. */
  limitKey: RateLimitKey | undefined;
  /** Charges milliseconds of work. Nothing is charged until the caller is known. */
  chargeWork: ((ms: number) => void) | undefined;

  /** The id of the called procedure, once known. */
  procedure: string | undefined;
  /** The caller, once authenticated. */
  caller: Caller | undefined;
  /** Records its statements, if slow requests are logged. */
  queries: QueryRecorder | undefined;
  /** Whether the answer continues until the caller leaves. */
  isStream = false;
  /** Whether the stored answer of an earlier call answered a call. */
  isReplay = false;
  /** The reason of the failure, for the log. */
  reason: string | undefined;

  #http: { request: Request; response: Response; publicUrl: string } | undefined;
  readonly #deprecations: { id: string; deprecation: Deprecation }[] = [];

  /** Starts the time of its calls, in milliseconds. */
  startTime(ms: number): void {
    this.deadline = new Deadline(ms, { meter: { add: (cost) => this.chargeWork?.(cost) }, queries: this.queries });
  }

  /** Reads the headers that calls depend on, and starts their time. */
  expectCalls(
    request: Request,
    response: Response,
    { requestTimeoutMs, publicUrl = '' }: Pick<Config, 'requestTimeoutMs' | 'publicUrl'>,
  ): void {
    const { authorization, 'idempotency-key': idempotencyKey, 'user-agent': userAgent } = request.headers;
    this.#http = { request, response, publicUrl };
    this.authorization = authorization;
    // A repeated header would have been refused.
    this.idempotencyKey = idempotencyKey as string | undefined;
    this.userAgent = userAgent;
    this.startTime(requestTimeoutMs);
  }

  /** Ends the time of its calls, if it has started: the caller has received the answer, or has left. */
  endTime(isAnswered: boolean): void {
    if (!this.#http) return;
    if (isAnswered) this.deadline.close();
    else this.deadline.end(new CallerLeft());
  }

  /** Records a place in the request that holds a key and is not read. */
  keyElsewhere(): string | undefined {
    return this.#http && keyElsewhere(this.#http.request.headers, this.#http.request.query);
  }

  /** Charges the caller for the bytes and chunks of a body. */
  chargeBody(bytes: number): void {
    this.chargeWork?.((bytes + (this.chunks?.count ?? 0) * BYTES_PER_CHUNK) / SENT_BYTES_PER_MS);
  }

  /** Adds to the reply the status of a rate limit that applies to a call. */
  readonly noteRateLimit: OnRateLimit = (status) => this.rateLimits?.add(status);

  /** Marks the reply as the stored answer of an earlier call. */
  noteReplay(): void {
    this.isReplay = true;
    this.#http?.response.setHeader(idempotencyReplayed.name, 'true');
  }

  /**
   * Adds to the reply the deprecations that a call of an operation uses: the earliest `Deprecation` (RFC 9745) and
   * `Sunset` (RFC 8594), and a link to each operation in the reference.
   */
  noteDeprecated({ id }: Pick<ProcedureMetadata, 'id'>, used: readonly Deprecation[]): void {
    if (used.length === 0 || !this.#http) return;
    const { response, publicUrl } = this.#http;
    const all = this.#deprecations;
    all.push(...used.map((deprecation) => ({ id, deprecation })));
    const [since = ''] = all.map(({ deprecation }) => deprecation.since).toSorted();
    const [sunset] = all.flatMap(({ deprecation }) => deprecation.sunset ?? []).toSorted();
    const links = all.map(({ id: name }) => `<${publicUrl}/docs/#/${name.split('.')[0]}/${name}>`);
    response.setHeader('Deprecation', `@${startOfDay(since) / 1000}`);
    if (sunset !== undefined) response.setHeader('Sunset', new Date(startOfDay(sunset)).toUTCString());
    response.setHeader(
      'Link',
      Array.from(new Set(links), (link) => `${link}; rel="deprecation"; type="text/html"`).join(', '),
    );
  }
}

const states = new WeakMap<IncomingMessage, RequestState>();

/** The state of a request, from its first byte on. Handlers find it in `response.locals.state`. */
export const stateOf = (request: IncomingMessage): RequestState => {
  let state = states.get(request);
  if (!state) {
    state = new RequestState();
    states.set(request, state);
  }
  return state;
};
