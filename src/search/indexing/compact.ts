import { In, type UpdateResult } from 'typeorm';
import { currentTime, nextTurn } from '../../base/runtime.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Bytes } from '../../db/values.ts';
import { Block, encodeRising } from '../block.ts';
import { PostingBuilder } from './builder.ts';
import { KEY_BYTES, type SearchKind } from '../document.ts';
import { type BlockRow, removalsIn, searchKindsIn, segmentKeysIn, segmentsIn, segmentState } from '../entity.ts';
import { DROPPED, mergeBlocks } from './merge.ts';
import { type NewBlock, type SegmentWriter, Superseded } from './segment-writer.ts';
import { keyAt, readRemoved, readTexts, type Segment, type StoredText } from '../segment.ts';
import type { SearchStore } from '../store.ts';

const BLOCKS_AT_ONCE = 128;
const DOCUMENTS_AT_ONCE = 32;
const KEYS_AT_ONCE = 4096;

/** Segments to be replaced by one, and the new places of their documents. */
export interface Merged {
  inputs: readonly Segment[];
  /** For each input, the new numbers of its documents. */
  numbers: readonly Uint32Array[];
  /** Undefined if no documents remain. */
  output: number | undefined;
}

interface Order {
  /** Sorted and concatenated. */
  keys: Uint8Array;
  numbers: Uint32Array[];
  /** For each new number, the input and the number in it. */
  origins: { input: Uint8Array; doc: Uint32Array };
}

/** The keys of a segment, sorted and concatenated. */
export const readKeys = async (reader: Reader, { id }: Segment): Promise<Uint8Array> => {
  const rows = await segmentKeysIn(reader).find({ where: { segment: id }, order: { chunk: 'ASC' } });
  return Buffer.concat(rows.map(({ data }) => data));
};

/** The documents of segments in the order of their keys, without removed ones. */
const orderDocuments = async (reader: Reader, store: SearchStore, inputs: readonly Segment[]): Promise<Order> => {
  const keysOf: Uint8Array[] = [];
  const numbers: Uint32Array[] = [];
  for (const input of inputs) {
    keysOf.push(await readKeys(reader, input));
    const removed = new Uint32Array(input.size);
    for (const doc of await store.removed(input)) removed[doc] = DROPPED;
    numbers.push(removed);
  }
  const most = inputs.reduce((n, { size }) => n + size, 0);
  const keys = new Uint8Array(most * KEY_BYTES);
  const origins = { input: new Uint8Array(most), doc: new Uint32Array(most) };
  const heads = inputs.map(() => 0);
  const headKey = (input: number): Uint8Array | undefined => {
    const { [input]: head = 0 } = heads;
    return head < (inputs[input]?.size ?? 0) ? keyAt(keysOf[input] ?? keys, head) : undefined;
  };
  let n = 0;
  for (let steps = 1; ; steps += 1) {
    const [first, second] = inputs
      .map((_, input) => ({ input, key: headKey(input) }))
      .filter((head): head is { input: number; key: Uint8Array } => head.key !== undefined)
      .toSorted((a, b) => Buffer.compare(a.key, b.key));
    if (!first) break;
    const { input } = first;
    // Segments mostly do not overlap, so that long runs of documents come from one segment.
    const isNext = (key: Uint8Array): boolean => !second || Buffer.compare(key, second.key) <= 0;
    for (let key = headKey(input); key && isNext(key); key = headKey(input)) {
      const { [input]: doc = 0 } = heads;
      heads[input] = doc + 1;
      const renumbered = numbers[input];
      if (renumbered && renumbered[doc] !== DROPPED) {
        renumbered[doc] = n;
        keys.set(key, n * KEY_BYTES);
        origins.input[n] = input;
        origins.doc[n] = doc;
        n += 1;
      }
      if (n % KEYS_AT_ONCE === 0) await nextTurn();
    }
    if (steps % KEYS_AT_ONCE === 0) await nextTurn();
  }
  return { keys: keys.subarray(0, n * KEY_BYTES), numbers, origins };
};

/** The blocks of documents, which are numbered in the given order. */
export async function* blocksOfDocuments(kind: SearchKind, documents: readonly StoredText[]): AsyncGenerator<NewBlock> {
  const builder = new PostingBuilder(kind);
  for (const [doc, document] of documents.entries()) {
    builder.count(doc, document);
    if (doc % DOCUMENTS_AT_ONCE === 0) await nextTurn();
  }
  builder.allocate();
  for (const [doc, document] of documents.entries()) {
    builder.add(doc, document);
    if (doc % DOCUMENTS_AT_ONCE === 0) await nextTurn();
  }
  yield* builder.blocks(documents.length);
}

type StoredBlock = Pick<BlockRow, 'gram' | 'data'>;

/** All blocks of a segment, by their grams. SQL: merges use it to read all of the index. */
export async function* readBlocks(reader: Reader, { id }: Segment): AsyncGenerator<StoredBlock> {
  let last = Buffer.alloc(0);
  for (;;) {
    const rows = await reader.read<StoredBlock>(
      `SELECT gram, data FROM search_blocks WHERE segment = ? AND gram > ? ORDER BY gram LIMIT ${BLOCKS_AT_ONCE}`,
      [id, last],
    );
    yield* rows;
    const end = rows.at(-1);
    if (!end || rows.length < BLOCKS_AT_ONCE) return;
    last = Buffer.from(end.gram);
  }
}

/** Merges the blocks of several segments into those of one. */
async function* mergedBlocks(
  reader: Reader,
  inputs: readonly Segment[],
  { keys, numbers }: Order,
): AsyncGenerator<NewBlock> {
  const size = keys.length / KEY_BYTES;
  const streams = inputs.map((input) => readBlocks(reader, input));
  const heads = await Promise.all(
    streams.map(async (stream) => (await stream.next()).value as StoredBlock | undefined),
  );
  for (;;) {
    let least: Bytes | undefined;
    for (const head of heads) if (head && (!least || Buffer.compare(head.gram, least) < 0)) least = head.gram;
    if (!least) return;
    const same: { block: Block; numbers: Uint32Array }[] = [];
    for (const [input, head] of heads.entries()) {
      const own = numbers[input];
      if (!head || !own || Buffer.compare(head.gram, least) !== 0) continue;
      same.push({ block: new Block(head.data), numbers: own });
      heads[input] = (await streams[input]?.next())?.value as StoredBlock | undefined;
    }
    const data = mergeBlocks(same, size);
    if (data) yield { gram: Buffer.from(least).toString(), data };
    await nextTurn();
  }
}

/** Writes a segment, by default of the next level, that merges these segments of one level. @throws Superseded */
export const mergeSegments = async (
  reader: Reader,
  store: SearchStore,
  kind: SearchKind,
  writer: SegmentWriter,
  inputs: readonly Segment[],
  level = (inputs[0]?.level ?? 0) + 1,
): Promise<Merged> => {
  const order = await orderDocuments(reader, store, inputs);
  const { keys, numbers, origins } = order;
  if (keys.length === 0) return { inputs, numbers, output: undefined };
  const output = await writer.begin(level, keys);
  if (inputs.every((input) => input.level > 0)) await writer.addBlocks(output, mergedBlocks(reader, inputs, order));
  else {
    // Texts are read only once: the merged segment contains none.
    const texts: StoredText[][] = [];
    for (const input of inputs) texts.push(await readTexts(reader, input));
    const documents = Array.from(
      origins.doc.subarray(0, keys.length / KEY_BYTES),
      (doc, index) => texts[origins.input[index] ?? 0]?.[doc] ?? { text: '', labels: [] },
    );
    await writer.addBlocks(output, blocksOfDocuments(kind, documents));
  }
  return { inputs, numbers, output };
};

/** Removes documents from a segment from the next generation on. @throws Superseded if the segment was changed */
export const removeDocuments = async (
  tx: Transaction,
  segment: Pick<Segment, 'id' | 'removals'>,
  state: number,
  docs: readonly number[],
): Promise<void> => {
  if (docs.length === 0) return;
  const removal = segment.removals + 1;
  const { id, removals } = segment;
  const { affected } = await segmentsIn(tx).update({ id, removals, state }, { removals: removal });
  if (affected === 0) throw new Superseded();
  const removed = Buffer.from(encodeRising(docs.toSorted((a, b) => a - b)));
  await removalsIn(tx).insert({ segment: id, removal, docs: removed });
};

/** Begins a new generation. Each change of segments starts with this, since it locks the kind. */
export const beginGeneration = (tx: Transaction, kind: SearchKind): Promise<UpdateResult> =>
  searchKindsIn(tx).increment({ kind: kind.code }, 'generation', 1);

/** Makes searches use a built segment. @throws Superseded if it was abandoned, and perhaps deleted, meanwhile */
export const activateSegment = async (tx: Transaction, segment: number): Promise<void> => {
  const which = { id: segment, state: segmentState.building };
  const { affected } = await segmentsIn(tx).update(which, { state: segmentState.live });
  if (affected === 0) throw new Superseded();
};

/** Replaces segments with this `state` by the merged one. @throws Superseded if one no longer has the state */
export const replaceSegments = async (
  tx: Transaction,
  { inputs, numbers, output }: Merged,
  state: number,
): Promise<void> => {
  const ids = inputs.map(({ id }) => id);
  const rows = await segmentsIn(tx).find({ where: { id: In(ids) }, ...tx.dialect.lockingRows });
  const retired = await segmentsIn(tx).update(
    { id: In(ids), state },
    { state: segmentState.dead, touched: currentTime() },
  );
  if (retired.affected !== ids.length) throw new Superseded();
  if (output === undefined) return;
  if (state === segmentState.live) await activateSegment(tx, output);
  // Documents that were removed while the segment was being written.
  const removed: number[] = [];
  for (const [index, input] of inputs.entries()) {
    const removals = rows.find(({ id }) => id === input.id)?.removals ?? 0;
    if (removals === input.removals) continue;
    for (const doc of await readRemoved(tx, { ...input, removals })) {
      const number = numbers[index]?.[doc] ?? DROPPED;
      if (number !== DROPPED) removed.push(number);
    }
  }
  await removeDocuments(tx, { id: output, removals: 0 }, state, removed);
};
