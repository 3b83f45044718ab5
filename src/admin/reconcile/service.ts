import { type Actor, record } from '../../auth/audit/log.ts';
import type { Database } from '../../db/database.ts';
import { searchKinds } from '../../app/schema.ts';
import { countDocuments } from '../../search/indexing/check.ts';
import { checkCounters } from './counters.ts';
import { type ReconcileFinding, ReconcileFindings } from './finding.ts';
import { checkHidden } from './hidden.ts';
import { checkMergedTags, checkTagSlugs } from './merged-tags.ts';
import { checkTable, ownerTables, recordTables, sampleTable } from './rows.ts';
import { checkSearch } from './search.ts';
import { publishedKinds } from '../moderation/kinds.ts';

interface ReconcileOptions {
  /** Whether to correct differences. */
  fix: boolean;
  /** Called with the number of rows compared since the last call. */
  onCompared?: (rows: number) => void;
  /** The actor for the audit log; without one, no entry is written. */
  by?: Actor;
}

/** The number of rows that `reconcile` compares, except the few rows of `counters`. */
export const countRowsToCompare = async (db: Database): Promise<number> => {
  let n = await countDocuments(db, searchKinds);
  for (const { table } of [...recordTables(db.dialect), ...ownerTables]) n += await db.manager.count(table);
  return n;
};

/**
 * Compares redundant data: counters with the rows they count, columns with the rows and columns they repeat, the search
 * index with the records, and hidden records with shown ones. With `fix` it corrects the differences, and fills columns
 * that an older version left empty while it ran beside this one. Safe beside a running service: one statement reads
 * both sides of a comparison, which the service changes in one transaction, and a correction compares again under the
 * service's lock. Derived data is compared after its sources.
 */
export const reconcile = async (
  db: Database,
  { fix, onCompared = () => {}, by }: ReconcileOptions,
): Promise<ReconcileFinding[]> => {
  const findings = new ReconcileFindings();
  const check = async (tables: ReturnType<typeof recordTables>): Promise<void> => {
    for (const table of tables) {
      for await (const { differences, rows } of checkTable(db, table, fix)) {
        findings.note(differences);
        onCompared(rows);
      }
    }
  };
  findings.note(await checkHidden(db, fix));
  await check(recordTables(db.dialect));
  findings.note(await checkTagSlugs(db, publishedKinds, fix));
  findings.note(await checkMergedTags(db, publishedKinds, fix));
  await check([...ownerTables]);
  findings.note(await checkCounters(db, fix));
  for (const kind of searchKinds) findings.note(await checkSearch(db, kind, fix, onCompared));
  if (fix && findings.all.length > 0) {
    const after = Object.fromEntries(findings.all.map(({ field, total }) => [field, total]));
    await db.transaction((tx) => record(tx, by, { action: 'reconcile --fix', subject: 'what is stored twice', after }));
  }
  return findings.all;
};

/** Compares the newest rows of each table, in a time that does not depend on the number of rows. */
export const reconcileSample = async (db: Database): Promise<{ findings: ReconcileFinding[]; rows: number }> => {
  const findings = new ReconcileFindings();
  let compared = 0;
  for (const table of [...recordTables(db.dialect), ...ownerTables]) {
    const { differences, rows } = await sampleTable(db, table);
    findings.note(differences);
    compared += rows;
  }
  return { findings: findings.all, rows: compared };
};
