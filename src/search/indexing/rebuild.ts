import { currentTime } from '../../base/runtime.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type Bytes, listFromDb } from '../../db/values.ts';
import {
  beginGeneration,
  blocksOfDocuments,
  activateSegment,
  type Merged,
  mergeSegments,
  removeDocuments,
  replaceSegments,
} from './compact.ts';
import { type Document, KEY_BYTES, keyOf, labelsOf, millisecondsOf, type SearchKind } from '../document.ts';
import { searchKindsIn, segmentsIn, segmentState, tailIn } from '../entity.ts';
import type { SegmentWriter } from './segment-writer.ts';
import { keyAt, readSegments, type Segment, type Sizes } from '../segment.ts';
import { SearchStore } from '../store.ts';

const RECORDS_AT_ONCE = 1024;

export interface IndexedRecord {
  id: Bytes;
  createdAt: string;
  searchText: string;
  tagIds?: string;
  type?: string | null;
}

/**
 * The query of the record columns that documents are built from, without conditions. SQL: the ids of tags may come from
 * a subquery.
 */
export const selectRecords = ({ table, tagIds, typeColumn }: SearchKind): string => {
  const columns = ['id', 'created_at AS createdAt', 'search_text AS searchText'];
  if (tagIds !== undefined) columns.push(`${tagIds} AS tagIds`);
  if (typeColumn !== undefined) columns.push(`${typeColumn} AS type`);
  return `SELECT ${columns.join(', ')} FROM ${table}`;
};

export const documentOf = ({ hasTerms }: SearchKind, row: IndexedRecord): Document => ({
  key: keyOf(hasTerms ? millisecondsOf(row.createdAt) : 0, row.id),
  text: row.searchText,
  labels: labelsOf(row.type, listFromDb(row.tagIds ?? '')),
});

/** The records of a kind after this id, in the order of their ids. */
export const readRecords = (db: WorkloadPool, kind: SearchKind, after: Bytes): Promise<IndexedRecord[]> =>
  db.read<IndexedRecord>(`${selectRecords(kind)} WHERE id > ? ORDER BY id LIMIT ${RECORDS_AT_ONCE}`, [after]);

/**
 * Rebuilds the segments of a kind from its records, beside the service and beside searches, which use the old ones
 * until the end. Records that change meanwhile are in the tail or in segments made from it, and take precedence.
 * @throws Superseded if another process took the lease
 */
export const rebuild = async (
  db: WorkloadPool,
  store: SearchStore,
  kind: SearchKind,
  writer: SegmentWriter,
  { sizes, onIndexed }: { sizes: Sizes; onIndexed?: ((records: number) => void) | undefined },
): Promise<void> => {
  const before = new Set((await readSegments(db, kind)).map(({ id }) => id));
  const made: Segment[] = [];
  const make = async (documents: readonly Document[]): Promise<void> => {
    const sorted = documents.toSorted((a, b) => Buffer.compare(a.key, b.key));
    const keys = Buffer.concat(sorted.map(({ key }) => key));
    const id = await writer.begin(1, keys);
    await writer.addBlocks(id, blocksOfDocuments(kind, sorted));
    made.push(segmentOf(id, 1, keys));
    const inputs = made.filter(({ level }) => level === 1);
    if (inputs.length === sizes.fanout) {
      const merged = await mergeSegments(db, store, kind, writer, inputs);
      await writer.publish((tx) => replaceSegments(tx, merged, segmentState.building));
      made.splice(0, made.length, ...made.filter(({ level }) => level > 1), outputOf(merged));
    }
  };

  let pending: Document[] = [];
  let after: Bytes = Buffer.alloc(0);
  for (;;) {
    const records = await readRecords(db, kind, after);
    const last = records.at(-1)?.id;
    pending.push(...records.map((record) => documentOf(kind, record)));
    if (pending.length >= sizes.run * sizes.fanout || (!last && pending.length > 0)) {
      await make(pending);
      onIndexed?.(pending.length);
      pending = [];
    }
    if (!last) break;
    after = last;
  }
  await writer.publish(async (tx) => {
    await beginGeneration(tx, kind);
    // Rows of the tail may also represent records that were read here.
    await tailIn(tx).update({ kind: kind.code }, { replaces: true });
    const live = await readSegments(tx, kind);
    const newer = live.filter(({ id }) => !before.has(id));
    for (const segment of made) {
      await activateSegment(tx, segment.id);
      await removeDocuments(tx, segment, segmentState.live, await findAgain(new SearchStore(tx), segment, newer));
    }
    for (const { id } of live.filter((segment) => before.has(segment.id))) {
      await segmentsIn(tx).update({ id }, { state: segmentState.dead, touched: currentTime() });
    }
    await searchKindsIn(tx).update({ kind: kind.code }, { ready: true });
  });
};

const segmentOf = (id: number, level: number, keys: Uint8Array): Segment => {
  const size = keys.length / KEY_BYTES;
  return { id, level, size, removals: 0, firstKey: keyAt(keys, 0), lastKey: keyAt(keys, size - 1) };
};

const outputOf = ({ inputs, output }: Merged): Segment => {
  const [first] = inputs;
  const last = inputs.at(-1);
  return {
    id: output ?? 0,
    level: (first?.level ?? 0) + 1,
    size: inputs.reduce((n, { size }) => n + size, 0),
    removals: 0,
    firstKey: first?.firstKey ?? new Uint8Array(),
    lastKey: last?.lastKey ?? new Uint8Array(),
  };
};

/** The documents of a segment that other segments also contain. */
const findAgain = async (store: SearchStore, segment: Segment, others: readonly Segment[]): Promise<number[]> => {
  const found: number[] = [];
  for (const other of others) {
    const keys = await store.keys(
      other,
      Array.from({ length: other.size }, (_, doc) => doc),
    );
    const removed = new Set(await store.removed(other));
    const ranks = await store.ranks(
      segment,
      keys.filter((_, doc) => !removed.has(doc)),
    );
    found.push(...ranks.filter(({ isFound }) => isFound).map(({ doc }) => doc));
  }
  return [...new Set(found)];
};
