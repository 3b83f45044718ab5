import type { EntityManager } from 'typeorm';
import { performance } from '../base/runtime.ts';
import { Deadline } from '../base/deadline.ts';
import { AppError, type DatabaseFault } from '../base/errors.ts';
import {
  type Connection,
  ForeignKeyError,
  type Parameter,
  type Reader,
  RetryTransaction,
  type Statements,
  type Transaction,
  type Workload,
} from './connection.ts';
import type { Dialect } from './dialect.ts';
import { readerOf, transactionOf } from './manager.ts';
import type { DatabaseObserver } from '../base/observer.ts';
import { RetryPolicy } from './retry-policy.ts';

/** The maximum charge for a statement or transaction, in milliseconds: expensive ones take that without waiting. */
const MOST_BILLED_MS = { read: 250, transaction: 1000 };

/** The number of lost conflicts that counts as losing repeatedly: transactions of this version lock in one order. */
const MANY_LOST = 3;

/** Options of a transaction. */
export interface TransactionOptions {
  /** Whether the work detects that it is already stored. If so, it is also retried when the outcome is unknown. */
  isIdempotent?: boolean;
  /** Whether it is run once at most, to test whether the database stores it now. */
  isTriedOnce?: boolean;
}

/** Whether transactions record events, and a listener for them. */
export interface EventSettings {
  readonly isOn: boolean;
  /** Called after the commit of a transaction that has recorded events. */
  onRecorded?: () => void;
}

interface PoolOptions {
  timeoutMs?: number | undefined;
  observer?: DatabaseObserver | undefined;
  events?: EventSettings;
}

const isOutcomeUnknown = (error: unknown): boolean => error instanceof AppError && error.reason === 'OUTCOME_UNKNOWN';
/** Whether an error means that its attempt stored nothing. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && ['TIMEOUT', 'OVERLOADED', 'DATABASE_UNAVAILABLE'].includes(error.reason);

/** Charges the time from the call of `begin` by `run`, after any wait, to the end of `run`. */
const billed = async <T>(deadline: Deadline | undefined, run: (begin: () => void) => Promise<T>): Promise<T> => {
  let began: number | undefined;
  try {
    return await run(() => (began = performance.now()));
  } finally {
    if (began !== undefined) deadline?.chargeSince(began, MOST_BILLED_MS.transaction);
  }
};

/** Statements that are recorded in the deadline's query log, if it has one. */
const observed = (statements: Statements, deadline: Deadline | undefined): Statements => {
  const queries = deadline?.queries;
  if (!queries) return statements;
  const timed = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    try {
      return await run();
    } finally {
      queries.add(sql, performance.now() - began);
    }
  };
  return {
    read: (sql, parameters) => timed(sql, () => statements.read(sql, parameters)),
    execute: (sql, parameters) => timed(sql, () => statements.execute(sql, parameters)),
  };
};

/** The pool of connections of one workload: see `Workload`. Failures of the server become `AppError`s. */
export class WorkloadPool implements Reader {
  protected readonly connection: Connection;
  /** Ends when the database is closed. */
  protected readonly closing: Deadline;
  readonly #name: Workload;
  readonly #timeoutMs: number | undefined;
  /** Observes the whole database. */
  readonly observer: DatabaseObserver | undefined;
  readonly #reader: Reader;

  readonly #events: EventSettings;

  /** Operations without a deadline get `timeoutMs` milliseconds, if it is given. */
  constructor(
    connection: Connection,
    closing: Deadline,
    name: Workload,
    { timeoutMs, observer, events = { isOn: true } }: PoolOptions = {},
  ) {
    this.#events = events;
    this.connection = connection;
    this.closing = closing;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
    this.observer = observer;
    this.#reader = this.within(undefined);
  }

  get dialect(): Dialect {
    return this.connection.dialect;
  }

  /** TypeORM's repositories, for reads outside of any transaction. */
  get manager(): EntityManager {
    return this.#reader.manager;
  }

  /** A reader whose reads end at the deadline. */
  within(deadline: Deadline | undefined): Reader {
    return readerOf((sql, parameters) => this.read(sql, parameters, deadline), this.connection, deadline);
  }

  /**
   * Runs a SELECT outside of any transaction and returns its rows. It is retried for a moment while the database is
   * unreachable.
   * @throws AppError TIMEOUT at the deadline, OVERLOADED, DATABASE_UNAVAILABLE
   */
  async read<Row>(sql: string, parameters: readonly Parameter[] = [], deadline?: Deadline): Promise<Row[]> {
    const own = deadline ? undefined : this.#ownDeadline();
    const began = performance.now();
    const read = (): Promise<unknown[]> => this.connection.read(sql, parameters, deadline ?? own, this.#name);
    try {
      return (await this.#retryingReads(read, deadline ?? own)) as Row[];
    } finally {
      deadline?.chargeSince(began, MOST_BILLED_MS.read);
      deadline?.queries?.add(sql, performance.now() - began);
      own?.close();
    }
  }

  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. A transaction that lost a
   * deadlock or a lock wait, or its connection before the commit, is run again as a whole, so `work` must not touch
   * anything but the transaction.
   * @throws AppError TIMEOUT at the deadline, OVERLOADED when it kept losing conflicts without one,
   * DATABASE_UNAVAILABLE, OUTCOME_UNKNOWN when it may be stored, and the errors of `work`
   */
  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    deadline?: Deadline,
    options: TransactionOptions = {},
  ): Promise<T> {
    const own = deadline ? undefined : this.#ownDeadline();
    try {
      return await this.#transaction(work, deadline ?? own, options);
    } finally {
      own?.close();
    }
  }

  async #transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    deadline: Deadline | undefined,
    { isIdempotent = false, isTriedOnce = false }: TransactionOptions,
  ): Promise<T> {
    const { connection } = this;
    let tries: RetryPolicy | undefined;
    let isMaybeStored = false;
    let lost = 0;
    for (;;) {
      try {
        deadline?.assert();
        const recording = this.#events.isOn ? { hasRecorded: false } : undefined;
        const result = await billed(deadline, (begin) => {
          const run = (statements: Statements): Promise<T> => {
            begin();
            return work(
              transactionOf(observed(statements, deadline), connection, {
                deadline,
                recording,
                keepsLosing: lost >= MANY_LOST,
              }),
            );
          };
          return connection.transaction(run, deadline, this.#name);
        });
        if (recording?.hasRecorded) this.#events.onRecorded?.();
        return result;
      } catch (error) {
        this.#noteFault(error);
        if (connection.isTransient(error)) lost += 1;
        isMaybeStored ||= isOutcomeUnknown(error);
        tries ??= new RetryPolicy(deadline, this.closing, this.observer);
        if (!isTriedOnce && (await this.#isToBeRunAgain(error, tries, isIdempotent))) continue;
        const fault = this.#isPassing(error) ? (deadline?.error ?? this.#translate(error)) : this.#translate(error);
        // The outcome of an earlier attempt is unknown.
        throw isMaybeStored && isRefusal(fault) ? new AppError('OUTCOME_UNKNOWN', { cause: fault }) : fault;
      }
    }
  }

  async #isToBeRunAgain(error: unknown, tries: RetryPolicy, isIdempotent: boolean): Promise<boolean> {
    if (isOutcomeUnknown(error)) return isIdempotent && tries.afterFault('unreachable');
    if (this.#isTransient(error)) return tries.afterConflict();
    const fault = this.connection.faultOf(error);
    return fault !== undefined && tries.afterFault(fault);
  }

  async #retryingReads(read: () => Promise<unknown[]>, deadline: Deadline | undefined): Promise<unknown[]> {
    let tries: RetryPolicy | undefined;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const fault = this.#noteFault(error);
        tries ??= new RetryPolicy(deadline, this.closing, this.observer);
        if (fault && (await tries.afterFault(fault))) continue;
        throw this.#isPassing(error) ? (deadline?.error ?? this.#translate(error)) : this.#translate(error);
      }
    }
  }

  /** The deadline of an operation without one. The caller closes it. */
  #ownDeadline(): Deadline | undefined {
    return this.#timeoutMs === undefined ? undefined : new Deadline(this.#timeoutMs);
  }

  #isTransient(error: unknown): boolean {
    return error instanceof RetryTransaction || this.connection.isTransient(error);
  }

  /** Whether the operation could have succeeded on a retry. */
  #isPassing(error: unknown): boolean {
    return this.#isTransient(error) || this.connection.faultOf(error) !== undefined;
  }

  /** Tells the observer if a failed attempt met an unavailable database, and returns the reason. */
  #noteFault(error: unknown): DatabaseFault | undefined {
    const fault = this.connection.faultOf(error instanceof AppError ? error.cause : error);
    if (fault) this.observer?.failed(fault);
    return fault;
  }

  /** Converts an engine's error into the AppError or ForeignKeyError for it, if one exists. */
  #translate(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (this.#isTransient(error)) return new AppError('OVERLOADED', { cause: error });
    if (this.connection.isInterrupted?.(error)) return new AppError('TIMEOUT', { cause: error });
    const fault = this.connection.faultOf(error);
    if (fault) return new AppError('DATABASE_UNAVAILABLE', { fault, cause: error });
    return this.connection.isForeignKeyError(error)
      ? new ForeignKeyError('what a row refers to is gone', { cause: error })
      : error;
  }
}
