import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm';
import { columnTypes } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import type { Bytes } from '../db/values.ts';
import { KEY_BYTES } from './document.ts';

/** The longest gram is a label: a name, `=`, and a value of 32 characters. */
const GRAM_BYTES = 255;

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
}

export const segmentState = { building: 0, live: 1, dead: 2 } as const;

/** A change that is in no segment yet: a new record, or one that replaces its entry in the segments. */
interface TailRow {
  kind: number;
  replaces: boolean;
  docKey: Bytes;
  text: string;
  labels: string;
}

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
    new EntitySchema({
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
    new EntitySchema<TailRow & { id: number }>({
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
      } as never,
      indices: [{ name: 'search_segments_kind', columns: ['kind', 'state'] }],
    }),
    new EntitySchema({
      name: 'SearchKeys',
      tableName: 'search_keys',
      columns: { segment, chunk: { ...count, ...primary }, data: blob },
    }),
    new EntitySchema({
      name: 'SearchTexts',
      tableName: 'search_texts',
      columns: { segment, data: blob },
    }),
    new EntitySchema({
      name: 'SearchBlock',
      tableName: 'search_blocks',
      columns: { segment, gram: { ...gram, ...primary }, data: blob },
    }),
    new EntitySchema({
      name: 'SearchRemoval',
      tableName: 'search_removals',
      columns: { segment, removal: { ...count, ...primary }, docs: blob },
    }),
  ];
};
