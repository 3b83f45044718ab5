import type { EntitySchema } from 'typeorm';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import { column, entityOf, optioned, primary, type RowOf } from '../db/sql/table.ts';
import { KEY_BYTES } from './document.ts';

/** The longest gram is a label: a name, `=`, and a value of 32 characters. */
const GRAM_BYTES = 255;

/** The index of a kind. */
const kindColumns = {
  kind: primary(column.small),
  /** Increases with each change of segments. */
  generation: column.big,
  /** Whether the tail and the segments together contain all records. */
  ready: column.flag,
  /** The indexer that holds the lease, and until when, in milliseconds. */
  holder: column.big,
  heldUntil: column.big,
};

/** A part of the index. Only the set of its documents that count can change. */
const segmentColumns = {
  id: primary(column.big),
  kind: column.small,
  /** 0 for a segment of plain texts; n for grams after n merges. */
  level: column.small,
  state: column.small,
  size: column.count,
  /** How often documents were removed from it. */
  removals: column.count,
  firstKey: column.bytes(KEY_BYTES),
  lastKey: column.bytes(KEY_BYTES),
  /** The writer that builds it, and the time in milliseconds of its last change of state or growth. */
  builder: column.big,
  touched: column.big,
};

export const segmentState = { building: 0, live: 1, dead: 2 } as const;

/** A change that no segment contains yet: a new record, or one that replaces its entry in the segments. */
const tailColumns = {
  id: optioned({ generated: 'increment' }, primary(column.big)),
  kind: column.small,
  replaces: column.flag,
  docKey: column.bytes(KEY_BYTES),
  text: column.longText,
  labels: column.longText,
};

const segment = primary(column.big);

/** Some of the keys of a segment, sorted and concatenated. */
const keysColumns = { segment, chunk: primary(column.count), data: column.blob };
/** The documents of a segment of level 0. */
const textsColumns = { segment, data: column.blob };
/** The documents of a segment that contain a gram. */
const blockColumns = { segment, gram: primary(column.atMostBytes(GRAM_BYTES)), data: column.blob };
/** Documents that were removed from a segment together. */
const removalColumns = { segment, removal: primary(column.count), docs: column.blob };

export type SegmentRow = RowOf<typeof segmentColumns>;
export type BlockRow = RowOf<typeof blockColumns>;

export const searchKindsIn = repositoryOf<RowOf<typeof kindColumns>>('SearchKind');
export const tailIn = repositoryOf<RowOf<typeof tailColumns>>('SearchTail');
export const segmentsIn = repositoryOf<SegmentRow>('SearchSegment');
export const segmentKeysIn = repositoryOf<RowOf<typeof keysColumns>>('SearchKeys');
export const segmentTextsIn = repositoryOf<RowOf<typeof textsColumns>>('SearchTexts');
export const removalsIn = repositoryOf<RowOf<typeof removalColumns>>('SearchRemoval');

/**
 * The tables of the search index. Changed records wait in the tail, which each search reads. Segments contain all
 * others, in the order of their keys: first a few hundred plain texts, then, after merging, a block for each gram with
 * the documents that contain it. See `Indexer` for how records move, and `SearchIndex` for how they are found.
 */
export const searchEntities = (engine: Engine): EntitySchema[] => [
  entityOf(engine, { name: 'SearchKind', tableName: 'search_kinds', columns: kindColumns }),
  entityOf(engine, { name: 'SearchTail', tableName: 'search_tail', columns: tailColumns }),
  entityOf(engine, {
    name: 'SearchSegment',
    tableName: 'search_segments',
    columns: segmentColumns,
    indices: [{ name: 'search_segments_kind', columns: ['kind', 'state'] }],
  }),
  entityOf(engine, { name: 'SearchKeys', tableName: 'search_keys', columns: keysColumns }),
  entityOf(engine, { name: 'SearchTexts', tableName: 'search_texts', columns: textsColumns }),
  entityOf(engine, { name: 'SearchBlock', tableName: 'search_blocks', columns: blockColumns }),
  entityOf(engine, { name: 'SearchRemoval', tableName: 'search_removals', columns: removalColumns }),
];
