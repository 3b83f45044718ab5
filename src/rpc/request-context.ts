import type { Request, Response } from 'express';
import { type Deprecation, idempotencyReplayed, type ProcedureMetadata, startOfDay } from '../../contract/index.ts';
import { keyElsewhere } from '../auth/credential-hints.ts';
import type { Caller } from '../auth/verifier.ts';
import { Deadline, type Meter } from '../base/deadline.ts';
import { CallerLeft } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { chunksOf } from '../http/message/request-intake.ts';
import { waitedMsOf } from '../http/server/load-shedder.ts';
import type { ConcurrencyLimiter } from '../limits/overload/concurrency-limiter.ts';
import type { OnRateLimit } from '../limits/rate-limit/limiter.ts';

/** Adds up the cost of a request. Nothing is charged until the caller is known. */
export class CostMeter implements Meter {
  #charge: ((ms: number) => void) | undefined;

  /** Charges what is added from now on by `charge`. */
  chargeBy(charge: (ms: number) => void): void {
    this.#charge = charge;
  }

  add(ms: number): void {
    this.#charge?.(ms);
  }
}

/** A request before its body is read, by whichever transport. All its calls share it. */
export interface RequestContext {
  /** The reply header `X-Request-Id`. */
  requestId: string;
  authorization: string | undefined;
  /** Names a place in the request that holds a key and is not read; asked for only when a credential is missing. */
  keyElsewhere?: () => string | undefined;
  idempotencyKey: string | undefined;
  /** The caller, once they are authenticated. */
  caller?: Caller | undefined;
  /** Names the client. */
  userAgent: string | undefined;
  /** The caller's address, as far as trusted proxies tell. */
  address: string;
  /** The time limit of the work, which records in `meter` what it costs. */
  deadline: Deadline;
  meter: CostMeter;
  /** The milliseconds that it waited before any work on it. */
  waitedMs?: number;
  /** Of a batch: the limiters that admitted one of its calls, which do not refuse the others. */
  admittedBy?: Set<ConcurrencyLimiter>;
  /** The number of chunks of its body. */
  chunks?: () => number;
  /** Called with the caller, before they are authorized. */
  onAuthenticated: (caller: Caller | undefined) => void;
  /** Called with the status of each rate limit that a call meets. */
  onRateLimit: OnRateLimit;
  /** Called when a call is answered with the stored answer of an earlier one. */
  onReplay: () => void;
  /** Called with what a call of an operation uses that is deprecated. */
  onDeprecated: (operation: Pick<ProcedureMetadata, 'id'>, used: readonly Deprecation[]) => void;
}

/** The deadline of a request ends after `ms`, or when its caller leaves. It restarts when the body has arrived. */
const deadlineOf = (response: Response, ms: number, meter: Meter): Deadline => {
  const deadline = new Deadline(ms, { meter, queries: response.locals.queries });
  response.once('close', () => {
    if (response.writableFinished) deadline.close();
    else deadline.end(new CallerLeft());
  });
  return deadline;
};

/**
 * Tells by headers what the calls of a request use that is deprecated: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), of
 * several the first, and a link to each operation in the reference.
 */
const deprecationHeaders = (response: Response, publicUrl = ''): RequestContext['onDeprecated'] => {
  let all: { id: string; deprecation: Deprecation }[] | undefined;
  return ({ id }, used) => {
    if (used.length === 0) return;
    all = [...(all ?? []), ...used.map((deprecation) => ({ id, deprecation }))];
    const [since = ''] = all.map(({ deprecation }) => deprecation.since).toSorted();
    const [sunset] = all.flatMap(({ deprecation }) => deprecation.sunset ?? []).toSorted();
    const links = all.map(({ id: name }) => `<${publicUrl}/docs/#/${name.split('.')[0]}/${name}>`);
    response.setHeader('Deprecation', `@${startOfDay(since) / 1000}`);
    if (sunset !== undefined) response.setHeader('Sunset', new Date(startOfDay(sunset)).toUTCString());
    response.setHeader(
      'Link',
      Array.from(new Set(links), (link) => `${link}; rel="deprecation"; type="text/html"`).join(', '),
    );
  };
};

/** The context of an HTTP request. */
export const requestContextOf = (
  request: Request,
  response: Response,
  { requestTimeoutMs, publicUrl }: Pick<Config, 'requestTimeoutMs' | 'publicUrl'>,
): RequestContext => {
  const { authorization, 'idempotency-key': idempotencyKey, 'user-agent': userAgent } = request.headers;
  const meter = new CostMeter();
  return {
    requestId: response.locals.requestId,
    authorization,
    keyElsewhere: () => keyElsewhere(request.headers, request.query),
    // A second one would have been refused.
    idempotencyKey: idempotencyKey as string | undefined,
    userAgent,
    address: response.locals.address,
    deadline: deadlineOf(response, requestTimeoutMs, meter),
    meter,
    waitedMs: waitedMsOf(request),
    chunks: () => chunksOf(request),
    onAuthenticated: (caller) => {
      response.locals.caller = caller;
    },
    onRateLimit: (status) => response.locals.rateLimits?.add(status),
    onReplay: () => {
      response.setHeader(idempotencyReplayed.name, 'true');
    },
    onDeprecated: deprecationHeaders(response, publicUrl),
  };
};
