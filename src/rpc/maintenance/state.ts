import { type Actor, record } from '../../audit/log.ts';
import type { Reader } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { timeFromDb, timeToDb } from '../../db/values.ts';
import { insertInto, insertValues } from '../../db/sql/insert.ts';

/** The state of maintenance, while it is on. */
export interface MaintenanceState {
  /** UTC, ISO 8601. */
  since: string;
  /** The seconds after which callers try again. */
  retryAfter: number;
  /** The reason, for other operators. */
  note: string | null;
}

interface Columns {
  since: string;
  retry_after: number;
  note: string | null;
}

const NAME = 'writes';
const insertion = insertInto('maintenance', ['name', 'since', 'retry_after', 'note']);

/** The state of maintenance; undefined while writes are taken. */
export const readMaintenance = async (reader: Pick<Reader, 'read'>): Promise<MaintenanceState | undefined> => {
  const [row] = await reader.read<Columns>('SELECT since, retry_after, note FROM maintenance WHERE name = ?', [NAME]);
  return row && { since: timeFromDb(row.since), retryAfter: row.retry_after, note: row.note };
};

/** Switches maintenance on for all instances, or changes its state, and records it in the audit log. */
export const beginMaintenance = (
  db: Pick<WorkloadPool, 'transaction'>,
  { retryAfter, note }: Omit<MaintenanceState, 'since'>,
  by: Actor,
): Promise<void> =>
  db.transaction(async (tx) => {
    const before = (await readMaintenance(tx)) ?? null;
    await tx.execute('DELETE FROM maintenance WHERE name = ?', [NAME]);
    await insertValues(tx, insertion, [[NAME, timeToDb(before ? new Date(before.since) : by.now), retryAfter, note]]);
    await record(tx, by, { action: 'maintenance on', subject: 'the service', before, after: { retryAfter, note } });
  });

/** Switches maintenance off, and records it. Returns whether it was on. */
export const endMaintenance = (db: Pick<WorkloadPool, 'transaction'>, by: Actor): Promise<boolean> =>
  db.transaction(async (tx) => {
    const before = await readMaintenance(tx);
    if (!before) return false;
    await tx.execute('DELETE FROM maintenance WHERE name = ?', [NAME]);
    await record(tx, by, { action: 'maintenance off', subject: 'the service', before });
    return true;
  });
