import type { GatewayError } from './errors.js';
import { PRODUCT } from './version.js';
import type { GatewayReply } from './wire/reply.js';

/** An attempt that ended by itself. It has no key, no body and no headers. */
export interface Attempt {
  /** The procedure, such as `game.getById`. */
  readonly operation: string;
  /** Its number within the call, from 1. */
  readonly attempt: number;
  /** The HTTP status; null if there was no whole reply. */
  readonly status: number | null;
  /** The gateway's reason of a failure, such as `OVERLOADED`; else null. */
  readonly reason: string | null;
  /** The name of the error, such as `ServerError`; null of a success. */
  readonly error: string | null;
  /** Finds the request in the operator's log; null if the reply doesn't say. */
  readonly requestId: string | null;
  /** How long this attempt took, in milliseconds. */
  readonly durationMs: number;
  /** How long the call waits before the next attempt, in milliseconds; null if there is none. */
  readonly waitMs: number | null;
}

/** Called after each attempt. What it throws is ignored. */
export type AttemptHook = (attempt: Attempt) => void;

/** What a reply or an error may say of its attempt. */
type Told = Partial<Pick<Attempt, 'status' | 'reason' | 'requestId'>>;

/** Describes an attempt by its reply or its error. */
export const attemptOf = (
  ended: { reply: GatewayReply<unknown> } | { error: GatewayError },
  { operation, attempt, durationMs, waitMs }: Pick<Attempt, 'operation' | 'attempt' | 'durationMs' | 'waitMs'>,
): Attempt => {
  const isReply = 'reply' in ended;
  const { status = null, reason = null, requestId = null }: Told = isReply ? ended.reply : (ended.error as Told);
  const error = isReply ? null : ended.error.name;
  return { operation, attempt, status, reason, error, requestId, durationMs, waitMs };
};

const secondsOf = (ms: number): string => `${Math.round(ms / 10) / 100} s`;

/** An attempt in a line. */
const lineOf = ({ operation, attempt, status, reason, error, requestId, durationMs, waitMs }: Attempt): string => {
  const ended = [status, reason ?? error].filter((word) => word !== null).join(' ');
  const request = requestId === null ? '' : `, request ${requestId}`;
  const wait = waitMs === null ? '' : `, again in ${secondsOf(waitMs)}`;
  const line = `${PRODUCT}: ${operation} attempt ${attempt}: ${ended} in ${Math.round(durationMs)} ms${request}${wait}`;
  return line.replaceAll(/\p{Cc}+/gu, ' ');
};

/** A hook that writes each attempt as a line. */
export const logHook =
  (write: (line: string) => void): AttemptHook =>
  (attempt) =>
    write(lineOf(attempt));

/** Calls the hooks, which never break a call: neither by throwing nor by a promise that rejects. */
export const callHooks = (hooks: readonly AttemptHook[], attempt: Attempt): void => {
  for (const hook of hooks) new Promise((resolve) => resolve(hook(attempt) as unknown)).catch(() => {});
};
