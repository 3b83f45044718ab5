import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import { mayKeepAnswer, type Quota } from '../auth/quotas.ts';
import { type AnsweredCall, load, save } from './records.ts';
import { NOT_KEPT, type IdempotentCall, IdempotentReplay } from './call.ts';

/** Until the other one is mostly done. */
const RETRY_AFTER_S = 1;

const quotaFor = ({ apiKeyId }: IdempotentCall, now: Date): Quota => ({ keyId: apiKeyId, now });
const sizeOf = (answer: string): number => Buffer.byteLength(answer);

/** Makes the output of a write, in its transaction. */
type TransactionWork<Output> = (tx: Transaction) => Promise<Output>;

/** A write under way. */
interface Write {
  deadline: Deadline;
  /** Set for one with an Idempotency-Key. */
  idempotent?: IdempotentCall | undefined;
}

/** What came of a call: its output, or why it was not done. */
export type WriteResult = { output: unknown } | IdempotentReplay | AppError;

/**
 * Does those of some calls, which may be repeated, that were not done before, in one transaction, and stores their answers
 * with them. `make` does them, and may refuse some.
 */
const doOnce = async <C extends { idempotent: IdempotentCall }>(
  tx: Transaction,
  calls: readonly C[],
  now: Date,
  make: (tx: Transaction, fresh: readonly C[], now: Date) => Promise<readonly WriteResult[]>,
): Promise<WriteResult[]> => {
  const memory = await load(
    tx,
    calls.map(({ idempotent }) => idempotent),
    now,
  );
  const objections = calls.map(({ idempotent }) => memory.conflict(idempotent));
  const fresh = calls.filter((_, index) => objections[index] === undefined);
  if (fresh.length === 0) return objections as WriteResult[];
  const results = await make(tx, fresh, now);
  const made = fresh.flatMap(({ idempotent: call }, index): AnsweredCall[] => {
    const result = results[index]!;
    return 'output' in result ? [{ call, answer: call.encode(result.output) }] : [];
  });
  if (made.length > 0) await save(tx, made, memory, now);
  const done = results.values();
  return objections.map((objection) => objection ?? done.next().value!);
};

const isIdempotent = <C extends { idempotent: IdempotentCall | undefined }>(
  call: C,
): call is C & { idempotent: IdempotentCall } => call.idempotent !== undefined;

/**
 * Does a group of calls in one transaction, and calls `onCommit` before its COMMIT. Either all of them may be repeated, and then
 * are done once, or none. @throws whatever `make` and `Database.transaction` throw
 */
export const doTogether = <C extends { idempotent: IdempotentCall | undefined }>(
  db: Database,
  calls: readonly C[],
  { now, deadline, onCommit }: { now: () => Date; deadline: Deadline | undefined; onCommit: () => void },
  make: (tx: Transaction, calls: readonly C[], now: Date) => Promise<readonly WriteResult[]>,
): Promise<readonly WriteResult[]> => {
  const isOnce = calls.every(isIdempotent);
  const work = async (tx: Transaction): Promise<readonly WriteResult[]> => {
    const results = await (isOnce ? doOnce(tx, calls, now(), make) : make(tx, calls, now()));
    onCommit();
    return results;
  };
  return db.transaction(work, deadline, { isIdempotent: isOnce });
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
  do<Output>(
    { deadline, idempotent }: Write,
    work: TransactionWork<Output>,
    look?: TransactionWork<Output>,
  ): Promise<Output> {
    if (!idempotent) return this.#db.transaction(work, deadline);
    return this.inFlight(idempotent, () =>
      this.#db.transaction(
        async (tx) => {
          const now = this.#now();
          const memory = await load(tx, [idempotent], now);
          const objection = memory.conflict(idempotent);
          if (look && objection instanceof IdempotentReplay && objection.answer === NOT_KEPT) {
            throw new IdempotentReplay(idempotent.encode(await look(tx)));
          }
          if (objection) throw objection;
          const output = await work(tx);
          const answer = idempotent.encode(output);
          const isKept =
            !look || !this.#isBounded || (await mayKeepAnswer(tx, quotaFor(idempotent, now), sizeOf(answer)));
          await save(tx, [{ call: idempotent, answer: isKept ? answer : NOT_KEPT }], memory, now);
          return output;
        },
        deadline,
        { isIdempotent: true },
      ),
    );
  }

  /**
   * Does `work`, which makes this call, unless the same one is being made: then the caller need not be kept waiting, and
   * nothing need be asked of the database. @throws AppError IDEMPOTENCY_IN_PROGRESS
   */
  async inFlight<T>({ callHash, inputHash }: IdempotentCall, work: () => Promise<T>): Promise<T> {
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
