import { nextTurn } from '../../base/runtime.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { Block, BlockReader } from '../block.ts';
import { type Document, KEY_BYTES, type SearchKind } from '../document.ts';
import { searchKindsIn, tailIn } from '../entity.ts';
import { addGrams, gramOf, labelGram, NONE } from '../grams.ts';
import { keyAt, lowerBound, readSegments, type Segment, splitLabels, type StoredText } from '../segment.ts';
import { SearchStore } from '../store.ts';
import { readBlocks, readKeys } from './compact.ts';

// The index spreads a document over the blocks of all its grams. A sum of hashes is computed in one pass through the
// blocks, and again from the document itself. If the sums are equal, so are the contents, except in one case in 2³².

const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

const mix = (hash: number, value: number): number => Math.imul(hash ^ value, FNV_PRIME);

const hashOf = (gram: string): number => {
  let hash = FNV_OFFSET;
  for (let index = 0; index < gram.length; index += 1) hash = mix(hash, gram.charCodeAt(index));
  return hash;
};

/** The hash of a gram at a position, which is mixed in twice: otherwise, neighbours only differ in the lowest bits. */
const addend = (hash: number, position: number): number => mix(mix(hash, position + 1), hash >>> 15);

/** The fingerprint of a document of a kind, as if it were indexed. */
export const fingerprintOf = (kind: SearchKind, document: StoredText): number => {
  const seen = new Set<string>();
  let sum = 0;
  const addOnce = (gram: string): void => {
    if (seen.has(gram)) return;
    seen.add(gram);
    sum = (sum + hashOf(gram)) | 0;
  };
  const add = (first: number, second: number, position: number): void => {
    const gram = gramOf(first, second);
    if (second === NONE) addOnce(gram);
    else sum = (sum + addend(hashOf(gram), position)) | 0;
  };
  addGrams({ add, addLabel: (label) => addOnce(labelGram(label)) }, document, kind);
  return sum >>> 0;
};

/** The fingerprints of the documents of a segment, from its blocks. */
const sumBlocks = async (db: WorkloadPool, segment: Segment): Promise<Uint32Array> => {
  const sums = new Uint32Array(segment.size);
  const positions: number[] = [];
  let blocks = 0;
  for await (const { gram, data } of readBlocks(db, segment)) {
    const hash = hashOf(Buffer.from(gram).toString());
    const block = new Block(data);
    const reader = block.hasPositions ? new BlockReader(block) : undefined;
    for (const doc of block.docs()) {
      let sum = sums[doc] ?? 0;
      if (reader) {
        reader.read(doc, positions);
        for (const position of positions) sum += addend(hash, position);
      } else sum += hash;
      sums[doc] = sum;
    }
    if (++blocks % 16 === 0) await nextTurn();
  }
  return sums;
};

interface Summed {
  keys: Uint8Array;
  sums: Uint32Array;
}

/** The fingerprints of all documents that the index of a kind contains at one moment. */
export class Fingerprints {
  readonly #db: WorkloadPool;
  readonly #kind: SearchKind;
  /** The sums so far, which stay valid since segments never change. */
  readonly #known = new Map<number, Summed>();
  #segments: { summed: Summed; removed: Set<number> }[] = [];
  #tail = new Map<string, number>();

  constructor(db: WorkloadPool, kind: SearchKind) {
    this.#db = db;
    this.#kind = kind;
  }

  /** Reads the current index. Returns whether it is complete: one that is still being built is not. */
  async read(): Promise<boolean> {
    const { code } = this.#kind;
    const state = await searchKindsIn(this.#db).findOneBy({ kind: code });
    if (!state?.ready) return false;
    // The tail is read before the segments, since its rows may become segments meanwhile.
    const tail = await tailIn(this.#db).find({ where: { kind: code }, order: { id: 'ASC' } });
    this.#tail = new Map(
      tail.map(({ docKey: key, text, labels }) => [
        Buffer.from(key).toString('latin1'),
        fingerprintOf(this.#kind, { text, labels: splitLabels(labels) }),
      ]),
    );
    const store = new SearchStore(this.#db);
    const segments = await readSegments(this.#db, this.#kind);
    this.#segments = [];
    for (const segment of segments) {
      const summed = this.#known.get(segment.id) ?? (await this.#sum(store, segment));
      this.#known.set(segment.id, summed);
      this.#segments.push({ summed, removed: new Set(await store.removed(segment)) });
    }
    return true;
  }

  async #sum(store: SearchStore, segment: Segment): Promise<Summed> {
    const keys = await readKeys(this.#db, segment);
    if (segment.level > 0) return { keys, sums: await sumBlocks(this.#db, segment) };
    const { documents } = await store.texts(segment);
    return { keys, sums: Uint32Array.from(documents, (document) => fingerprintOf(this.#kind, document)) };
  }

  /** The fingerprint of the document with this key in the index; undefined if it is missing. */
  of({ key }: Pick<Document, 'key'>): number | undefined {
    const waiting = this.#tail.get(Buffer.from(key).toString('latin1'));
    if (waiting !== undefined) return waiting;
    for (const { summed, removed } of this.#segments) {
      const doc = lowerBound(summed.keys, key, false);
      const isFound = doc * KEY_BYTES < summed.keys.length && Buffer.compare(keyAt(summed.keys, doc), key) === 0;
      if (isFound && !removed.has(doc)) return summed.sums[doc];
    }
    return undefined;
  }
}
