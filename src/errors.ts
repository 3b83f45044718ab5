import type { Issue, Reason } from '../contract/index.ts';

interface Details {
  /** A hint that is more precise than the catalogue's. */
  hint?: string;
  /** The faults of the input, with reason `VALIDATION_FAILED`. */
  issues?: Issue[];
  /** The seconds after which to try again, where the catalogue leaves this open. */
  retryAfter?: number;
  /** Whether to try again, where it depends on the request. */
  shouldRetry?: boolean;
  cause?: unknown;
}

/** A failure with a reason of the contract's catalogue. `http/message/failures.ts` writes it on the wire. */
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

/** Ends the work for a caller who has left. */
export class CallerLeft extends AppError {
  constructor() {
    super('TIMEOUT', { hint: 'The caller has left.' });
  }
}

/** A database address that cannot be used: the message says why and what is allowed, and shows no password. */
export class AddressError extends Error {}
