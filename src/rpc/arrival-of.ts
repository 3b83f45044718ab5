import type { Request, Response } from 'express';
import { idempotencyReplayed } from '../../contract/index.ts';
import type { RequestContext } from './request-context.ts';
import { Deadline } from '../deadline.ts';
import { CallerLeft } from '../errors.ts';
import { chunksOf } from '../http/message/request-intake.ts';
import { waitedMsOf } from '../http/server/load-shedder.ts';
import { keyElsewhere } from '../auth/credential-hints.ts';

/**
 * The time for the work on a request, `ms` from now on; it ends when its caller leaves. The time in which a body arrives is
 * the listener's, so that it is to be restarted then.
 */
const deadlineOf = (response: Response, ms: number): Deadline => {
  const deadline = new Deadline(ms);
  response.locals.queries?.watch(deadline);
  response.once('close', () => {
    if (response.writableFinished) deadline.close();
    else deadline.end(new CallerLeft());
  });
  return deadline;
};

/** What a request brings before its body. `timeoutMs` is for the work on it. */
export const requestContextOf = (request: Request, response: Response, timeoutMs: number): RequestContext => {
  const { authorization, 'idempotency-key': idempotencyKey } = request.headers;
  return {
    authorization,
    keyElsewhere: () => keyElsewhere(request.headers, request.query),
    // Sent twice, it would have been refused.
    idempotencyKey: idempotencyKey as string | undefined,
    address: response.locals.address,
    deadline: deadlineOf(response, timeoutMs),
    waitedMs: waitedMsOf(request),
    chunks: () => chunksOf(request),
    onAuthenticated: (caller) => {
      response.locals.caller = caller;
    },
    onRateLimit: (status) => response.locals.statuses?.add(status),
    onReplay: () => {
      response.setHeader(idempotencyReplayed.name, 'true');
    },
  };
};
