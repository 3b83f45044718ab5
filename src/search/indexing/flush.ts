import { In } from 'typeorm';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { padded } from '../../db/sql/in-list.ts';
import type { Bytes } from '../../db/values.ts';
import type { Transaction } from '../../db/connection.ts';
import { beginGeneration, removeDocuments } from './compact.ts';
import { type Document, enqueueDocuments, type SearchKind } from '../document.ts';
import { searchKindsIn, segmentState, tailIn } from '../entity.ts';
import { insertTexts, Superseded } from './segment-writer.ts';
import { defaultSizes, readSegments, type Segment, splitLabels } from '../segment.ts';
import type { SearchStore } from '../store.ts';

const DELETED_AT_ONCE = 512;

/** Finds replaced records in the segments. */
const findReplaced = async (
  store: SearchStore,
  segments: readonly Segment[],
  keys: readonly Bytes[],
): Promise<Map<Segment, number[]>> => {
  const found = new Map<Segment, number[]>();
  for (const segment of segments) {
    const there = (await store.ranks(segment, keys)).filter(({ isFound }) => isFound);
    if (there.length === 0) continue;
    const removed = new Set(await store.removed(segment));
    const docs = there.map(({ doc }) => doc).filter((doc) => !removed.has(doc));
    if (docs.length > 0) found.set(segment, docs);
  }
  return found;
};

/**
 * Moves up to `most` rows of the tail into a segment of level 0, or none if fewer than `least` exist. Returns whether
 * it moved any.
 * @throws Superseded if another process did
 */
export const flushTail = async (
  db: WorkloadPool,
  store: SearchStore,
  kind: SearchKind,
  most: number,
  least = most,
): Promise<boolean> => {
  const now = await searchKindsIn(db).findOneBy({ kind: kind.code });
  const segments = await readSegments(db, kind);
  const tail = await tailIn(db).find({ where: { kind: kind.code }, order: { id: 'ASC' }, take: most });
  if (tail.length < least) return false;
  const latest = new Map(tail.map((row) => [Buffer.from(row.docKey).toString('latin1'), row]));
  const documents = [...latest.values()].toSorted((a, b) => Buffer.compare(a.docKey, b.docKey));
  const replaced = await findReplaced(
    store,
    segments,
    // In this batch, a row that replaces nothing may precede one that does.
    documents.filter(({ replaces }) => replaces).map((row) => row.docKey),
  );
  await db.transaction(async (tx) => {
    const which = { kind: kind.code, generation: now?.generation ?? 0 };
    const { affected } = await searchKindsIn(tx).increment(which, 'generation', 1);
    if (affected === 0) throw new Superseded();
    await insertTexts(
      tx,
      kind,
      documents.map(({ docKey: key, text, labels }) => ({ key, text, labels: splitLabels(labels) })),
    );
    for (const [stale, docs] of replaced) await removeDocuments(tx, stale, segmentState.live, docs);
    let deleted = 0;
    for (let start = 0; start < tail.length; start += DELETED_AT_ONCE) {
      const ids = padded(tail.slice(start, start + DELETED_AT_ONCE).map(({ id }) => id));
      deleted += (await tailIn(tx).delete({ id: In(ids) })).affected ?? 0;
    }
    if (deleted !== tail.length) throw new Superseded();
  });
  return true;
};

const byKey = (a: Document, b: Document): number => Buffer.compare(a.key, b.key);

/**
 * Adds documents of new records to the index, from the commit of this transaction on, like `enqueueDocuments`. Many
 * documents become segments at once: in the tail, they would be written twice, read and deleted. It locks the segments
 * of the kind until the transaction ends, so call it late, and once for each kind.
 */
export const addDocuments = async (
  tx: Transaction,
  kind: SearchKind,
  documents: readonly Document[],
  { run } = defaultSizes,
): Promise<void> => {
  // Small segments would stay small after merging, and searches look at each one.
  if (documents.length < run / 2) {
    await enqueueDocuments(tx, kind, documents, false);
    return;
  }
  await beginGeneration(tx, kind);
  const sorted = documents.toSorted(byKey);
  const size = Math.ceil(sorted.length / Math.ceil(sorted.length / run));
  for (let start = 0; start < sorted.length; start += size) {
    await insertTexts(tx, kind, sorted.slice(start, start + size));
  }
};
