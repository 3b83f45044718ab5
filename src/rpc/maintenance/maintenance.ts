import type { Logger } from 'pino';
import { performance, sleep } from '../../base/runtime.ts';
import type { WritePause } from '../../db/batching/write-buffer.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { AppError } from '../../base/errors.ts';
import { withoutKeys } from '../../../contract/index.ts';
import { type Actor, record } from '../../auth/audit/log.ts';
import type { Reader } from '../../db/connection.ts';
import { maintenanceIn } from './entity.ts';

/** The state of maintenance while it is on. */
export interface MaintenanceState {
  /** UTC, ISO 8601. */
  since: string;
  /** The seconds after which callers try again. */
  retryAfter: number;
  /** The reason, for other operators. */
  note: string | null;
}

const NAME = 'writes';

/** Reads the state of maintenance; undefined while the service takes writes. */
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

/** The time for which a state is valid: every instance learns of a change within a second. */
const VALID_MS = 500;
/** The longest wait for the state: a silent database must delay neither calls nor the end of the service. */
const PATIENCE_MS = 250;
/** The seconds of `Retry-After` from an instance that is read-only by its settings. */
const READ_ONLY_RETRY_AFTER_S = 60;

/**
 * Tells whether the service takes writes. It takes none while the operator has it in maintenance, which all instances
 * learn from the database, and none on an instance that is read-only by its settings.
 */
export class Maintenance implements WritePause {
  readonly #db: Pick<WorkloadPool, 'manager'>;
  readonly #log: Logger;
  /** Whether this instance is read-only by its settings. */
  readonly isPermanent: boolean;
  /** The seconds after which callers try again; undefined while writes are taken. */
  #retryAfter: number | undefined;
  #validUntil = 0;
  #reading: Promise<void> | undefined;

  constructor(db: Pick<WorkloadPool, 'manager'>, log: Logger, isPermanent: boolean) {
    this.#db = db;
    this.#log = log;
    this.isPermanent = isPermanent;
    if (!isPermanent) return;
    this.#retryAfter = READ_ONLY_RETRY_AFTER_S;
    this.#validUntil = Infinity;
  }

  /** Refuses a write during maintenance. Waits for the state if it is unknown. @throws AppError MAINTENANCE */
  assertWritable(): void | Promise<void> {
    if (performance.now() > this.#validUntil) return this.#refresh().then(() => this.#assert());
    this.#assert();
  }

  /** Whether the service refuses writes now. Never rejects. */
  async isOn(): Promise<boolean> {
    if (performance.now() > this.#validUntil) await this.#refresh();
    return this.#retryAfter !== undefined;
  }

  #assert(): void {
    if (this.#retryAfter !== undefined) throw new AppError('MAINTENANCE', { retryAfter: this.#retryAfter });
  }

  /** Reads the state; concurrent callers share the read. A late result serves later checks. Never rejects. */
  async #refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await Promise.race([this.#reading, sleep(PATIENCE_MS, undefined, { ref: false })]);
    // While a read hangs, all checks use the last state.
    this.#validUntil = Math.max(this.#validUntil, performance.now() + VALID_MS);
  }

  async #read(): Promise<void> {
    try {
      const state = await readMaintenance(this.#db);
      if ((state === undefined) !== (this.#retryAfter === undefined)) {
        this.#log.info(
          { retryAfter: state?.retryAfter },
          state ? 'maintenance: no writes are taken' : 'maintenance is over: writes are taken',
        );
      }
      this.#retryAfter = state?.retryAfter;
    } catch {
      // The last state stays valid: a database that does not answer refuses the write by itself.
    }
    this.#validUntil = performance.now() + VALID_MS;
  }
}
