import { ByteWriter, encodeBlock } from '../block.ts';
import type { SearchKind } from '../document.ts';
import { addGrams, type GramSink } from '../grams.ts';
import type { StoredText } from '../store.ts';

interface Postings {
  docs: number[];
  /** As in a block. */
  positions: ByteWriter | undefined;
  /** Where the positions of each document end; the last one's are open. */
  ends: number[];
  /** The last position, not written yet, since another may follow. */
  pending: number;
}

/** Collects the postings of documents that come in the order of their numbers. */
export class PostingBuilder implements GramSink {
  readonly #postings = new Map<string, Postings>();
  readonly #kind: SearchKind;
  #doc = 0;

  constructor(kind: SearchKind) {
    this.#kind = kind;
  }

  addDocument(doc: number, document: StoredText): void {
    this.#doc = doc;
    addGrams(this, document, this.#kind);
  }

  add(gram: string, position: number | undefined): void {
    let postings = this.#postings.get(gram);
    if (!postings) {
      postings = { docs: [], positions: position === undefined ? undefined : new ByteWriter(8), ends: [], pending: -1 };
      this.#postings.set(gram, postings);
    }
    const { docs, positions, ends, pending } = postings;
    const isSame = docs.at(-1) === this.#doc;
    if (!isSame) docs.push(this.#doc);
    if (position === undefined) return;
    if (positions && pending !== -1) {
      positions.varint(pending * 2 + Number(isSame));
      if (!isSame) ends.push(positions.length);
    }
    postings.pending = position;
  }

  get grams(): string[] {
    return [...this.#postings.keys()];
  }

  /** The block of a gram of a segment of `size`. */
  block(gram: string, size: number): Buffer {
    const postings = this.#postings.get(gram);
    if (!postings?.positions) return encodeBlock(size, postings?.docs ?? []);
    const { docs, positions, ends, pending } = postings;
    if (pending !== -1) positions.varint(pending * 2);
    return encodeBlock(size, docs, { bytes: positions.written(), ends });
  }
}
