import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';

/** What a caller may call a request. */
const USABLE_ID = /^[\w.:-]{1,128}$/;
const LOGGED_PATH_LENGTH = 200;

/** What a request is called: by its `X-Request-Id` if that is usable, else by a new name. */
export const requestIdOf = ({ headers: { 'x-request-id': given } }: IncomingMessage): string =>
  typeof given === 'string' && USABLE_ID.test(given) ? given : randomUUID();

/** Names each request by its `X-Request-Id`, the caller's if it is usable, and logs how it ended; never key or body. */
export const requestLog =
  (log: Logger): RequestHandler =>
  (request, response, next) => {
    const started = performance.now();
    const requestId = requestIdOf(request);
    response.locals.requestId = requestId;
    response.once('close', () => {
      const { procedure, caller, reason } = response.locals;
      const entry = {
        requestId,
        method: request.method,
        path: request.path.slice(0, LOGGED_PATH_LENGTH),
        procedure,
        status: response.statusCode,
        reason,
        userId: caller?.userId,
        keyId: caller?.key.id,
        ms: Math.round((performance.now() - started) * 10) / 10,
        // Members without a value are left out.
        aborted: response.writableFinished ? undefined : true,
      };
      log.info(entry, 'request');
    });
    next();
  };
