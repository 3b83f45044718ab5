import { type Block, encodeBlock, skipPositions } from '../block.ts';

/** Represents a document that is not copied. */
export const DROPPED = 0xffff_ffff;

/** A block to merge, and the new number of each document of its segment. */
export interface MergeInput {
  block: Block;
  numbers: Uint32Array;
}

/**
 * The postings of several blocks, with the places of their positions in each block. It uses no objects, since millions
 * of postings exist. It is reused for the next gram, since memory outside the heap is freed late.
 */
class Postings {
  n = 0;
  isRising = true;
  docs = new Uint32Array();
  #inputs = new Uint8Array();
  #starts = new Uint32Array();
  #ends = new Uint32Array();
  #ordered = { docs: new Uint32Array(), ends: new Uint32Array() };

  /** Empties it, and ensures a capacity of `most`. */
  cleared(most: number): this {
    this.n = 0;
    this.isRising = true;
    if (this.docs.length < most) {
      const room = Math.max(most, this.docs.length * 2);
      this.docs = new Uint32Array(room);
      this.#inputs = new Uint8Array(room);
      this.#starts = new Uint32Array(room);
      this.#ends = new Uint32Array(room);
      this.#ordered = { docs: new Uint32Array(room), ends: new Uint32Array(room) };
    }
    return this;
  }

  add(doc: number, input: number, start: number, end: number): void {
    const index = this.n++;
    if (index > 0 && doc < (this.docs[index - 1] ?? 0)) this.isRising = false;
    this.docs[index] = doc;
    this.#inputs[index] = input;
    this.#starts[index] = start;
    this.#ends[index] = end;
  }

  /** The postings in this order: their documents, and their positions concatenated. Valid until it is cleared. */
  inOrder(order: Uint32Array | undefined, sources: readonly Uint8Array[]) {
    const at = (place: number): number => (order ? (order[place] ?? 0) : place);
    const docs = this.#ordered.docs.subarray(0, this.n);
    const ends = this.#ordered.ends.subarray(0, this.n);
    let length = 0;
    for (let place = 0; place < this.n; place += 1) {
      const index = at(place);
      docs[place] = this.docs[index] ?? 0;
      length += (this.#ends[index] ?? 0) - (this.#starts[index] ?? 0);
      ends[place] = length;
    }
    const bytes = new Uint8Array(length);
    let written = 0;
    for (let place = 0; place < this.n;) {
      const first = at(place);
      const { [first]: input } = this.#inputs;
      let { [first]: end } = this.#ends;
      // Adjacent parts of a source are copied together.
      for (place += 1; place < this.n; place += 1) {
        const next = at(place);
        if (this.#inputs[next] !== input || this.#starts[next] !== end) break;
        end = this.#ends[next];
      }
      const copied = sources[input ?? 0]?.subarray(this.#starts[first], end) ?? bytes.subarray(0, 0);
      bytes.set(copied, written);
      written += copied.length;
    }
    return { docs, positions: { bytes, ends } };
  }
}

const countPostings = (inputs: readonly MergeInput[]): number => inputs.reduce((n, { block }) => n + block.n, 0);

const mergeDocs = (inputs: readonly MergeInput[]): Uint32Array => {
  const docs = new Uint32Array(countPostings(inputs));
  let n = 0;
  for (const { block, numbers } of inputs) {
    for (const old of block.docs()) {
      const doc = numbers[old] ?? DROPPED;
      if (doc !== DROPPED) docs[n++] = doc;
    }
  }
  return docs.subarray(0, n).toSorted();
};

/** Shared, since merging blocks is synchronous. */
const merging = new Postings();

/**
 * Merges the blocks of a gram in several segments into one of a segment of `size`. Undefined if no documents remain.
 */
export const mergeBlocks = (inputs: readonly MergeInput[], size: number): Buffer | undefined => {
  if (!inputs.some(({ block }) => block.hasPositions)) {
    const docs = mergeDocs(inputs);
    return docs.length === 0 ? undefined : encodeBlock(size, docs);
  }
  const postings = merging.cleared(countPostings(inputs));
  const sources = inputs.map(({ block }) => block.positions());
  for (const [input, { block, numbers }] of inputs.entries()) {
    const { [input]: source = new Uint8Array() } = sources;
    let start = 0;
    for (const old of block.docs()) {
      const end = skipPositions(source, start, 1);
      const doc = numbers[old] ?? DROPPED;
      if (doc !== DROPPED) postings.add(doc, input, start, end);
      start = end;
    }
  }
  if (postings.n === 0) return undefined;
  // Segments mostly do not overlap.
  const order = postings.isRising
    ? undefined
    : Uint32Array.from({ length: postings.n }, (_, index) => index).toSorted(
        (a, b) => (postings.docs[a] ?? 0) - (postings.docs[b] ?? 0),
      );
  const { docs, positions } = postings.inOrder(order, sources);
  return encodeBlock(size, docs, positions);
};
