import type { Transaction } from '../db/connection.ts';
import { insertInto, insertValues } from '../db/sql/write-rows.ts';
import { type Bytes, timeFromDb } from '../db/values.ts';

/** A set of records that are searched together. */
export interface SearchKind {
  /** Its number in the tables of the index. */
  code: number;
  table: string;
  /** Whether white space separates search terms. If not, a term may contain it, or match only at the beginning. */
  hasTerms: boolean;
  /** SQL of a record's tag ids, joined with commas, by which a search can filter; undefined for kinds without tags. */
  tagIds?: string;
  /** A column by whose values a search can filter. */
  typeColumn?: string;
}

/** A record as the index sees it. */
export interface Document {
  /** Its position in the sort order: see `keyOf`. */
  key: Uint8Array;
  /** The normalised text to search for terms. */
  text: string;
  /** The filters that it matches: see `typeLabel`, `tagLabel`. */
  labels: readonly string[];
}

const TIME_BYTES = 6;
/** The bytes of a key: six of the time, sixteen of the id. */
export const KEY_BYTES = TIME_BYTES + 16;

/** The key of a record. Its bytes sort like (created_at, id); users all have the time 0, so they sort by id. */
export const keyOf = (createdAt: number, id: Bytes): Buffer => {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeUIntBE(createdAt, 0, TIME_BYTES);
  key.set(id, TIME_BYTES);
  return key;
};

/** The lowest key of a time. */
export const firstKeyOf = (createdAt: number): Buffer => keyOf(createdAt, new Uint8Array(16));

export const idOfKey = (key: Uint8Array): Buffer => Buffer.from(key.subarray(TIME_BYTES));

/** The time of a key in milliseconds. */
export const timeOfKey = (key: Uint8Array): number =>
  Buffer.from(key.buffer, key.byteOffset, TIME_BYTES).readUIntBE(0, TIME_BYTES);

/** A stored time in milliseconds. */
export const millisecondsOf = (stored: string): number => Date.parse(timeFromDb(stored));

export const typeLabel = (type: string): string => `type=${type}`;
export const tagLabel = (tagId: number): string => `tag=${tagId}`;

/** The labels of a record: its type, if it has one, and its tags. */
export const labelsOf = (type: string | null | undefined, tagIds: readonly number[]): string[] => [
  ...(type === null || type === undefined ? [] : [typeLabel(type)]),
  ...tagIds.map(tagLabel),
];

const insertion = insertInto('search_tail', ['kind', 'replaces', 'doc_key', 'text', 'labels']);

/** Adds documents to the index. `replaces`: whether they all replace earlier documents of their records. */
export type EnqueueDocuments = (
  tx: Transaction,
  kind: SearchKind,
  documents: readonly Document[],
  replaces: boolean,
) => Promise<unknown>;

/**
 * Adds documents to the index, from the commit of this transaction on. If they replace earlier documents of their
 * records, the transaction must hold the locks on these records.
 */
export const enqueueDocuments: EnqueueDocuments = (tx, kind, documents, replaces) =>
  insertValues(
    tx,
    insertion,
    documents.map(({ key, text, labels }) => [kind.code, Number(replaces), key, text, labels.join('\n')]),
  );
