import { performance } from '../base/runtime.ts';
import { BACKUP, timeOfLast } from '../auth/audit/log.ts';
import type { DatabaseSize } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { Deadline } from '../base/deadline.ts';
import type { PageState } from './deployment/entity.ts';
import { readPageState } from './deployment/pages.ts';

/** The age at which figures are measured again. */
const RENEWED_AFTER_MS = 30_000;
const TIMEOUT_MS = 5000;

/** Figures of a database, as far as it was measured. */
export interface Figures {
  size?: DatabaseSize;
  pendingMigrations?: number;
  /** The time of the last backup, where there was one. */
  lastBackup?: Date | undefined;
  /** The tables of an SQLite file whose pages are damaged, once they were checked. */
  damagedTables?: number | undefined;
}

const countDamaged = (state: PageState | undefined): Figures => ({
  damagedTables: state && Object.keys(state.faults).length,
});

/** Measures the database now and then, and never keeps the reader of its figures waiting. */
export class DatabaseFigures {
  readonly #db: Database;
  #figures: Figures = {};
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The last figures. Old ones are measured again in the background, for the next reader. */
  get latest(): Figures {
    const now = performance.now();
    if (now - this.#renewedAt > RENEWED_AFTER_MS) {
      this.#renewedAt = now;
      void this.renew();
    }
    return this.#figures;
  }

  /** How far each replica lags, in milliseconds. */
  get replicaLags(): ReadonlyMap<string, number> {
    return this.#db.replicaLags;
  }

  /** Measures what can be measured now; the rest stays as it was. Never rejects. */
  async renew(): Promise<void> {
    const db = this.#db;
    const deadline = new Deadline(TIMEOUT_MS);
    const take = async (measured: Promise<Figures>): Promise<void> => {
      try {
        Object.assign(this.#figures, await deadline.race(measured));
      } catch {
        // The health checks and the calls tell of an unavailable database.
      }
    };
    await Promise.all([
      take(db.size(deadline).then((size) => ({ size }))),
      take(db.pendingMigrations(deadline).then(({ length }) => ({ pendingMigrations: length }))),
      ...(db.pageFaults ? [take(readPageState(db.background.within(deadline)).then(countDamaged))] : []),
      take(timeOfLast(db.background.within(deadline), BACKUP).then((lastBackup) => ({ lastBackup }))),
    ]);
    deadline.close();
  }
}
