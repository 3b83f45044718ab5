import { LessThanOrEqual } from 'typeorm';
import type { Reader } from '../db/connection.ts';
import type { Bytes } from '../db/values.ts';
import { decodeAllRising } from './block.ts';
import { type Document, KEY_BYTES, type SearchKind } from './document.ts';
import { removalsIn, type SegmentRow, segmentsIn, segmentState, segmentTextsIn } from './entity.ts';

/** How long replaced data that searches read is kept; a search that took half as long may have missed some. */
export const GRACE_MS = 60_000;

/** The maximum sizes of the index's parts. */
export interface Sizes {
  /** Rows of the tail that form a segment of level 0. */
  run: number;
  /** Segments of a level that form one of the next. */
  fanout: number;
  /** How long replaced segments are kept for searches that read them. */
  graceMs: number;
}

export const defaultSizes: Sizes = { run: 512, fanout: 16, graceMs: GRACE_MS };

/** Keys per chunk: a chunk is stored and read as one row. */
export const CHUNK_KEYS = 128;

/** A live segment. */
export type Segment = Pick<SegmentRow, 'id' | 'level' | 'size' | 'removals' | 'firstKey' | 'lastKey'>;

/** The documents of a segment of level 0. */
export type StoredText = Omit<Document, 'key'>;

export const splitLabels = (labels: string): string[] => (labels === '' ? [] : labels.split('\n'));

/** A copy of bytes from a driver: the driver's buffer may be a slice of a larger one, which would stay in memory. */
export const copyOf = (bytes: Bytes): Uint8Array => new Uint8Array(bytes);

/** The live segments of a kind. */
export const readSegments = async (reader: Reader, kind: SearchKind): Promise<Segment[]> => {
  const rows = await segmentsIn(reader).findBy({ kind: kind.code, state: segmentState.live });
  return rows.map((row) => ({ ...row, firstKey: copyOf(row.firstKey), lastKey: copyOf(row.lastKey) }));
};

/** The documents of a segment of level 0. */
export const readTexts = async (reader: Reader, { id }: Segment): Promise<StoredText[]> => {
  const row = await segmentTextsIn(reader).findOneBy({ segment: id });
  return row ? decodeTexts(row.data) : [];
};

/** The documents that were removed from a segment, in rising order. */
export const readRemoved = async (reader: Reader, { id, removals }: Segment): Promise<Uint32Array> => {
  const rows = await removalsIn(reader).findBy({ segment: id, removal: LessThanOrEqual(removals) });
  return Uint32Array.from(new Set(rows.flatMap(({ docs }) => [...decodeAllRising(docs)]))).toSorted();
};

export const keyAt = (keys: Uint8Array, index: number): Uint8Array =>
  keys.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES);

/** The number of sorted keys that are less than this one, or also equal to it if `orEqual`. */
export const lowerBound = (keys: Uint8Array, key: Uint8Array, orEqual: boolean): number => {
  let low = 0;
  let high = keys.length / KEY_BYTES;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = Buffer.compare(keyAt(keys, middle), key);
    if (order < 0 || (orEqual && order === 0)) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** The texts of a segment of level 0, also concatenated into one text for fast searching. */
export class Texts {
  readonly documents: readonly StoredText[];
  /** All texts, separated by a character that no term contains. */
  readonly joined: string;
  /** The start of each text in `joined`, and its length at the end. */
  readonly starts: Uint32Array;

  constructor(documents: readonly StoredText[]) {
    this.documents = documents;
    this.joined = documents.map(({ text }) => `${text}\0`).join('');
    this.starts = new Uint32Array(documents.length + 1);
    documents.forEach(({ text }, index) => (this.starts[index + 1] = (this.starts[index] ?? 0) + text.length + 1));
  }

  /** Its approximate size in memory, in bytes: both forms of the texts, with two bytes per character. */
  get byteLength(): number {
    return this.joined.length * 4;
  }
}

export const encodeTexts = (documents: readonly StoredText[]): Buffer =>
  Buffer.from(JSON.stringify(documents.map(toList)));

const toList = ({ text, labels }: StoredText): string[] => [text, ...labels];

const decodeTexts = (data: Bytes): StoredText[] =>
  (JSON.parse(Buffer.from(data).toString()) as [string, ...string[]][]).map(fromList);

const fromList = ([text, ...labels]: [string, ...string[]]): StoredText => ({ text, labels });
