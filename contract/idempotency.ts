import { IDEMPOTENCY_HOURS, lengths } from './limits.ts';

/** The request header by which a write is repeated without doing it again. */
export const idempotencyKey = {
  name: 'Idempotency-Key',
  minLength: 1,
  maxLength: lengths.idempotencyKey,
  /** Visible ASCII, with spaces in between: what every HTTP library and proxy hands on unchanged. */
  pattern: '^[!-~]([ -~]*[!-~])?$',
  description:
    'Makes it safe to repeat this request: send a new value, such as a UUID, for each thing to be done, and the same one ' +
    'whenever it is not sure that it was. What was done before is then answered as it was then, not done again. A success ' +
    `is remembered for ${IDEMPOTENCY_HOURS} hours, for this API key and operation; a refused request leaves the value unused.`,
} as const;

/** The reply header that tells a repeated answer from a first one. */
export const idempotencyReplayed = {
  name: 'Idempotency-Replayed',
  description: '`true` where this was done by an earlier request with the same `Idempotency-Key`, else left out.',
} as const;
