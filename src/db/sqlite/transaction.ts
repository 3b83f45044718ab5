import { nextTurn, performance, setImmediate } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { Parameter, Statements, Workload } from '../connection.ts';
import type { PoolObserver, PoolUsage } from '../../base/observer.ts';
import type { SqliteConnection } from './binding/binding.ts';
import { isDiskFailure } from './errors.ts';
import { WaitingQueue } from '../waiting-queue.ts';

/** How long a transaction may run before it yields to the event loop, which accepts one new connection at each turn. */
const TURN_MS = 4;
/** The maximum number of waiting callers of each workload. */
const MAX_WAITING = 2000;

/** Measures how long a piece of work has run, and makes it yield. */
class MutexTurn {
  #began = performance.now();

  /** Yields to the event loop, if the work has run for `TURN_MS` since the last time. */
  async yield(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await nextTurn();
    this.#began = performance.now();
  }
}

/** The deadline and the workload of a piece of work. */
export interface Purpose {
  deadline?: Deadline | undefined;
  workload?: Workload | undefined;
}

/**
 * A queue for a connection that one caller uses at a time. It yields to the event loop between callers: SQLite runs
 * synchronously, so a full queue would otherwise block all other work. Calls and background work alternate, so that
 * neither starves the other.
 */
export class FairMutex {
  readonly #queues = { calls: this.#makeQueue(), background: this.#makeQueue() };
  #last: 'calls' | 'background' = 'background';
  #isTaken = false;
  readonly #observer: PoolObserver | undefined;

  /** `observe` makes the observer of the queue; its parameter returns the current usage. */
  constructor(observe?: (usage: () => PoolUsage) => PoolObserver | undefined) {
    this.#observer = observe?.(() => ({
      used: this.#isTaken ? 1 : 0,
      idle: this.#isTaken ? 0 : 1,
      limit: 1,
      waiting: this.#queues.calls.size + this.#queues.background.size,
    }));
  }

  /** The observer of the queue. */
  get observer(): PoolObserver | undefined {
    return this.#observer;
  }

  /**
   * Runs `work` in its turn. Work that still waits at its deadline is not run.
   * @throws AppError OVERLOADED when too many wait, the error of the deadline, and the errors of `work`
   */
  async run<T>(work: () => Promise<T>, { deadline, workload }: Purpose = {}): Promise<T> {
    deadline?.assert();
    if (this.#isTaken) {
      const queue = this.#queues[workload === 'background' ? 'background' : 'calls'];
      await new Promise<void>((resolve, reject) => queue.join(deadline, resolve, reject));
    } else this.#observer?.waited(0);
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /** Refuses all waiting work. */
  refuse(error: unknown): void {
    for (const queue of Object.values(this.#queues)) queue.failAll(error);
  }

  #makeQueue(): WaitingQueue<void> {
    return new WaitingQueue(MAX_WAITING, (ms) => this.#observer?.waited(ms));
  }

  #pass(): void {
    if (this.#queues.calls.size + this.#queues.background.size === 0) this.#isTaken = false;
    else setImmediate(() => this.#startNext());
  }

  #startNext(): void {
    const order = this.#last === 'calls' ? (['background', 'calls'] as const) : (['calls', 'background'] as const);
    const served = order.find((name) => this.#queues[name].serve());
    if (served) this.#last = served;
    else this.#isTaken = false;
  }
}

const rollBack = (connection: SqliteConnection): void => {
  // The engine may have rolled back already.
  if (connection.isInTransaction) connection.run('ROLLBACK');
};

/** Runs a statement, and reports its start and end to the observer. */
export const watched = <R>(observer: PoolObserver | undefined, sql: string, run: () => R): R => {
  const watch = observer?.statement(sql);
  watch?.sent();
  try {
    const result = run();
    watch?.end();
    return result;
  } catch (error) {
    watch?.end(error);
    throw error;
  }
};

/** @throws AppError OUTCOME_UNKNOWN when the disk failed: only a crash shows whether it holds the commit */
const commit = (connection: SqliteConnection, observer: PoolObserver | undefined): void => {
  try {
    watched(observer, 'COMMIT', () => connection.run('COMMIT'));
  } catch (error) {
    if (isDiskFailure(error)) throw new AppError('OUTCOME_UNKNOWN', { cause: error });
    throw error;
  }
};

/**
 * Runs `work` as one transaction, which yields to the event loop between its statements, and is rolled back at the
 * deadline. It does not use TypeORM's transactions, whose state outlives a transaction that the file refused.
 */
export const transactionOn = async <T>(
  connection: SqliteConnection,
  work: (statements: Statements) => Promise<T>,
  deadline?: Deadline,
  observer?: PoolObserver,
): Promise<T> => {
  let isOpen = true;
  const turn = new MutexTurn();
  const onOpen =
    <R>(run: (sql: string, parameters?: readonly Parameter[]) => R) =>
    async (sql: string, parameters?: readonly Parameter[]): Promise<R> => {
      await turn.yield();
      if (!isOpen) throw new Error('the transaction has ended');
      return watched(observer, sql, () => run(sql, parameters));
    };
  const statements: Statements = {
    read: onOpen((sql, parameters) => connection.all(sql, parameters)) as Statements['read'],
    execute: onOpen((sql, parameters) => connection.run(sql, parameters)),
  };
  // An earlier transaction may have failed to roll back. IMMEDIATE: a transaction that begins by reading could not
  // write later if another process has written since.
  rollBack(connection);
  connection.run('BEGIN IMMEDIATE');
  try {
    const working = work(statements);
    const result = await (deadline ? deadline.race(working) : working);
    deadline?.assert();
    isOpen = false;
    commit(connection, observer);
    return result;
  } catch (error) {
    isOpen = false;
    rollBack(connection);
    throw error;
  }
};

/**
 * Runs a migration as one transaction with foreign keys off, and checks them at its end. To change a table, TypeORM
 * creates a new one and drops the old one, which would delete all rows that refer to it.
 */
export const migrateOn = async <T>(connection: SqliteConnection, work: () => Promise<T>): Promise<T> => {
  const changes = () => JSON.stringify(connection.all('SELECT total_changes()'));
  // This pragma has an effect only outside of a transaction.
  connection.pragma('foreign_keys = OFF');
  try {
    return await transactionOn(connection, async () => {
      const before = changes();
      const result = await work();
      const orphans = changes() === before ? [] : (connection.pragma('foreign_key_check') as { table: string }[]);
      if (orphans.length > 0) {
        const tables = [...new Set(orphans.map(({ table }) => table))].toSorted().join(', ');
        throw new Error(`the migration leaves rows that refer to nothing in: ${tables}`);
      }
      return result;
    });
  } finally {
    connection.pragma('foreign_keys = ON');
  }
};
