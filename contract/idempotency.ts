import { IDEMPOTENCY_HOURS, lengths } from './limits.ts';

/** The request header that makes the service execute a repeated write only once. */
export const idempotencyKey = {
  name: 'Idempotency-Key',
  minLength: 1,
  maxLength: lengths.idempotencyKey,
  /** Visible ASCII, with spaces in between: every HTTP library and proxy passes it on unchanged. */
  pattern: '^[!-~]([ -~]*[!-~])?$',
  description:
    'Makes this request safe to repeat. Send a new value, such as a UUID, for each thing you want done, and the same value ' +
    'again whenever you do not know whether it was done. If it was, you get the first answer again and nothing is done ' +
    `twice. A success is remembered for ${IDEMPOTENCY_HOURS} hours, per API key and operation; a refused request does not use the value up.`,
} as const;

/** The reply header that marks the stored answer to a repetition. */
export const idempotencyReplayed = {
  name: 'Idempotency-Replayed',
  description: '`true` if an earlier request with the same `Idempotency-Key` has done this already; absent otherwise.',
} as const;
