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

/** The figures of a database that were measured. */
export interface Figures {
  size?: DatabaseSize;
  pendingMigrations?: number;
  /** The time of the last backup, if one exists. */
  lastBackup?: Date | undefined;
  /** The number of tables of an SQLite file with damaged pages, once they were checked. */
  damagedTables?: number | undefined;
}

const countDamaged = (state: PageState | undefined): Figures => ({
  damagedTables: state && Object.keys(state.faults).length,
});

/** Measures the database from time to time; readers of its figures never wait. */
export class DatabaseFigures {
  readonly #db: Database;
  #figures: Figures = {};
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The last figures. If they are old, they are measured again in the background for the next reader. */
  get latest(): Figures {
    const now = performance.now();
    if (now - this.#renewedAt > RENEWED_AFTER_MS) {
      this.#renewedAt = now;
      void this.renew();
    }
    return this.#figures;
  }

  /** The lag of each replica, in milliseconds. */
  get replicaLags(): ReadonlyMap<string, number> {
    return this.#db.replicaLags;
  }

  /** Measures the figures that are available now; the others stay unchanged. Never rejects. */
  async renew(): Promise<void> {
    const db = this.#db;
    const deadline = new Deadline(TIMEOUT_MS);
    const take = async (measured: Promise<Figures>): Promise<void> => {
      try {
        Object.assign(this.#figures, await deadline.race(measured));
      } catch {
        // The health checks and the calls report an unavailable database.
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
