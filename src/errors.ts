import type { Issue, Reason } from '../contract/index.ts';

interface Details {
  /** What to do about it, more precise than the catalogue's hint. */
  hint?: string;
  /** The faults of the input, with reason `VALIDATION_FAILED`. */
  issues?: Issue[];
  /** After how many seconds to try again, where the catalogue leaves this open. */
  retryAfter?: number;
  /** Whether to try again, where it depends on the request. */
  shouldRetry?: boolean;
  cause?: unknown;
}

/** A failure with a reason of the contract's catalogue. Only `http/errors.ts` knows what it looks like on the wire. */
export class AppError extends Error {
  readonly reason: Reason;
  readonly details: Details;

  constructor(reason: Reason, details: Details = {}) {
    super(reason, { cause: details.cause });
    this.name = 'AppError';
    this.reason = reason;
    this.details = details;
  }
}

/** Ends what a caller had asked for who waits no more. */
export class CallerLeft extends AppError {
  constructor() {
    super('TIMEOUT', { hint: 'The caller has left.' });
  }
}

/** A database address that cannot be used: the message says why and what is allowed, and shows no password. */
export class AddressError extends Error {}
