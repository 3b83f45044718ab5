import type { Logger } from 'pino';
import { performance } from '../../base/runtime.ts';
import { Deadline } from '../../base/deadline.ts';
import type { Reader } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { type PageState, readFact, storeFact } from './entity.ts';

const HOUR_MS = 3_600_000;
/** The local hours in which pages are checked. If the service does not run then, it checks them at another time. */
const NIGHT = { from: 1, to: 5 };
const NIGHTLY_MS = 20 * HOUR_MS;
const LATEST_MS = 44 * HOUR_MS;
/** After this time, a part ends with its current table. */
const PART_MS = 10_000;
/** A table that takes longer is only checked by `doctor --deep`. */
const TABLE_MS = 600_000;

const NAME = 'pages';

/** The results of the nightly checks so far; undefined before the first. */
export const readPageState = async (reader: Pick<Reader, 'manager'>): Promise<PageState | undefined> =>
  (await readFact(reader, NAME))?.value;

const isDue = (last: Date | undefined, now: Date): boolean => {
  if (!last) return true;
  const ageMs = now.getTime() - last.getTime();
  const isNight = now.getHours() >= NIGHT.from && now.getHours() < NIGHT.to;
  return ageMs >= (isNight ? NIGHTLY_MS : LATEST_MS);
};

/** Checks the pages of some tables of an SQLite file each night, in turn, and stores and logs damage. */
export const checkPagesNightly = async (db: Database, now: Date, log: Logger, partMs = PART_MS): Promise<false> => {
  const { background, pageFaults } = db;
  if (!pageFaults) return false;
  const known = await readFact(background, NAME);
  if (!isDue(known?.changedAt, now)) return false;
  const began = performance.now();
  const tables = await background.read<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
  );
  const names = tables.map(({ name }) => name);
  const next = known?.value.next ?? '';
  const left = names.filter((name) => name >= next);
  const faults = Object.fromEntries(Object.entries(known?.value.faults ?? {}).filter(([name]) => names.includes(name)));
  for (let table = left.shift(); table !== undefined; table = left.shift()) {
    const found = await faultsOf(db, table, log);
    if (found.length === 0) delete faults[table];
    else {
      faults[table] = found.join('; ');
      log.error({ table, faults: found }, 'the file of the database is damaged');
    }
    if (performance.now() - began >= partMs) break;
  }
  const [first = null] = left;
  const completedAt = first === null ? now.toISOString() : (known?.value.completedAt ?? null);
  const value: PageState = { next: first, completedAt, faults };
  await background.transaction((tx) => storeFact(tx, { name: NAME, value, changedAt: now }));
  return false;
};

/** The faults of a table; none if it cannot be checked now, which is logged. */
const faultsOf = async ({ pageFaults }: Database, table: string, log: Logger): Promise<string[]> => {
  const deadline = new Deadline(TABLE_MS);
  try {
    return (await pageFaults?.(deadline, table)) ?? [];
  } catch (error) {
    log.warn({ err: error, table }, 'the pages of a table could not be checked');
    return [];
  } finally {
    deadline.close();
  }
};
