import { In, LessThan } from 'typeorm';
import { errorOf, excerpt, FAILED_CALL_HOURS, MAX_FAILED_CALLS } from '../../../contract/index.ts';
import type { AppError } from '../../base/errors.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import { padded } from '../../db/sql/in-list.ts';
import { insertMissing } from '../../db/sql/write-rows.ts';
import { sweepRows } from '../../db/sweep.ts';
import { storedIdToBytes, timeToDb } from '../../db/values.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type FailedCall, failedCallsIn } from '../entity.ts';
import { existingKeyIds } from './store.ts';

const HOUR_MS = 3_600_000;
/** The most faults stored of a call, and the most characters of each path: unknown members may have long names. */
const MAX_FAULTS = 5;
const MAX_PATH = 100;

/** A failure in its stored form. */
export const failedCallOf = (
  operation: string,
  requestId: string,
  { reason, details }: AppError,
  at: Date,
): FailedCall => ({
  requestId,
  operation,
  at: at.toISOString(),
  status: errorOf(reason).status,
  reason,
  issues: (details.issues ?? [])
    .slice(0, MAX_FAULTS)
    .map(({ path, code }) => ({ path: excerpt(path, MAX_PATH), code })),
});

/** The last of some calls, in order of their times. */
export const lastOf = (calls: readonly FailedCall[]): readonly FailedCall[] =>
  calls.length <= MAX_FAILED_CALLS ? calls : calls.toSorted((a, b) => (a.at < b.at ? -1 : 1)).slice(-MAX_FAILED_CALLS);

/** Adds calls to the stored calls of their keys. Skips keys that were deleted meanwhile. */
export const addFailedCalls = async (
  tx: Transaction,
  calls: ReadonlyMap<string, readonly FailedCall[]>,
  now: Date,
): Promise<void> => {
  // In the order of the primary key, so that transactions do not deadlock.
  const known = await existingKeyIds(tx, [...calls.keys()]);
  const ids = [...known].toSorted();
  if (ids.length === 0) return;
  // An existing row is locked before it is read: two instances may add to it at once.
  await insertMissing(
    tx,
    'failed_calls',
    ['key_id', 'updated_at', 'calls'],
    ids.map((id) => [storedIdToBytes(id), timeToDb(now), '[]']),
  );
  const rows = await failedCallsIn(tx).find({ where: { keyId: In(padded(ids)) }, ...tx.dialect.lockingRows });
  for (const { keyId, calls: stored } of rows) {
    await failedCallsIn(tx).update(
      { keyId },
      { calls: lastOf([...stored, ...(calls.get(keyId) ?? [])]), updatedAt: now },
    );
  }
};

const endOf = (now: Date): Date => new Date(now.getTime() - FAILED_CALL_HOURS * HOUR_MS);

/** The last failed calls with a key, the latest first. */
export const readFailedCalls = async (
  reader: Pick<Reader, 'manager'>,
  keyId: string,
  now: Date,
): Promise<FailedCall[]> => {
  const row = await failedCallsIn(reader).findOne({ where: { keyId } });
  const end = endOf(now).toISOString();
  return (row?.calls ?? []).filter(({ at }) => at >= end).toSorted((a, b) => (a.at < b.at ? 1 : -1));
};

/** Deletes some rows of keys without recent failed calls. Returns whether more rows may remain. */
export const sweepFailedCalls = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> =>
  sweepRows(db, failedCallsIn, () => ({ updatedAt: LessThan(endOf(now)) }));
