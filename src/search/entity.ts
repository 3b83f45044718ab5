import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm';
import { columnTypes } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import type { Bytes } from '../db/values.ts';
import { KEY_BYTES } from './document.ts';

/** The longest gram is a label: a name, `=`, and a value of 32 characters. */
const GRAM_BYTES = 255;

/** The index of a kind. */
interface KindRow {
  kind: number;
  /** Grows with each change of segments. */
  generation: number;
  /** Whether tail and segments together hold all records. */
  ready: boolean;
  /** The indexer that has the lease, and until when, in milliseconds. */
  holder: number;
  heldUntil: number;
}

/** A part of the index that never changes but for which of its documents count. */
export interface SegmentRow {
  id: number;
  kind: number;
  /** 0 for a segment of plain texts; n for grams that were merged n times. */
  level: number;
  state: number;
  size: number;
  /** How often documents of it were taken out. */
  removals: number;
  firstKey: Bytes;
  lastKey: Bytes;
  /** The writer that builds it, and the time in milliseconds of its last change of state or growth. */
  builder: number;
  touched: number;
}

export const segmentState = { building: 0, live: 1, dead: 2 } as const;

/** A change that is in no segment yet: a new record, or one that replaces its entry in the segments. */
interface TailRow {
  id: number;
  kind: number;
  replaces: boolean;
  docKey: Bytes;
  text: string;
  labels: string;
}

/** Some of the keys of a segment, joined and sorted. */
interface KeysRow {
  segment: number;
  chunk: number;
  data: Bytes;
}

/** The documents of a segment of level 0. */
interface TextsRow {
  segment: number;
  data: Bytes;
}

/** The documents of a segment that hold a gram. */
export interface BlockRow {
  segment: number;
  gram: Bytes;
  data: Bytes;
}

/** Documents that were taken out of a segment together. */
interface RemovalRow {
  segment: number;
  removal: number;
  docs: Bytes;
}

export const searchKindsIn = repositoryOf<KindRow>('SearchKind');
export const tailIn = repositoryOf<TailRow>('SearchTail');
export const segmentsIn = repositoryOf<SegmentRow>('SearchSegment');
export const segmentKeysIn = repositoryOf<KeysRow>('SearchKeys');
export const segmentTextsIn = repositoryOf<TextsRow>('SearchTexts');
export const removalsIn = repositoryOf<RemovalRow>('SearchRemoval');

/**
 * The tables of the search index. Records that changed wait in the tail, which each search reads; segments hold all
 * others, in the order of their keys: first a few hundred texts as they are, then, merged, for each gram a block with the
 * documents that hold it. See `Indexer` for how records move, and `SearchIndex` for how they are found.
 */
export const searchEntities = (engine: Engine): EntitySchema[] => {
  const isSqlite = engine === 'sqlite';
  const { longText, count, small, flag } = columnTypes(engine);
  const big = { type: isSqlite ? 'integer' : 'bigint' } as const;
  const blob = { type: isSqlite ? 'blob' : 'mediumblob' } as const;
  const key = (isSqlite
    ? { type: 'blob' }
    : { type: 'binary', length: KEY_BYTES }) satisfies EntitySchemaColumnOptions as EntitySchemaColumnOptions;
  const gram = (isSqlite
    ? { type: 'blob' }
    : { type: 'varbinary', length: GRAM_BYTES }) satisfies EntitySchemaColumnOptions as EntitySchemaColumnOptions;
  const primary = { primary: true } as const;
  const segment = { ...big, ...primary };
  return [
    new EntitySchema<KindRow>({
      name: 'SearchKind',
      tableName: 'search_kinds',
      columns: {
        kind: { ...small, ...primary },
        generation: big,
        ready: flag,
        holder: big,
        heldUntil: { ...big, name: 'held_until' },
      },
    }),
    new EntitySchema<TailRow>({
      name: 'SearchTail',
      tableName: 'search_tail',
      columns: {
        id: { ...big, ...primary, generated: 'increment' },
        kind: small,
        replaces: flag,
        docKey: { ...key, name: 'doc_key' },
        text: longText,
        labels: longText,
      },
    }),
    new EntitySchema<SegmentRow>({
      name: 'SearchSegment',
      tableName: 'search_segments',
      columns: {
        id: segment,
        kind: small,
        level: small,
        state: small,
        size: count,
        removals: count,
        firstKey: { ...key, name: 'first_key' },
        lastKey: { ...key, name: 'last_key' },
        builder: big,
        touched: big,
      },
      indices: [{ name: 'search_segments_kind', columns: ['kind', 'state'] }],
    }),
    new EntitySchema<KeysRow>({
      name: 'SearchKeys',
      tableName: 'search_keys',
      columns: { segment, chunk: { ...count, ...primary }, data: blob },
    }),
    new EntitySchema<TextsRow>({
      name: 'SearchTexts',
      tableName: 'search_texts',
      columns: { segment, data: blob },
    }),
    new EntitySchema<BlockRow>({
      name: 'SearchBlock',
      tableName: 'search_blocks',
      columns: { segment, gram: { ...gram, ...primary }, data: blob },
    }),
    new EntitySchema<RemovalRow>({
      name: 'SearchRemoval',
      tableName: 'search_removals',
      columns: { segment, removal: { ...count, ...primary }, docs: blob },
    }),
  ];
};
