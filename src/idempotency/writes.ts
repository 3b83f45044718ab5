import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import { mayKeepAnswer, type Quota } from '../auth/quotas.ts';
import { type Made, recall, remember } from './records.ts';
import { NOT_KEPT, type Repeatable, Replay } from './repeatable.ts';

/** Until the other one is mostly done. */
const RETRY_AFTER_S = 1;

const quotaFor = ({ apiKeyId }: Repeatable, now: Date): Quota => ({ keyId: apiKeyId, now });
const sizeOf = (answer: string): number => Buffer.byteLength(answer);

/** Makes the output of a write, in its transaction. */
type Work<Output> = (tx: Transaction) => Promise<Output>;

/** A write under way. */
interface Write {
  deadline: Deadline;
  /** Set for one with an Idempotency-Key. */
  repeatable?: Repeatable | undefined;
}

/** What came of a call: its output, or why it was not done. */
export type Result = { output: unknown } | Replay | AppError;

/**
 * Does those of some calls, which may be repeated, that were not done before, in one transaction, and stores their answers
 * with them. `make` does them, and may refuse some.
 */
const doOnce = async <C extends { repeatable: Repeatable }>(
  tx: Transaction,
  calls: readonly C[],
  now: Date,
  make: (tx: Transaction, fresh: readonly C[], now: Date) => Promise<readonly Result[]>,
): Promise<Result[]> => {
  const memory = await recall(
    tx,
    calls.map(({ repeatable }) => repeatable),
    now,
  );
  const objections = calls.map(({ repeatable }) => memory.objectionTo(repeatable));
  const fresh = calls.filter((_, index) => objections[index] === undefined);
  if (fresh.length === 0) return objections as Result[];
  const results = await make(tx, fresh, now);
  const made = fresh.flatMap(({ repeatable: call }, index): Made[] => {
    const result = results[index]!;
    return 'output' in result ? [{ call, answer: call.encode(result.output) }] : [];
  });
  if (made.length > 0) await remember(tx, made, memory, now);
  const done = results.values();
  return objections.map((objection) => objection ?? done.next().value!);
};

const isRepeatable = <C extends { repeatable: Repeatable | undefined }>(
  call: C,
): call is C & { repeatable: Repeatable } => call.repeatable !== undefined;

/**
 * Does a group of calls in one transaction, and calls `onCommit` before its COMMIT. Either all of them may be repeated, and then
 * are done once, or none. @throws whatever `make` and `Database.transaction` throw
 */
export const doTogether = <C extends { repeatable: Repeatable | undefined }>(
  db: Database,
  calls: readonly C[],
  { now, deadline, onCommit }: { now: () => Date; deadline: Deadline | undefined; onCommit: () => void },
  make: (tx: Transaction, calls: readonly C[], now: Date) => Promise<readonly Result[]>,
): Promise<readonly Result[]> => {
  const isOnce = calls.every(isRepeatable);
  const work = async (tx: Transaction): Promise<readonly Result[]> => {
    const results = await (isOnce ? doOnce(tx, calls, now(), make) : make(tx, calls, now()));
    onCommit();
    return results;
  };
  return db.transaction(work, deadline, { isRepeatable: isOnce });
};

/** Writes, each in a transaction of its own. One that may be repeated is done once: what it answers is stored with it. */
export class Writes {
  readonly #db: Database;
  readonly #now: () => Date;
  /** Whether what is kept for repetitions of changes is bounded. */
  readonly #isBounded: boolean;
  /** The repeatable calls under way in this process. */
  readonly #running = new Set<string>();

  constructor(db: Database, now: () => Date, isBounded: boolean) {
    this.#db = db;
    this.#now = now;
    this.#isBounded = isBounded;
  }

  /**
   * Does `work`, which makes the output, in one transaction. A change has `look`, which makes its output of what is stored: if
   * the key has had much kept today, that is what a repetition is answered. What publishes records has none: its answers are
   * no larger than what it leaves for good.
   * @throws Replay where it was done before, AppError IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_MISMATCH, whatever `work`, `look`
   * and `Database.transaction` throw
   */
  do<Output>({ deadline, repeatable }: Write, work: Work<Output>, look?: Work<Output>): Promise<Output> {
    if (!repeatable) return this.#db.transaction(work, deadline);
    return this.alone(repeatable, () =>
      this.#db.transaction(
        async (tx) => {
          const now = this.#now();
          const memory = await recall(tx, [repeatable], now);
          const objection = memory.objectionTo(repeatable);
          if (look && objection instanceof Replay && objection.answer === NOT_KEPT) {
            throw new Replay(repeatable.encode(await look(tx)));
          }
          if (objection) throw objection;
          const output = await work(tx);
          const answer = repeatable.encode(output);
          const isKept =
            !look || !this.#isBounded || (await mayKeepAnswer(tx, quotaFor(repeatable, now), sizeOf(answer)));
          await remember(tx, [{ call: repeatable, answer: isKept ? answer : NOT_KEPT }], memory, now);
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
