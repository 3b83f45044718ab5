import type { Reason } from '../../../contract/index.ts';
import { ForeignKeyError, type Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { mayKeepAnswer } from '../quotas.ts';
import { type AnsweredCall, load, save } from './records.ts';
import { replaceAnswersOfDeletedRows } from './shown-rows.ts';
import { NOT_KEPT, type IdempotentCall, IdempotentReplay } from './call.ts';

/** By then, the call under way has usually ended. */
const RETRY_AFTER_S = 1;

const sizeOf = (answer: string): number => Buffer.byteLength(answer);

/** Makes the output of a write, in its transaction. */
type TransactionWork<Output extends object> = (tx: Transaction) => Promise<Output>;

/** A write under way. */
interface Write {
  deadline: Deadline;
  /** Set for one with an Idempotency-Key. */
  idempotent?: IdempotentCall | undefined;
}

/** Runs a transaction again whose foreign key refers to a row, such as a tag, that was deleted after it had read it. */
const retryingForeignKeys = async <T>(transaction: () => Promise<T>): Promise<T> => {
  try {
    return await transaction();
  } catch (error) {
    if (!(error instanceof ForeignKeyError)) throw error;
    return transaction();
  }
};

/** The output of a call, or why it was not done. */
export type WriteResult = { output: unknown } | IdempotentReplay | AppError;

/** By its call, the result of an earlier attempt, and the answer that it stored, unless its COMMIT failed. */
type Attempted<Result> = Map<IdempotentCall, { result: Result; answer: string }>;

/** The result of an earlier attempt, if it is stored: its COMMIT was done, and the answer to it was lost. */
const madeBefore = <Result>(
  attempted: Attempted<Result>,
  call: IdempotentCall,
  conflict: IdempotentReplay | AppError | undefined,
): Result | undefined => {
  const own = attempted.get(call);
  return own && conflict instanceof IdempotentReplay && conflict.answer === own.answer ? own.result : undefined;
};

/**
 * Makes the new ones among some idempotent calls in one transaction, and stores their answers. `make` may refuse some.
 */
const doOnce = async <C extends { idempotent: IdempotentCall }>(
  tx: Transaction,
  calls: readonly C[],
  attempted: Attempted<WriteResult>,
  now: Date,
  make: (tx: Transaction, fresh: readonly C[], now: Date) => Promise<readonly WriteResult[]>,
): Promise<WriteResult[]> => {
  const storedCalls = await load(
    tx,
    calls.map(({ idempotent }) => idempotent),
    now,
  );
  const conflicts = await replaceAnswersOfDeletedRows(
    tx,
    calls.map(({ idempotent }) => ({ call: idempotent, conflict: storedCalls.conflict(idempotent) })),
  );
  const earlierOutcomes = conflicts.map(
    (conflict, index): WriteResult | undefined => madeBefore(attempted, calls[index]!.idempotent, conflict) ?? conflict,
  );
  const fresh = calls.filter((_, index) => earlierOutcomes[index] === undefined);
  if (fresh.length === 0) return earlierOutcomes as WriteResult[];
  const results = await make(tx, fresh, now);
  const made = fresh.flatMap(({ idempotent: call }, index): (AnsweredCall & { result: WriteResult })[] => {
    const result = results[index]!;
    return 'output' in result ? [{ call, answer: call.encode(result.output), result }] : [];
  });
  if (made.length > 0) await save(tx, made, storedCalls, now);
  for (const { call, answer, result } of made) attempted.set(call, { result, answer });
  const done = results.values();
  return earlierOutcomes.map((earlier) => earlier ?? done.next().value!);
};

const isIdempotent = <C extends { idempotent: IdempotentCall | undefined }>(
  call: C,
): call is C & { idempotent: IdempotentCall } => call.idempotent !== undefined;

/**
 * Makes a group of calls in one transaction, and calls `onCommit` before its COMMIT. Either all are idempotent, or
 * none.
 * @throws the errors of `make` and of `Database.transaction`
 */
export const doTogether = <C extends { idempotent: IdempotentCall | undefined }>(
  db: Database,
  calls: readonly C[],
  { now, deadline, onCommit }: { now: () => Date; deadline: Deadline | undefined; onCommit: () => void },
  make: (tx: Transaction, calls: readonly C[], now: Date) => Promise<readonly WriteResult[]>,
): Promise<readonly WriteResult[]> => {
  const isOnce = calls.every(isIdempotent);
  const attempted: Attempted<WriteResult> = new Map();
  const work = async (tx: Transaction): Promise<readonly WriteResult[]> => {
    const results = await (isOnce ? doOnce(tx, calls, attempted, now(), make) : make(tx, calls, now()));
    onCommit();
    return results;
  };
  return retryingForeignKeys(() => db.transaction(work, deadline, { isIdempotent: isOnce }));
};

/** An answer as it is kept for repetitions: a secret is shown once. */
export const withoutSecret = <T extends { secret: string | null }>(output: T): T => ({ ...output, secret: null });

/**
 * Deletes by `once`. The same call, which waited for this one, finds nothing: only then is the answer there that it is to get.
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

/** Runs writes, each in its own transaction. An idempotent write is done once: its answer is stored with its effect. */
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
   * Runs `work`, which makes the output, in one transaction. A change also has `look`, which makes the output from
   * stored rows: repetitions are answered by it when the quota of the key for stored answers is used up. Publishing has
   * no `look`, since its answers are no larger than the records that it stores. `keep` makes what repetitions get of an
   * output that is not to be stored.
   * @throws IdempotentReplay for a repetition, AppError IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_MISMATCH, and the errors
   * of `work`, `look` and `Database.transaction`
   */
  do<Output extends object>(
    { deadline, idempotent }: Write,
    work: TransactionWork<Output>,
    {
      look,
      keep = (output) => output,
    }: { look?: TransactionWork<Output> | undefined; keep?: ((output: Output) => Output) | undefined } = {},
  ): Promise<Output> {
    if (!idempotent) return retryingForeignKeys(() => this.#db.transaction(work, deadline));
    const attempted: Attempted<Output> = new Map();
    const once = (): Promise<Output> =>
      this.#db.transaction(
        async (tx) => {
          const now = this.#now();
          const storedCalls = await load(tx, [idempotent], now);
          const [earlier] = await replaceAnswersOfDeletedRows(tx, [
            { call: idempotent, conflict: storedCalls.conflict(idempotent) },
          ]);
          const before = madeBefore(attempted, idempotent, earlier);
          if (before) return before;
          if (look && earlier instanceof IdempotentReplay && earlier.answer === NOT_KEPT) {
            throw new IdempotentReplay(idempotent.encode(await look(tx)));
          }
          if (earlier) throw earlier;
          const output = await work(tx);
          const answer = idempotent.encode(keep(output));
          // Also where rates are off: it bounds what is stored.
          const isKept = !look || (await mayKeepAnswer(tx, { userId: idempotent.userId, now }, sizeOf(answer)));
          const kept = isKept ? answer : NOT_KEPT;
          await save(tx, [{ call: idempotent, answer: kept }], storedCalls, now);
          attempted.set(idempotent, { result: output, answer: kept });
          return output;
        },
        deadline,
        { isIdempotent: true },
      );
    return this.inFlight(idempotent, () => retryingForeignKeys(once));
  }

  /**
   * Runs `work` unless the same call is under way in this process: then it refuses at once, without asking the
   * database.
   * @throws AppError IDEMPOTENCY_IN_PROGRESS
   */
  async inFlight<T>({ callHash, inputHash }: IdempotentCall, work: () => Promise<T>): Promise<T> {
    const name = callHash.toString('latin1');
    if (this.#running.has(name)) throw new AppError('IDEMPOTENCY_IN_PROGRESS', { retryAfter: RETRY_AFTER_S });
    this.#running.add(name);
    // Hashing a large input takes a while: it is done before anything is locked.
    inputHash();
    try {
      return await work();
    } finally {
      this.#running.delete(name);
    }
  }
}
