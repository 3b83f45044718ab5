import { type EntitySchema, LessThan } from 'typeorm';
import { randomBytes } from '../../base/runtime.ts';
import { IDEMPOTENCY_HOURS } from '../../../contract/index.ts';
import { type Reader, RetryTransaction, type Transaction } from '../../db/connection.ts';
import type { Dialect, Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';
import { chunksOf, inList, padded, partsOf, placeholders } from '../../db/sql/in-list.ts';
import { memoizeBySize, memoize } from '../../base/cache.ts';
import {
  column,
  entityOf,
  nullable,
  picked,
  primary,
  type RowOf,
  selected,
  type StoredOf,
} from '../../db/sql/table.ts';
import { sweepFound } from '../../db/sweep.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes, timeToDb } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { type IdempotentCall, IdempotentReplay, NOT_KEPT } from './call.ts';

const HOUR_MS = 3_600_000;

/**
 * The answer of an idempotent call. No other table refers to it, so that it can expire by itself. Rows are stored in
 * the order of time: an order by random hashes would write to another page each time.
 */
const idempotencyColumns = {
  createdAt: primary(column.time),
  callHash: primary(column.hash),
  inputHash: column.hash,
  answer: column.longText,
  /** The user who made the call; null if an instance of an earlier version stored it. */
  userId: nullable(column.id),
};

export type IdempotencyRow = RowOf<typeof idempotencyColumns>;

export const idempotencyRecordsIn = repositoryOf<IdempotencyRow>('IdempotencyRecord');

export const idempotencyEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, {
    name: 'IdempotencyRecord',
    tableName: 'idempotency_records',
    columns: idempotencyColumns,
    indices: [{ name: 'idempotency_records_call', columns: ['callHash'], unique: true }],
  });

/** Records from before this time have expired. */
const oldest = (now: Date): Date => new Date(now.getTime() - IDEMPOTENCY_HOURS * HOUR_MS);

const storedColumns = picked(idempotencyColumns, 'callHash', 'inputHash', 'answer');

// SQL: each idempotent call loads and saves its record.
const reading = memoizeBySize(
  (calls) => `SELECT ${selected(storedColumns, 'r')}, created_at < ? AS expired
  FROM idempotency_records r WHERE call_hash IN (${placeholders(calls)})`,
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

type StoredRow = StoredOf<typeof storedColumns> & { expired: number };

/** The stored answer of a call, or the reason for its refusal; undefined for a new call. */
export type Conflict = IdempotentReplay | AppError | undefined;

/** The stored records of some calls. */
export interface StoredCalls {
  /** The conflict of each call. */
  conflicts: readonly Conflict[];
  /** Whether expired records were found. */
  isStale: boolean;
}

/** Loads the records of some calls, which show rows of one table. This must be the first step of their transaction. */
export const load = async (tx: Transaction, calls: readonly IdempotentCall[], now: Date): Promise<StoredCalls> => {
  const hashes = padded(calls.map(({ callHash }) => callHash));
  const rows = await tx.read<StoredRow>(reading(hashes.length), [timeToDb(oldest(now)), ...hashes]);
  const found = new Map(rows.filter(({ expired }) => expired === 0).map((row) => [nameOf(row.callHash), row]));
  const stored = calls.map(({ callHash, inputHash }): Conflict => {
    const row = found.get(nameOf(callHash));
    if (!row) return undefined;
    return inputHash().equals(row.inputHash) ? new IdempotentReplay(row.answer) : new AppError('IDEMPOTENCY_MISMATCH');
  });
  const conflicts = await replaceAnswersOfDeletedRows(tx, calls, stored);
  return { conflicts, isStale: found.size < rows.length };
};

/** Replaces stored answers by errors if a row that they show is hidden or deleted: it must not be shown again. */
const replaceAnswersOfDeletedRows = async (
  tx: Transaction,
  calls: readonly IdempotentCall[],
  conflicts: readonly Conflict[],
): Promise<readonly Conflict[]> => {
  const shown = calls.map(({ shown: rows }, index) => {
    const conflict = conflicts[index];
    const isAnswer = conflict instanceof IdempotentReplay && conflict.answer !== NOT_KEPT;
    return rows && isAnswer ? rows.idsIn(conflict.answer) : [];
  });
  const ids = new Set(shown.flat());
  const table = calls.find((call) => call.shown)?.shown?.table;
  if (table === undefined || ids.size === 0) return conflicts;
  const present = new Set(await readPresent(tx, table, ids));
  const missing = [...ids].filter((id) => !present.has(id));
  if (missing.length > 0) {
    // Shards commit one after the other, so the row may still appear: a locking read waits for it.
    for (const id of await readPresent(tx, table, missing, tx.dialect.forUpdate)) present.add(id);
  }
  return calls.map((call, index) =>
    call.shown && shown[index]?.some((id) => !present.has(id)) ? new AppError(call.shown.gone) : conflicts[index],
  );
};

/** SQL: each repetition of a call waits for this query. */
const readPresent = async (tx: Transaction, table: string, ids: Iterable<string>, lock = ''): Promise<string[]> => {
  const present: string[] = [];
  const keys = [...ids].map(idToBytes).filter((key) => key !== undefined);
  for (const part of partsOf(keys)) {
    const { sql, parameters } = inList(part);
    const rows = await tx.read<{ id: Bytes }>(`SELECT id FROM ${table} WHERE id IN (${sql}) ${lock}`, parameters);
    present.push(...rows.map(({ id }) => idFromBytes(id)));
  }
  return present;
};

/** A call with its answer, or with `NOT_KEPT`. */
export interface AnsweredCall {
  call: IdempotentCall;
  answer: string;
}

/**
 * Saves calls as the last step of their transaction. A second caller, in any process, waits here for the first to end;
 * if the first has executed the call, the second's transaction is rolled back and run again, and finds the record.
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
  // A fixed order prevents deadlocks between transactions.
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

/** Checks whether writes work: inserts a record that no call has, and removes it in the same transaction. */
export const probeWrite = async (tx: Transaction, now: Date): Promise<void> => {
  const callHash = randomBytes(HASH_BYTES);
  await idempotencyRecordsIn(tx).insert({ createdAt: now, callHash, inputHash: callHash, answer: '' });
  await idempotencyRecordsIn(tx).delete({ callHash });
};

/** The most records removed in one transaction: few, since each may contain an answer of megabytes. */
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
