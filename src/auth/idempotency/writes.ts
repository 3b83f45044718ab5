import type { Reason } from '../../../contract/index.ts';
import { ForeignKeyError, type Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { mayKeepAnswer } from '../quotas.ts';
import { type AnsweredCall, type Conflict, load, save } from './records.ts';
import { NOT_KEPT, type IdempotentCall, IdempotentReplay } from './call.ts';

/** After this time, the call under way has usually ended. */
const RETRY_AFTER_S = 1;

/** Makes the output of a write, in its transaction. */
type TransactionWork<Output extends object> = (tx: Transaction) => Promise<Output>;

/** A write under way. */
interface Write {
  deadline: Deadline;
  /** Set for a write with an Idempotency-Key. */
  idempotent?: IdempotentCall | undefined;
}

/** The way in which the answer of a write is stored. */
interface Answering<Output extends object> {
  /**
   * Makes the output of a change from stored rows, to answer repetitions if the key's quota for stored answers is used
   * up. Publishing has no `look`, since its answers are no larger than the records that it stores.
   */
  look?: TransactionWork<Output> | undefined;
  /** Makes the output for repetitions, if the first one must not be stored. */
  keep?: ((output: Output) => Output) | undefined;
}

/** A call that is executed together with others. */
type GroupedCall<Idempotent> = { idempotent: Idempotent } & Answering<object>;

/** Runs a transaction again if a row, such as a tag, was deleted after it was read and before it was referenced. */
const retryingForeignKeys = async <T>(transaction: () => Promise<T>): Promise<T> => {
  try {
    return await transaction();
  } catch (error) {
    if (!(error instanceof ForeignKeyError)) throw error;
    return transaction();
  }
};

/** The output of a call, or the reason why it was not executed. */
export type WriteResult = { output: unknown } | IdempotentReplay | AppError;

/** For each call, the result of an earlier attempt, and the answer that it stored, unless its COMMIT failed. */
type Attempted = Map<IdempotentCall, { result: WriteResult; answer: string }>;

/** The result of a call that was executed before, or is refused; undefined for a new one. */
const outcomeOf = async (
  tx: Transaction,
  { idempotent: call, look }: GroupedCall<IdempotentCall>,
  conflict: Conflict,
  attempted: Attempted,
): Promise<WriteResult | undefined> => {
  if (!(conflict instanceof IdempotentReplay)) return conflict;
  // An earlier attempt is stored: its COMMIT succeeded, but the server's reply to it was lost.
  const own = attempted.get(call);
  if (own?.answer === conflict.answer) return own.result;
  return look && conflict.answer === NOT_KEPT ? new IdempotentReplay(call.encode(await look(tx))) : conflict;
};

/** The answer of a call in its stored form. */
const answerOf = async (
  tx: Transaction,
  { idempotent: call, look, keep = (output) => output }: GroupedCall<IdempotentCall>,
  output: object,
  now: Date,
): Promise<AnsweredCall> => {
  const answer = call.encode(keep(output));
  // This applies even if rates are not limited: it bounds the stored data.
  const isKept = !look || (await mayKeepAnswer(tx, { userId: call.userId, now }, Buffer.byteLength(answer)));
  return { call, answer: isKept ? answer : NOT_KEPT };
};

/**
 * Executes the new calls among some idempotent ones in one transaction, and stores their answers. `make` may refuse
 * some.
 */
const doOnce = async <C extends GroupedCall<IdempotentCall>>(
  tx: Transaction,
  calls: readonly C[],
  attempted: Attempted,
  now: Date,
  make: (tx: Transaction, fresh: readonly C[], now: Date) => Promise<readonly WriteResult[]>,
): Promise<WriteResult[]> => {
  const idempotentCalls = calls.map(({ idempotent }) => idempotent);
  const storedCalls = await load(tx, idempotentCalls, now);
  const earlierOutcomes: (WriteResult | undefined)[] = [];
  for (const [index, call] of calls.entries()) {
    earlierOutcomes.push(await outcomeOf(tx, call, storedCalls.conflicts[index], attempted));
  }
  const fresh = calls.filter((_, index) => earlierOutcomes[index] === undefined);
  if (fresh.length === 0) return earlierOutcomes as WriteResult[];
  const results = await make(tx, fresh, now);
  const made: (AnsweredCall & { result: WriteResult })[] = [];
  for (const [index, call] of fresh.entries()) {
    const result = results[index]!;
    if ('output' in result) made.push({ ...(await answerOf(tx, call, result.output as object, now)), result });
  }
  if (made.length > 0) await save(tx, made, storedCalls, now);
  for (const { call, answer, result } of made) attempted.set(call, { result, answer });
  const done = results.values();
  return earlierOutcomes.map((earlier) => earlier ?? done.next().value!);
};

const isIdempotent = <C extends GroupedCall<IdempotentCall | undefined>>(
  call: C,
): call is C & GroupedCall<IdempotentCall> => call.idempotent !== undefined;

/**
 * Executes a group of calls in one transaction, and calls `onCommit` before its COMMIT. Either all are idempotent, or
 * none.
 * @throws the errors of `make` and of `Database.transaction`
 */
export const doTogether = <C extends GroupedCall<IdempotentCall | undefined>>(
  db: Database,
  calls: readonly C[],
  { now, deadline, onCommit }: { now: () => Date; deadline: Deadline | undefined; onCommit?: () => void },
  make: (tx: Transaction, calls: readonly C[], now: Date) => Promise<readonly WriteResult[]>,
): Promise<readonly WriteResult[]> => {
  const isOnce = calls.every(isIdempotent);
  const attempted: Attempted = new Map();
  const work = async (tx: Transaction): Promise<readonly WriteResult[]> => {
    const results = await (isOnce ? doOnce(tx, calls, attempted, now(), make) : make(tx, calls, now()));
    onCommit?.();
    return results;
  };
  return retryingForeignKeys(() => db.transaction(work, deadline, { isIdempotent: isOnce }));
};

/** The stored form of an answer: a secret is shown once. */
export const withoutSecret = <T extends { secret: string | null }>(output: T): T => ({ ...output, secret: null });

/**
 * Deletes by `once`. A repetition that waited for this call finds nothing to delete: it tries again, since only now the
 * stored answer exists.
 * @throws AppError, as `once`
 */
export const deleteOnce = async <T>(
  { idempotent }: Pick<Write, 'idempotent'>,
  notFound: Reason,
  once: () => Promise<T>,
): Promise<T> => {
  try {
    return await once();
  } catch (error) {
    if (!idempotent || !(error instanceof AppError) || error.reason !== notFound) throw error;
    return once();
  }
};

/** Runs writes, each in its own transaction. An idempotent write runs once: its answer is stored with it. */
export class Writes {
  readonly #db: Database;
  readonly #now: () => Date;
  /** The idempotent calls under way in this process. */
  readonly #running = new Set<string>();

  constructor(db: Database, now: () => Date) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * Runs `work`, which makes the output, in one transaction.
   * @throws IdempotentReplay for a repetition, AppError IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_MISMATCH, and the errors
   * of `work`, `look` and `Database.transaction`
   */
  do<Output extends object>(
    { deadline, idempotent }: Write,
    work: TransactionWork<Output>,
    answering: Answering<Output> = {},
  ): Promise<Output> {
    const call = { ...(answering as unknown as Answering<object>), idempotent };
    return this.outputOf<Output>(idempotent, async () => {
      const [result] = await doTogether(this.#db, [call], { now: this.#now, deadline }, async (tx) => [
        { output: await work(tx) },
      ]);
      return result!;
    });
  }

  /**
   * Returns the output of a call that `run` executes. If the same call is under way in this process, refuses at once,
   * without a query.
   * @throws AppError IDEMPOTENCY_IN_PROGRESS, and why the call was not made
   */
  async outputOf<Output>(idempotent: IdempotentCall | undefined, run: () => Promise<WriteResult>): Promise<Output> {
    const result = await (idempotent ? this.#inFlight(idempotent, run) : run());
    if ('output' in result) return result.output as Output;
    throw result;
  }

  async #inFlight<T>({ callHash, inputHash }: IdempotentCall, work: () => Promise<T>): Promise<T> {
    const name = callHash.toString('latin1');
    if (this.#running.has(name)) throw new AppError('IDEMPOTENCY_IN_PROGRESS', { retryAfter: RETRY_AFTER_S });
    this.#running.add(name);
    // Hashing a large input takes a while, so it precedes all locks.
    inputHash();
    try {
      return await work();
    } finally {
      this.#running.delete(name);
    }
  }
}
