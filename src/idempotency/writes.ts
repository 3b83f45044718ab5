import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors.ts';
import type { Call } from '../procedure.ts';
import { recall, remember } from './records.ts';
import type { Repeatable } from './repeatable.ts';

/** Until the other one is mostly done. */
const RETRY_AFTER_S = 1;

/** Writes, each in a transaction of its own. One that may be repeated is done once: what it answers is stored with it. */
export class Writes {
  readonly #db: Database;
  readonly #now: () => Date;
  /** The repeatable calls under way in this process. */
  readonly #running = new Set<string>();

  constructor(db: Database, now: () => Date) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * Does `work`, which makes the output, in one transaction.
   * @throws Replay where it was done before, AppError IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_MISMATCH, whatever `work` and
   * `Database.transaction` throw
   */
  do<Output>({ deadline, repeatable }: Call, work: (tx: Transaction) => Promise<Output>): Promise<Output> {
    if (!repeatable) return this.#db.transaction(work, deadline);
    return this.alone(repeatable, () =>
      this.#db.transaction(
        async (tx) => {
          const now = this.#now();
          const memory = await recall(tx, [repeatable], now);
          const objection = memory.objectionTo(repeatable);
          if (objection) throw objection;
          const output = await work(tx);
          await remember(tx, [{ call: repeatable, output }], memory, now);
          return output;
        },
        deadline,
        { isRepeatable: true },
      ),
    );
  }

  /**
   * Does `work`, which makes this call, unless the same one is being made: then the caller need not be kept waiting, and
   * nothing need be asked of the database. @throws AppError IDEMPOTENCY_IN_PROGRESS
   */
  async alone<T>({ callHash, inputHash }: Repeatable, work: () => Promise<T>): Promise<T> {
    const name = callHash.toString('latin1');
    if (this.#running.has(name)) throw new AppError('IDEMPOTENCY_IN_PROGRESS', { retryAfter: RETRY_AFTER_S });
    this.#running.add(name);
    // Of what is large it takes time, in which nothing had better be locked.
    inputHash();
    try {
      return await work();
    } finally {
      this.#running.delete(name);
    }
  }
}
