/** A byte array that grows as needed. */
export class ByteWriter {
  #bytes: Uint8Array;
  length = 0;

  constructor(capacity = 32) {
    this.#bytes = new Uint8Array(capacity);
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + more));
    grown.set(this.#bytes.subarray(0, this.length));
    this.#bytes = grown;
  }

  /** Writes a number from 0 to 2³¹ in groups of seven bits, lowest first. */
  varint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.length++] = rest;
  }

  /** The bytes written so far; valid until the next write. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }
}

/** Encodes rising numbers as varints of their differences. */
export const encodeRising = (numbers: ArrayLike<number>): Uint8Array => {
  const writer = new ByteWriter(numbers.length + 8);
  let last = 0;
  for (let index = 0; index < numbers.length; index += 1) {
    const number = numbers[index] ?? 0;
    writer.varint(number - last);
    last = number;
  }
  return writer.written();
};

/** Decodes the first `n` of a list of rising numbers. */
const decodeRising = (bytes: Uint8Array, n: number): Uint32Array => {
  const numbers = new Uint32Array(n);
  let offset = 0;
  let last = 0;
  for (let index = 0; index < n; index += 1) {
    let byte = bytes[offset++] ?? 0;
    let value = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      byte = bytes[offset++] ?? 0;
      value |= (byte & 0x7f) << shift;
    }
    last += value;
    numbers[index] = last;
  }
  return numbers;
};

/** The number of varints. */
const countVarints = (bytes: Uint8Array): number => bytes.reduce((n, byte) => (byte < 0x80 ? n + 1 : n), 0);

/** Decodes all of a list of rising numbers. */
export const decodeAllRising = (bytes: Uint8Array): Uint32Array => decodeRising(bytes, countVarints(bytes));

const BITMAP = 1;
const POSITIONS = 2;
const HEADER_BYTES = 9;
/** Documents between two entries of the offset table, which locates the positions of a document. */
const STRIDE = 32;

/**
 * Encodes the posting list of a gram in a segment of `size` documents: the documents that contain it, in rising order,
 * and for a pair its positions in each. `positions` contains a varint per position for each document: the position
 * doubled, plus one for all but the last. `ends` contains the end of each document's positions. The block consists of a
 * header, the documents as a bitmap or as varints, whichever is shorter, the offsets of the positions of each 32nd
 * document, and the positions.
 */
export const encodeBlock = (
  size: number,
  docs: ArrayLike<number>,
  positions?: { bytes: Uint8Array; ends: ArrayLike<number> },
): Buffer => {
  const rising = encodeRising(docs);
  const bitmapBytes = Math.ceil(size / 32) * 4;
  const isBitmap = rising.length > bitmapBytes;
  const listBytes = isBitmap ? bitmapBytes : rising.length;
  const skips = positions ? Math.floor((docs.length - 1) / STRIDE) : 0;
  const block = Buffer.alloc(HEADER_BYTES + listBytes + skips * 4 + (positions?.bytes.length ?? 0));
  block.writeUInt8((isBitmap ? BITMAP : 0) | (positions ? POSITIONS : 0), 0);
  block.writeUInt32LE(docs.length, 1);
  block.writeUInt32LE(listBytes, 5);
  if (isBitmap) {
    for (let index = 0; index < docs.length; index += 1) {
      const doc = docs[index] ?? 0;
      const at = HEADER_BYTES + (doc >>> 3);
      block[at] = (block[at] ?? 0) | (1 << (doc & 7));
    }
  } else block.set(rising, HEADER_BYTES);
  if (positions) {
    for (let skip = 1; skip <= skips; skip += 1) {
      block.writeUInt32LE(positions.ends[skip * STRIDE - 1] ?? 0, HEADER_BYTES + listBytes + (skip - 1) * 4);
    }
    block.set(positions.bytes, HEADER_BYTES + listBytes + skips * 4);
  }
  return block;
};

/** The number of set bits in a word of 32. */
const countBits = (word: number): number => {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const nibbles = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
};

/** The places of the set bits, at most `n`. */
export const docsOfWords = (words: Uint32Array, n: number): Uint32Array => {
  const docs = new Uint32Array(n);
  let found = 0;
  for (let index = 0; index < words.length; index += 1) {
    let word = words[index] ?? 0;
    while (word !== 0) {
      docs[found++] = (index << 5) + 31 - Math.clz32(word & -word);
      word &= word - 1;
    }
  }
  return docs.subarray(0, found);
};

/** The posting list of a gram in a segment; see `encodeBlock`. */
export class Block {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #listBytes: number;
  /** The number of documents that contain the gram. */
  readonly n: number;
  readonly isBitmap: boolean;
  readonly hasPositions: boolean;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.isBitmap = (this.#view.getUint8(0) & BITMAP) !== 0;
    this.hasPositions = (this.#view.getUint8(0) & POSITIONS) !== 0;
    this.n = this.#view.getUint32(1, true);
    this.#listBytes = this.#view.getUint32(5, true);
  }

  get byteLength(): number {
    return this.#bytes.length;
  }

  /** 32 bits of the bitmap. */
  word(index: number): number {
    return this.#view.getUint32(HEADER_BYTES + index * 4, true);
  }

  /** A copy of the bitmap. */
  words(): Uint32Array {
    const words = new Uint32Array(this.#listBytes / 4);
    for (let index = 0; index < words.length; index += 1) words[index] = this.word(index);
    return words;
  }

  docs(): Uint32Array {
    if (this.isBitmap) return docsOfWords(this.words(), this.n);
    return decodeRising(this.#bytes.subarray(HEADER_BYTES, HEADER_BYTES + this.#listBytes), this.n);
  }

  /** The candidates, in rising order, that this block contains. */
  intersect(candidates: Uint32Array): Uint32Array {
    const kept = new Uint32Array(Math.min(candidates.length, this.n));
    let n = 0;
    if (this.isBitmap) {
      for (const doc of candidates) if ((this.word(doc >>> 5) >>> (doc & 31)) & 1) kept[n++] = doc;
    } else {
      const docs = this.docs();
      let at = 0;
      for (const doc of candidates) {
        while (at < docs.length && (docs[at] ?? 0) < doc) at += 1;
        if (docs[at] === doc) kept[n++] = doc;
      }
    }
    return kept.subarray(0, n);
  }

  /** The encoded positions of all documents, one after another. */
  positions(): Uint8Array {
    return this.#bytes.subarray(HEADER_BYTES + this.#listBytes + this.#skips * 4);
  }

  /** The offset in `positions` of a document, and its index: at most 32 before the `index`th document. */
  skipTo(index: number): { index: number; offset: number } {
    const skip = Math.min(Math.floor(index / STRIDE), this.#skips);
    if (skip === 0) return { index: 0, offset: 0 };
    const at = HEADER_BYTES + this.#listBytes + (skip - 1) * 4;
    return { index: skip * STRIDE, offset: this.#view.getUint32(at, true) };
  }

  get #skips(): number {
    return this.hasPositions ? Math.floor((this.n - 1) / STRIDE) : 0;
  }
}

/** Reads the documents of a block with positions, forwards only. */
export class BlockReader {
  readonly #block: Block;
  readonly #bytes: Uint8Array;
  readonly #docs: Uint32Array | undefined;
  /** The index of the document whose positions come next. */
  #index = 0;
  #offset = 0;
  /** The extent to which documents were counted, in words of a bitmap or in documents. */
  #counted = 0;
  #before = 0;

  constructor(block: Block) {
    this.#block = block;
    this.#bytes = block.positions();
    this.#docs = block.isBitmap ? undefined : block.docs();
  }

  /** Reads the positions of a later document of the block into `positions`, and replaces its contents. */
  read(doc: number, positions: number[]): void {
    this.#seek(this.#rank(doc));
    const bytes = this.#bytes;
    let offset = this.#offset;
    positions.length = 0;
    for (let more = true; more;) {
      let byte = bytes[offset++] ?? 0;
      let value = byte & 0x7f;
      for (let shift = 7; byte > 0x7f; shift += 7) {
        byte = bytes[offset++] ?? 0;
        value |= (byte & 0x7f) << shift;
      }
      positions.push(value >>> 1);
      more = (value & 1) === 1;
    }
    this.#offset = offset;
    this.#index += 1;
  }

  /** The number of documents of the block before this one. */
  #rank(doc: number): number {
    let counted = this.#counted;
    if (this.#docs) {
      while ((this.#docs[counted] ?? doc) < doc) counted += 1;
      this.#counted = counted;
      return counted;
    }
    const word = doc >>> 5;
    while (counted < word) this.#before += countBits(this.#block.word(counted++));
    this.#counted = counted;
    return this.#before + countBits(this.#block.word(word) & ((1 << (doc & 31)) - 1));
  }

  #seek(index: number): void {
    if (index - this.#index >= STRIDE) {
      const near = this.#block.skipTo(index);
      this.#index = near.index;
      this.#offset = near.offset;
    }
    this.#offset = skipPositions(this.#bytes, this.#offset, index - this.#index);
    this.#index = index;
  }
}

/** The end of the positions of this many documents, starting at `offset`. */
export const skipPositions = (bytes: Uint8Array, offset: number, documents: number): number => {
  let at = offset;
  for (let left = documents; left > 0;) {
    // The lowest bit of a varint is in its first byte.
    const isLast = ((bytes[at] ?? 0) & 1) === 0;
    while ((bytes[at++] ?? 0) > 0x7f);
    if (isLast) left -= 1;
  }
  return at;
};
