import type { EntitySchema, Repository } from 'typeorm';
import type { Reader } from '../db/connection.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import {
  column,
  columnName,
  entityOf,
  goesWith,
  named,
  nullable,
  optioned,
  primary,
  type RowOf,
} from '../db/sql/table.ts';
import { type ContentKind, ownColumns } from './kind.ts';

/** Fits 20 ids of 10 digits with commas. */
const TAG_IDS_LENGTH = 220;

const counter = optioned({ default: 0 }, column.count);

/** The columns that the records of all kinds have. */
export const contentColumns = {
  id: primary(column.id),
  authorId: column.id,
  title: column.text(200),
  viewCount: counter,
  likeCount: counter,
  dislikeCount: counter,
  favoriteCount: counter,
  /** The normalised text for searches: see `search/text.ts`. */
  searchText: column.longText,
  /** The ids of its tags in the author's order, joined with commas; '' for none. */
  tagIds: optioned({ default: '' }, column.text(TAG_IDS_LENGTH)),
  /** The same instant that the id contains, so that ids sort and filter in the same order. */
  createdAt: column.time,
  updatedAt: column.time,
};

export type ContentRow = RowOf<typeof contentColumns>;

const tagLinkColumns = ({ foreignKey, typeColumn }: ContentKind) => ({
  recordId: primary(named(foreignKey, column.id)),
  tagId: primary(column.serial),
  /** The place of the tag in the author's order. */
  position: column.small,
  /** The value of its kind's `typeColumn`. */
  ...(typeColumn !== undefined && { type: named(typeColumn, nullable(column.text(32))) }),
});
const favoriteColumns = ({ foreignKey }: ContentKind) => ({
  userId: primary(column.id),
  recordId: primary(named(foreignKey, column.id)),
});
const reactionColumns = (kind: ContentKind) => ({ ...favoriteColumns(kind), type: column.text(7) });

export type TagLinkRow = RowOf<ReturnType<typeof tagLinkColumns>>;
/** A row of a table of favorites, or of reactions, which have a type. */
export type EngagementRow = RowOf<ReturnType<typeof favoriteColumns>> & { type?: 'like' | 'dislike' };

/** A favorite or reaction of a user on a record. A reaction replaces the other one. */
export type Mark = 'favorite' | 'like' | 'dislike';

/** The count of a record that includes each mark. */
export const countMembers = { favorite: 'favoriteCount', like: 'likeCount', dislike: 'dislikeCount' } as const;

/** The column of the count that includes a mark. */
export const markCountColumn = (mark: Mark): string => columnName(contentColumns, countMembers[mark]);

type Managed = Pick<Reader, 'manager'>;

/** The records of a kind, with the columns that all kinds have. */
export const recordsIn = (reader: Managed, { entity }: ContentKind): Repository<ContentRow> =>
  repositoryOf<ContentRow>(entity)(reader);

export const tagLinksIn = (reader: Managed, { tagTable }: ContentKind): Repository<TagLinkRow> =>
  repositoryOf<TagLinkRow>(tagTable)(reader);

/** The rows of a kind's `favoriteTable` or `reactionTable`. */
export const engagementIn = (reader: Managed, table: string): Repository<EngagementRow> =>
  repositoryOf<EngagementRow>(table)(reader);

const capitalised = (table: string): string =>
  table.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The tables of a kind: its records, and their tags, favorites and reactions. */
export const contentEntities = (engine: Engine, kind: ContentKind): EntitySchema[] => {
  const { table, entity, tagTable, favoriteTable, reactionTable, typeColumn } = kind;
  return [
    entityOf(engine, {
      name: entity,
      tableName: table,
      columns: { ...contentColumns, ...ownColumns(kind) },
      indices: Object.entries(kind.indices).map(([name, columns]) => ({ name: `${table}_${name}`, columns })),
      foreignKeys: [goesWith(table, 'authorId', 'User')],
    }),
    entityOf(engine, {
      name: capitalised(tagTable),
      tableName: tagTable,
      columns: tagLinkColumns(kind),
      indices: [
        { name: `${tagTable}_tag`, columns: ['tagId', 'recordId'] },
        ...(typeColumn === undefined ? [] : [{ name: `${tagTable}_type`, columns: ['tagId', 'type', 'recordId'] }]),
      ],
      foreignKeys: [goesWith(tagTable, 'recordId', entity), goesWith(tagTable, 'tagId', 'Tag')],
    }),
    entityOf(engine, {
      name: capitalised(favoriteTable),
      tableName: favoriteTable,
      columns: favoriteColumns(kind),
      indices: [{ name: `${favoriteTable}_record`, columns: ['recordId'] }],
      foreignKeys: [goesWith(favoriteTable, 'userId', 'User'), goesWith(favoriteTable, 'recordId', entity)],
    }),
    entityOf(engine, {
      name: capitalised(reactionTable),
      tableName: reactionTable,
      columns: reactionColumns(kind),
      indices: [{ name: `${reactionTable}_record`, columns: ['recordId'] }],
      foreignKeys: [goesWith(reactionTable, 'userId', 'User'), goesWith(reactionTable, 'recordId', entity)],
    }),
  ];
};

const counterColumns = { name: primary(column.text(64)), n: column.count };

export const countersIn = repositoryOf<RowOf<typeof counterColumns>>('Counter');

/** The number of records, total and by type, so that lists need not count them. */
export const counterEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, { name: 'Counter', tableName: 'counters', columns: counterColumns });

/**
 * The slug of a tag that records have never changes, so processes may cache it; the spelling of the name may change. An
 * upgrade that computes slugs differently creates other tags: see `tag-slugs.ts`.
 */
const tagColumns = {
  id: optioned({ generated: 'increment' }, primary(column.serial)),
  slug: column.text(200),
  name: column.text(50),
  gameCount: counter,
  imagePostCount: counter,
  /** The tag that replaced it: records get that one instead, and no record has this one. */
  mergedInto: nullable(column.serial),
};

export type TagRow = RowOf<typeof tagColumns>;

export const tagsIn = repositoryOf<TagRow>('Tag');

export const tagEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, {
    name: 'Tag',
    tableName: 'tags',
    columns: tagColumns,
    indices: [{ name: 'tags_slug', columns: ['slug'], unique: true }],
  });

/** The maximum length of the reason for hiding a record. */
export const HIDDEN_REASON_LENGTH = 500;

const hiddenRecordColumns = {
  authorId: primary(column.id),
  recordId: primary(column.id),
  /** The table of its kind. */
  kind: column.text(16),
  /** JSON of its row. */
  record: column.longText,
  /** Since when the record itself is hidden; null if only its author's records are hidden. */
  hiddenAt: nullable(column.time),
  /** Why the record itself is hidden. */
  reason: nullable(column.text(HIDDEN_REASON_LENGTH)),
};
const hiddenMarkColumns = {
  recordId: primary(column.id),
  userId: primary(column.id),
  mark: primary(column.text<Mark>(8)),
};

export type HiddenRecordRow = RowOf<typeof hiddenRecordColumns>;
/** A favorite or reaction to a hidden record. */
export type HiddenMarkRow = RowOf<typeof hiddenMarkColumns>;

export const hiddenRecordsIn = repositoryOf<HiddenRecordRow>('HiddenRecord');
export const hiddenMarksIn = repositoryOf<HiddenMarkRow>('HiddenMark');

/** Records hidden individually or with their author, and the marks on them: see `admin/moderation/hidden/`. */
export const hiddenEntities = (engine: Engine): EntitySchema[] => [
  entityOf(engine, {
    name: 'HiddenRecord',
    tableName: 'hidden_records',
    columns: hiddenRecordColumns,
    indices: [{ name: 'hidden_records_record', columns: ['recordId'], unique: true }],
  }),
  entityOf(engine, { name: 'HiddenMark', tableName: 'hidden_marks', columns: hiddenMarkColumns }),
];
