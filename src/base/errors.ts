import type { Issue, Reason } from '../../contract/index.ts';

/** The causes of an unavailable database, by their names in the log and in metrics, in words for the operator. */
export const DATABASE_FAULTS = {
  unreachable: 'the database cannot be reached',
  disk_full: 'the disk of the database is full',
  read_only: 'the database takes no writes: it, or its file system, is read-only',
  too_many_connections: 'the database server accepts no more connections',
  access_denied: 'the database refuses the user of the service',
  corrupt: 'the file of the database is corrupt',
  disk_failure: 'the disk of the database fails',
} as const;

export type DatabaseFault = keyof typeof DATABASE_FAULTS;

interface Details {
  /** A hint that is more precise than the catalogue's hint. */
  hint?: string;
  /** The faults of the input, with reason `VALIDATION_FAILED`. */
  issues?: Issue[];
  /** The seconds after which to try again, if the catalogue does not define them. */
  retryAfter?: number;
  /** Whether to try again, if this depends on the request. */
  shouldRetry?: boolean;
  /** The cause of the database's unavailability, which callers do not see. */
  fault?: DatabaseFault | undefined;
  cause?: unknown;
}

/** A failure with a reason of the contract's catalogue. `http/message/failures.ts` writes it in its wire format. */
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

/** Why the database is unavailable, if that caused an error. */
export const databaseFaultIn = (error: unknown): DatabaseFault | undefined =>
  error instanceof AppError ? (error.details.fault ?? databaseFaultIn(error.cause)) : undefined;

/** Ends the work for a caller who has left. */
export class CallerLeft extends AppError {
  constructor() {
    super('TIMEOUT', { hint: 'The caller has left.' });
  }
}

/** An unusable database address. The message gives the reason and the allowed forms, and shows no password. */
export class AddressError extends Error {}
