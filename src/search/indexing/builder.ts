import { ByteWriter, encodeBlock } from '../block.ts';
import type { SearchKind } from '../document.ts';
import { addGrams, gramOf, type GramSink, labelGram, NONE } from '../grams.ts';
import type { StoredText } from '../segment.ts';

/** Replaces the first character of a label; the second one is its number. */
const LABEL = NONE + 1;
const FIRST_SLOTS = 2 ** 12;

const hashOf = (first: number, second: number): number => {
  const mixed = Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b);
  return mixed ^ (mixed >>> 15);
};

/** Numbers grams in the order of their first occurrence, without building strings. */
class GramNumbers {
  readonly #firsts: number[] = [];
  readonly #seconds: number[] = [];
  readonly #labels = new Map<string, number>();
  /** A hash table of the numbers plus one. */
  #slots = new Uint32Array(FIRST_SLOTS);

  get length(): number {
    return this.#firsts.length;
  }

  of(first: number, second: number): number {
    const slot = this.#slotOf(first, second);
    const known = this.#slots[slot] as number;
    if (known > 0) return known - 1;
    this.#firsts.push(first);
    this.#seconds.push(second);
    this.#slots[slot] = this.length;
    if (this.length * 2 > this.#slots.length) this.#grow();
    return this.length - 1;
  }

  ofLabel(label: string): number {
    const known = this.#labels.get(label);
    if (known !== undefined) return known;
    const number = this.of(LABEL, this.#labels.size);
    this.#labels.set(label, number);
    return number;
  }

  /** Whether a gram has positions in documents. */
  hasPositions(number: number): boolean {
    return this.#seconds[number] !== NONE && this.#firsts[number] !== LABEL;
  }

  /** All grams as texts, by their numbers. */
  texts(): string[] {
    const labels = [...this.#labels.keys()];
    return this.#firsts.map((first, number) => {
      const second = this.#seconds[number] as number;
      return first === LABEL ? labelGram(labels[second] as string) : gramOf(first, second);
    });
  }

  /** The slot of a gram in the table, or the slot for it. */
  #slotOf(first: number, second: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(first, second) & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#slots[slot] as number) - 1;
      if (number < 0 || (this.#firsts[number] === first && this.#seconds[number] === second)) return slot;
    }
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (const [number, first] of this.#firsts.entries()) {
      this.#slots[this.#slotOf(first, this.#seconds[number] as number)] = number + 1;
    }
  }
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;
/** The rank of a UTF-16 unit in the order of UTF-8. */
const rankOf = (unit: number): number => (isSurrogate(unit) ? unit + 0x1_0000 : unit);

/** Compares texts by their bytes in UTF-8. */
const compareAsBytes = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rankOf(a.charCodeAt(index)) - rankOf(b.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
};

/**
 * Builds the postings of documents: all are counted first, then all are added in the same order. Millions exist, so
 * they are stored as numbers, in exactly the memory that they need.
 */
export class PostingBuilder {
  readonly #kind: SearchKind;
  readonly #grams = new GramNumbers();
  /** By the number of a gram: its posting count, the document of its last posting plus one, and its next place. */
  readonly #counts: number[] = [];
  readonly #lastDocs: number[] = [];
  readonly #nexts: number[] = [];
  #n = 0;
  /** The document and the position of each posting, gram by gram. */
  #docs = new Uint32Array();
  #positions = new Uint32Array();
  /** The current document. */
  #doc = 0;
  readonly #counting: GramSink = {
    add: (first, second) => this.#count(this.#grams.of(first, second)),
    addLabel: (label) => this.#count(this.#grams.ofLabel(label)),
  };
  readonly #adding: GramSink = {
    add: (first, second, position) => this.#add(this.#grams.of(first, second), position),
    addLabel: (label) => this.#add(this.#grams.ofLabel(label), 0),
  };

  constructor(kind: SearchKind) {
    this.#kind = kind;
  }

  count(doc: number, document: StoredText): void {
    this.#doc = doc;
    addGrams(this.#counting, document, this.#kind);
  }

  #count(gram: number): void {
    if (gram === this.#counts.length) {
      this.#counts.push(0);
      this.#lastDocs.push(0);
    }
    if (!this.#isNew(gram)) return;
    (this.#counts[gram] as number) += 1;
    this.#n += 1;
  }

  /** Whether an occurrence of a gram in the current document is a new posting. */
  #isNew(gram: number): boolean {
    if (this.#lastDocs[gram] === this.#doc + 1) return this.#grams.hasPositions(gram);
    this.#lastDocs[gram] = this.#doc + 1;
    return true;
  }

  /** Allocates memory after all postings were counted. */
  allocate(): void {
    this.#docs = new Uint32Array(this.#n);
    this.#positions = new Uint32Array(this.#n);
    let next = 0;
    for (const n of this.#counts) {
      this.#nexts.push(next);
      next += n;
    }
    this.#lastDocs.fill(0);
  }

  add(doc: number, document: StoredText): void {
    this.#doc = doc;
    addGrams(this.#adding, document, this.#kind);
  }

  #add(gram: number, position: number): void {
    if (!this.#isNew(gram)) return;
    const next = this.#nexts[gram] as number;
    this.#docs[next] = this.#doc;
    this.#positions[next] = position;
    this.#nexts[gram] = next + 1;
  }

  /** The posting list of each gram in a segment of `size` documents, sorted by the bytes of the grams. */
  *blocks(size: number): Generator<{ gram: string; data: Buffer }> {
    const sorted = [...this.#grams.texts().entries()].toSorted(([, a], [, b]) => compareAsBytes(a, b));
    for (const [number, gram] of sorted) yield { gram, data: this.#block(number, size) };
  }

  #block(gram: number, size: number): Buffer {
    const n = this.#counts[gram] as number;
    const end = this.#nexts[gram] as number;
    const docs = this.#docs.subarray(end - n, end);
    if (!this.#grams.hasPositions(gram)) return encodeBlock(size, docs);
    const own = new Uint32Array(n);
    const ends = new Uint32Array(n);
    const bytes = new ByteWriter(n * 2);
    let found = 0;
    for (let index = 0; index < n; index += 1) {
      const doc = docs[index] as number;
      if (index === 0 || docs[index - 1] !== doc) own[found++] = doc;
      const isMore = index + 1 < n && docs[index + 1] === doc;
      bytes.varint((this.#positions[end - n + index] as number) * 2 + Number(isMore));
      ends[found - 1] = bytes.length;
    }
    return encodeBlock(size, own.subarray(0, found), { bytes: bytes.written(), ends });
  }
}
