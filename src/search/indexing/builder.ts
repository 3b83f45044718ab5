import { ByteWriter, encodeBlock } from '../block.ts';
import type { SearchKind } from '../document.ts';
import { addGrams } from '../grams.ts';
import type { StoredText } from '../store.ts';

interface Gram {
  text: string;
  /** Whether it is told where it stands in a document. */
  hasPositions: boolean;
  /** How many postings it has. */
  n: number;
  /** The document of the last posting. */
  lastDoc: number;
  /** Where its next posting goes. */
  next: number;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;
/** Among the units of UTF-16, in the order of UTF-8. */
const rankOf = (unit: number): number => (isSurrogate(unit) ? unit + 0x1_0000 : unit);

/** Compares texts as their bytes in UTF-8 compare. */
const compareAsBytes = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rankOf(a.charCodeAt(index)) - rankOf(b.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
};

/**
 * Makes the postings of documents: first all are counted, then all are added, in the same order. There are millions, so
 * they are kept as numbers, in as much memory as they need.
 */
export class PostingBuilder {
  readonly #kind: SearchKind;
  readonly #grams = new Map<string, Gram>();
  #n = 0;
  /** Of each posting, gram by gram, the document and the position. */
  #docs = new Uint32Array();
  #positions = new Uint32Array();

  constructor(kind: SearchKind) {
    this.#kind = kind;
  }

  count(doc: number, document: StoredText): void {
    const add = (text: string, position: number | undefined): void => {
      let gram = this.#grams.get(text);
      if (!gram) {
        gram = { text, hasPositions: position !== undefined, n: 0, lastDoc: -1, next: 0 };
        this.#grams.set(text, gram);
      }
      if (!isNew(gram, doc)) return;
      gram.lastDoc = doc;
      gram.n += 1;
      this.#n += 1;
    };
    addGrams({ add }, document, this.#kind);
  }

  /** Once all are counted. */
  allocate(): void {
    this.#docs = new Uint32Array(this.#n);
    this.#positions = new Uint32Array(this.#n);
    let next = 0;
    for (const gram of this.#grams.values()) {
      gram.next = next;
      gram.lastDoc = -1;
      next += gram.n;
    }
  }

  add(doc: number, document: StoredText): void {
    const add = (text: string, position = 0): void => {
      const gram = this.#grams.get(text) as Gram;
      if (!isNew(gram, doc)) return;
      gram.lastDoc = doc;
      this.#docs[gram.next] = doc;
      this.#positions[gram.next] = position;
      gram.next += 1;
    };
    addGrams({ add }, document, this.#kind);
  }

  /** What a segment of `size` says of each gram, in the order of their bytes. */
  *blocks(size: number): Generator<{ gram: string; data: Buffer }> {
    const sorted = [...this.#grams.values()].toSorted((a, b) => compareAsBytes(a.text, b.text));
    for (const gram of sorted) yield { gram: gram.text, data: this.#block(gram, size) };
  }

  #block({ hasPositions, next: end, n }: Gram, size: number): Buffer {
    const docs = this.#docs.subarray(end - n, end);
    if (!hasPositions) return encodeBlock(size, docs);
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

/** Whether a gram that occurs in a document is another posting. */
const isNew = ({ hasPositions, lastDoc }: Gram, doc: number): boolean => hasPositions || lastDoc !== doc;
