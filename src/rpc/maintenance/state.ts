import { withoutKeys } from '../../../contract/index.ts';
import { type Actor, record } from '../../auth/audit/log.ts';
import type { Reader } from '../../db/connection.ts';
import { maintenanceIn } from './entity.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';

/** The state of maintenance, while it is on. */
export interface MaintenanceState {
  /** UTC, ISO 8601. */
  since: string;
  /** The seconds after which callers try again. */
  retryAfter: number;
  /** The reason, for other operators. */
  note: string | null;
}

const NAME = 'writes';

/** The state of maintenance; undefined while writes are taken. */
export const readMaintenance = async (reader: Pick<Reader, 'manager'>): Promise<MaintenanceState | undefined> => {
  const row = await maintenanceIn(reader).findOneBy({ name: NAME });
  return row ? { since: row.since.toISOString(), retryAfter: row.retryAfter, note: row.note } : undefined;
};

/** Switches maintenance on for all instances, or changes its state, and records it in the audit log. */
export const beginMaintenance = (
  db: Pick<WorkloadPool, 'transaction'>,
  { retryAfter, note: given }: Omit<MaintenanceState, 'since'>,
  by: Actor,
): Promise<void> =>
  db.transaction(async (tx) => {
    const before = (await readMaintenance(tx)) ?? null;
    const note = given && withoutKeys(given);
    if (before?.retryAfter === retryAfter && before.note === note) return;
    await maintenanceIn(tx).delete({ name: NAME });
    await maintenanceIn(tx).insert({ name: NAME, since: before ? new Date(before.since) : by.now, retryAfter, note });
    await record(tx, by, { action: 'maintenance on', subject: 'the service', before, after: { retryAfter, note } });
  });

/** Switches maintenance off, and records it. Returns whether it was on. */
export const endMaintenance = (db: Pick<WorkloadPool, 'transaction'>, by: Actor): Promise<boolean> =>
  db.transaction(async (tx) => {
    const before = await readMaintenance(tx);
    if (!before) return false;
    await maintenanceIn(tx).delete({ name: NAME });
    await record(tx, by, { action: 'maintenance off', subject: 'the service', before });
    return true;
  });
