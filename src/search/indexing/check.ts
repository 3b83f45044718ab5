import type { Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { inList } from '../../db/sql/in-list.ts';
import { repositoryOf } from '../../db/manager.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';
import { enqueueDocuments, type SearchKind } from '../document.ts';
import { normalise } from '../text.ts';
import { Fingerprints, fingerprintOf } from './fingerprints.ts';
import { Indexer } from './indexer.ts';
import { documentOf, readRecords, type IndexedRecord, selectRecords } from './rebuild.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';

/** A record that searches do not find in its current form. */
export interface Unindexed {
  id: Bytes;
  /** Whether the index lacks the record completely. */
  isMissing: boolean;
}

/** How often a record is checked: it may change between the reads of the index and of the record. */
const ROUNDS = 3;
const READ_AT_ONCE = 256;

/** The number of records of all these kinds. */
export const countDocuments = async (db: WorkloadPool, kinds: readonly SearchKind[]): Promise<number> => {
  let n = 0;
  for (const { table } of kinds) n += await repositoryOf(table)(db).count();
  return n;
};

/** The row as this version would store it: earlier ones normalise some texts differently. */
const asWritten = (row: IndexedRecord): IndexedRecord => ({ ...row, searchText: normalise(row.searchText) });

/** The records among these that the index lacks or contains in another form. */
const compare = (kind: SearchKind, index: Fingerprints, rows: readonly IndexedRecord[]): Unindexed[] =>
  rows.flatMap((row) => {
    const due = asWritten(row);
    const document = documentOf(kind, due);
    const held = index.of(document);
    const isRight = held === fingerprintOf(kind, document) && due.searchText === row.searchText;
    return isRight ? [] : [{ id: row.id, isMissing: held === undefined }];
  });

const readById = (
  db: WorkloadPool | Transaction,
  kind: SearchKind,
  ids: readonly Bytes[],
): Promise<IndexedRecord[]> => {
  const { sql, parameters } = inList(ids);
  return db.read<IndexedRecord>(`${selectRecords(kind)} WHERE id IN (${sql}) ORDER BY id`, parameters);
};

/**
 * The records of a kind that the index lacks or contains in another form; none if the index is still being built. Safe
 * beside a service that writes. `onChecked` is called with the number of records checked since the last call.
 */
export const findUnindexed = async (
  db: WorkloadPool,
  kind: SearchKind,
  onChecked: (records: number) => void = () => {},
): Promise<Unindexed[]> => {
  const index = new Fingerprints(db, kind);
  if (!(await index.read())) return [];
  let suspects: Unindexed[] = [];
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await readRecords(db, kind, after);
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
    suspects.push(...compare(kind, index, rows));
    onChecked(rows.length);
  }
  for (let round = 1; round < ROUNDS && suspects.length > 0; round += 1) {
    if (!(await index.read())) return [];
    const left: Unindexed[] = [];
    for (let start = 0; start < suspects.length; start += READ_AT_ONCE) {
      const ids = suspects.slice(start, start + READ_AT_ONCE).map(({ id }) => id);
      left.push(...compare(kind, index, await readById(db, kind, ids)));
    }
    suspects = left;
  }
  return suspects;
};

/** Indexes the current texts of records of a kind, from the commit of this transaction on. */
export const indexAgain = async (tx: Transaction, kind: SearchKind, ids: readonly Bytes[]): Promise<void> => {
  // A separate statement locks them: a statement that has waited for a lock still reads the old values.
  await lockRows(tx, kind.table, ids);
  const rows = await readById(tx, kind, ids);
  const due = rows.map(asWritten);
  const recordsIn = repositoryOf<{ id: string; searchText: string }>(kind.table);
  for (const [place, row] of due.entries()) {
    if (row.searchText === rows[place]?.searchText) continue;
    await recordsIn(tx).update({ id: idFromBytes(row.id) }, { searchText: row.searchText });
  }
  await enqueueDocuments(
    tx,
    kind,
    due.map((row) => documentOf(kind, row)),
    true,
  );
};

/** Small, since calls that change these records wait for the locks. */
const RENEWED_AT_ONCE = 100;

/**
 * Stores and indexes the search texts of a kind as this version normalises them, if an earlier one did so differently.
 * Safe beside a running service. @throws the reason of the signal, between two transactions
 */
export const renormalise = async (
  db: WorkloadPool,
  kind: SearchKind,
  indexed: readonly SearchKind[],
  signal: AbortSignal,
): Promise<void> => {
  const indexer = new Indexer(db, indexed);
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await readRecords(db, kind, after);
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    const outdated = rows.filter(({ searchText }) => normalise(searchText) !== searchText).map(({ id }) => id);
    for (let start = 0; start < outdated.length; start += RENEWED_AT_ONCE) {
      signal.throwIfAborted();
      const ids = outdated.slice(start, start + RENEWED_AT_ONCE);
      await db.transaction((tx) => indexAgain(tx, kind, ids));
      // A long tail would keep searches from using the index.
      await indexer.work();
    }
  }
};
