import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, RequestHandler } from 'express';
import { AppError } from '../errors.ts';

const LONGEST_DELAY_MS = 30_000;
const DELAY = 'X-Sandbox-Delay';
const STATUS = 'X-Sandbox-Status';

const reasons = { 429: 'RATE_LIMITED', 500: 'INTERNAL', 503: 'OVERLOADED' } as const;
const isStatus = (text: string): text is `${keyof typeof reasons}` => Object.hasOwn(reasons, text);

const delayOf = (request: Request): number => {
  const text = request.get(DELAY) ?? '0';
  const ms = Number(text);
  if (/^[0-9]+$/.test(text) && ms <= LONGEST_DELAY_MS) return ms;
  throw new AppError('BAD_HTTP_REQUEST', { hint: `${DELAY} takes milliseconds from 0 to ${LONGEST_DELAY_MS}.` });
};

/**
 * Lets callers of the sandbox see how they fare when the service is slow or fails: `X-Sandbox-Delay` holds a request up
 * for so many milliseconds, and `X-Sandbox-Status` then has it fail with 429, 500 or 503, before anything is done.
 */
export const sandboxFaults: RequestHandler = async (request, _response, next) => {
  await sleep(delayOf(request));
  const status = request.get(STATUS);
  if (status === undefined) {
    next();
    return;
  }
  if (isStatus(status)) throw new AppError(reasons[status]);
  throw new AppError('BAD_HTTP_REQUEST', { hint: `${STATUS} takes ${Object.keys(reasons).join(', ')}.` });
};
