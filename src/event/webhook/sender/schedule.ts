import { randomNumber } from '../../../base/runtime.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The pauses after failed attempts: ten attempts in about 75 hours. */
const PAUSES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

/** An endpoint that has not answered for this long is dead. */
export const DEAD_AFTER_MS = 72 * HOUR_MS;
const JITTER = 0.1;
const LONGEST_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * The time of the next attempt after a number of failed ones; undefined after the last one. An endpoint may request a
 * longer pause by `Retry-After`, in seconds. `random` is from 0 to 1.
 */
export const nextAttempt = (
  now: Date,
  attempts: number,
  retryAfter: number | undefined,
  random = randomNumber(),
): Date | undefined => {
  const pause = PAUSES_MS[attempts - 1];
  if (pause === undefined) return undefined;
  const jittered = pause * (1 + JITTER * (2 * random - 1));
  const asked = Math.min((retryAfter ?? 0) * SECOND_MS, LONGEST_RETRY_AFTER_MS);
  return new Date(now.getTime() + Math.max(jittered, asked));
};
