import { LessThan } from 'typeorm';
import { randomBytes } from '../../base/runtime.ts';
import { IDEMPOTENCY_HOURS } from '../../../contract/index.ts';
import { type Reader, RetryTransaction, type Transaction } from '../../db/connection.ts';
import type { Dialect } from '../../db/dialect.ts';
import { chunksOf, padded, placeholders } from '../../db/sql/in-list.ts';
import { memoizeBySize, memoize } from '../../db/sql/memoize.ts';
import { sweepFound } from '../../db/sweep.ts';
import { type Bytes, storedIdToBytes, timeToDb } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { idempotencyRecordsIn, type IdempotencyRow } from './entity.ts';
import { type IdempotentCall, IdempotentReplay } from './call.ts';

const HOUR_MS = 3_600_000;

/** Records from before this time have expired. */
const oldest = (now: Date): Date => new Date(now.getTime() - IDEMPOTENCY_HOURS * HOUR_MS);

// SQL: each idempotent call loads and saves its record.
const reading = memoizeBySize(
  (calls) => `SELECT call_hash AS callHash, input_hash AS inputHash, answer, created_at < ? AS expired
  FROM idempotency_records WHERE call_hash IN (${placeholders(calls)})`,
);
const removal = memoizeBySize(
  (calls) => `DELETE FROM idempotency_records WHERE call_hash IN (${placeholders(calls)}) AND created_at < ?`,
);
const insertion = memoize(({ insertIgnore }: Dialect) =>
  memoizeBySize(
    (rows) =>
      `${insertIgnore} INTO idempotency_records (created_at, call_hash, input_hash, answer, user_id)
      VALUES ${Array<string>(rows).fill('(?, ?, ?, ?, ?)').join(', ')}`,
  ),
);

const nameOf = (hash: Bytes): string => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1');

type StoredRow = Pick<IdempotencyRow, 'callHash' | 'inputHash' | 'answer'> & { expired: number };

/** The stored records of some calls. */
export interface StoredCalls {
  /** The stored answer of a call, or the error of a key that was used for another input; undefined for a new call. */
  conflict: (call: IdempotentCall) => IdempotentReplay | AppError | undefined;
  /** Whether there are records that have expired. */
  isStale: boolean;
}

/** Loads the records of some calls. It has to be the first step of their transaction. */
export const load = async (reader: Reader, calls: readonly IdempotentCall[], now: Date): Promise<StoredCalls> => {
  const hashes = padded(calls.map(({ callHash }) => callHash));
  const rows = await reader.read<StoredRow>(reading(hashes.length), [timeToDb(oldest(now)), ...hashes]);
  const found = new Map(rows.filter(({ expired }) => expired === 0).map((row) => [nameOf(row.callHash), row]));
  return {
    isStale: found.size < rows.length,
    conflict: ({ callHash, inputHash }) => {
      const row = found.get(nameOf(callHash));
      if (!row) return undefined;
      return inputHash().equals(row.inputHash)
        ? new IdempotentReplay(row.answer)
        : new AppError('IDEMPOTENCY_MISMATCH');
    },
  };
};

/** A call with its answer, or with `NOT_KEPT`. */
export interface AnsweredCall {
  call: IdempotentCall;
  answer: string;
}

/**
 * Saves calls as the last step of their transaction. A second caller, in any process, waits here for the first to end;
 * if that one has made the call, the transaction is rolled back and run again, and finds the record.
 * @throws RetryTransaction
 */
export const save = async (
  tx: Transaction,
  made: readonly AnsweredCall[],
  { isStale }: StoredCalls,
  now: Date,
): Promise<void> => {
  if (isStale) {
    const hashes = padded(made.map(({ call }) => call.callHash));
    await tx.execute(removal(hashes.length), [...hashes, timeToDb(oldest(now))]);
  }
  const time = timeToDb(now);
  const insert = insertion(tx.dialect);
  // In one order, so that transactions do not deadlock.
  const inOrder = made.toSorted((a, b) => Buffer.compare(a.call.callHash, b.call.callHash));
  for (const chunk of chunksOf(inOrder)) {
    const values = chunk.flatMap(({ call, answer }) => [
      time,
      call.callHash,
      call.inputHash(),
      answer,
      storedIdToBytes(call.userId),
    ]);
    if ((await tx.execute(insert(chunk.length), values)) < chunk.length) throw new RetryTransaction();
  }
};

const HASH_BYTES = 32;

/** Probes whether writes work: inserts a record that no call has, and removes it in the same transaction. */
export const probeWrite = async (tx: Transaction, now: Date): Promise<void> => {
  const callHash = randomBytes(HASH_BYTES);
  await idempotencyRecordsIn(tx).insert({ createdAt: now, callHash, inputHash: callHash, answer: '' });
  await idempotencyRecordsIn(tx).delete({ callHash });
};

/** The records removed in one transaction: few, since each may hold an answer of megabytes. */
export const SWEPT_AT_ONCE = 64;

/** Removes some expired records, the oldest first. Returns whether there may be more. */
export const sweepRecords = (
  db: Pick<Reader, 'manager'> & { transaction: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T> },
  now: Date,
): Promise<boolean> =>
  sweepFound(
    db,
    (take) =>
      idempotencyRecordsIn(db).find({
        select: { createdAt: true, callHash: true },
        where: { createdAt: LessThan(oldest(now)) },
        order: { createdAt: 'ASC' },
        take,
      }),
    (tx, rows) => {
      const hashes = padded(rows.map(({ callHash }) => callHash));
      return tx.execute(removal(hashes.length), [...hashes, timeToDb(oldest(now))]);
    },
    SWEPT_AT_ONCE,
  );
