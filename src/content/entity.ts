import { EntitySchema, type EntitySchemaColumnOptions, type Repository } from 'typeorm';
import { columnTypes, idTransformer } from '../db/sql/columns.ts';
import type { Reader } from '../db/connection.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import type { Bytes } from '../db/values.ts';
import type { ContentKind } from './kind.ts';

/** The columns that games and image posts share. */
export interface ContentRow {
  id: string;
  authorId: string;
  title: string;
  description: string | null;
  viewCount: number;
  likeCount: number;
  dislikeCount: number;
  favoriteCount: number;
  /** The normalised text for searches: see `search/text.ts`. */
  searchText: string;
  /** The ids of its tags in the author's order, with commas; '' for none. */
  tagIds: string;
  /** The instant that the id holds, so that ids sort and filter alike. */
  createdAt: Date;
  updatedAt: Date;
}

/** The columns of a record that games and image posts share, as the drivers return them. */
export interface SharedColumns {
  id: Bytes;
  title: string;
  view_count: number;
  like_count: number;
  dislike_count: number;
  favorite_count: number;
  created_at: string;
  updated_at: string;
  author_id: Bytes;
  author_nickname: string;
  author_avatar: string | null;
  /** Ids in the author's order, with commas; '' for none. */
  tag_ids: string;
  /** 0 or 1; missing without a viewer. */
  favorited?: number;
  reaction?: 'like' | 'dislike' | null;
}

/** 20 ids of 10 digits with commas fit. */
const TAG_IDS_LENGTH = 220;

export const contentColumns = (engine: Engine) => {
  const { id, text, longText, count, time } = columnTypes(engine);
  return {
    id: { ...id, primary: true, transformer: idTransformer },
    authorId: { ...id, name: 'author_id', transformer: idTransformer },
    title: text(200),
    description: { ...longText, nullable: true },
    viewCount: { ...count, name: 'view_count', default: 0 },
    likeCount: { ...count, name: 'like_count', default: 0 },
    dislikeCount: { ...count, name: 'dislike_count', default: 0 },
    favoriteCount: { ...count, name: 'favorite_count', default: 0 },
    searchText: { ...longText, name: 'search_text' },
    tagIds: { ...text(TAG_IDS_LENGTH), name: 'tag_ids', default: '' },
    createdAt: { ...time, name: 'created_at' },
    updatedAt: { ...time, name: 'updated_at' },
  } satisfies Record<string, EntitySchemaColumnOptions>;
};

interface LinkRow {
  recordId: string;
}
export interface TagLinkRow extends LinkRow {
  tagId: number;
  /** The place of the tag in the author's order. */
  position: number;
  /** The value of its kind's `typeColumn`. */
  type?: string | null;
}
export interface FavoriteRow extends LinkRow {
  userId: string;
}
export interface ReactionRow extends FavoriteRow {
  type: 'like' | 'dislike';
}
/** A row of a table of favorites, or of reactions, which have a type. */
export type EngagementRow = FavoriteRow & Partial<ReactionRow>;

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

const foreignKey = (table: string, column: 'recordId' | 'userId' | 'tagId', target: string) => ({
  name: `fk_${table}_${column === 'recordId' ? 'record' : column.slice(0, -2)}`,
  target,
  columnNames: [column],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
});

/** The tables that hang on the records of a kind: their tags, favorites and reactions. */
export const linkEntities = (engine: Engine, kind: ContentKind): EntitySchema[] => {
  const { id, serial, small, text } = columnTypes(engine);
  const recordId = { ...id, name: kind.foreignKey, primary: true, transformer: idTransformer } as const;
  const userId = { ...id, name: 'user_id', primary: true, transformer: idTransformer } as const;
  const { tagTable, favoriteTable, reactionTable, typeColumn } = kind;
  return [
    new EntitySchema<TagLinkRow>({
      name: capitalised(tagTable),
      tableName: tagTable,
      columns: {
        recordId,
        tagId: { ...serial, name: 'tag_id', primary: true },
        position: small,
        ...(typeColumn !== undefined && { type: { ...text(32), name: typeColumn, nullable: true } }),
      },
      indices: [
        { name: `${tagTable}_tag`, columns: ['tagId', 'recordId'] },
        ...(typeColumn === undefined ? [] : [{ name: `${tagTable}_type`, columns: ['tagId', 'type', 'recordId'] }]),
      ],
      foreignKeys: [foreignKey(tagTable, 'recordId', kind.entity), foreignKey(tagTable, 'tagId', 'Tag')],
    }),
    new EntitySchema<FavoriteRow>({
      name: capitalised(favoriteTable),
      tableName: favoriteTable,
      columns: { userId, recordId },
      indices: [{ name: `${favoriteTable}_record`, columns: ['recordId'] }],
      foreignKeys: [foreignKey(favoriteTable, 'userId', 'User'), foreignKey(favoriteTable, 'recordId', kind.entity)],
    }),
    new EntitySchema<ReactionRow>({
      name: capitalised(reactionTable),
      tableName: reactionTable,
      columns: { userId, recordId, type: text(7) },
      indices: [{ name: `${reactionTable}_record`, columns: ['recordId'] }],
      foreignKeys: [foreignKey(reactionTable, 'userId', 'User'), foreignKey(reactionTable, 'recordId', kind.entity)],
    }),
  ];
};

interface CounterRow {
  name: string;
  n: number;
}

export const countersIn = repositoryOf<CounterRow>('Counter');

/** How many records there are, all and by type, so that no list has to count them. */
export const counterEntity = (engine: Engine): EntitySchema<CounterRow> =>
  new EntitySchema<CounterRow>({
    name: 'Counter',
    tableName: 'counters',
    columns: { name: { ...columnTypes(engine).text(64), primary: true }, n: columnTypes(engine).count },
  });

export interface HiddenRecordRow {
  authorId: string;
  recordId: string;
  /** The table of its kind. */
  kind: string;
  /** JSON of its row. */
  record: string;
  /** Since when it is hidden by itself; null if only its author's records are hidden. */
  hiddenAt: Date | null;
  /** Why it is hidden by itself. */
  reason: string | null;
}

/** A favorite or reaction to a hidden record. */
export interface HiddenMarkRow {
  recordId: string;
  userId: string;
  mark: 'favorite' | 'like' | 'dislike';
}

export const hiddenRecordsIn = repositoryOf<HiddenRecordRow>('HiddenRecord');
export const hiddenMarksIn = repositoryOf<HiddenMarkRow>('HiddenMark');

/** The length of the reason for which a record is hidden. */
export const HIDDEN_REASON_LENGTH = 500;

/** Records that are hidden, by themselves or with their author, and what users did to them: see `admin/moderation/hidden/`. */
export const hiddenEntities = (engine: Engine): EntitySchema[] => {
  const { id, text, longText, time } = columnTypes(engine);
  const key = (name: string) => ({ ...id, name, primary: true, transformer: idTransformer }) as const;
  return [
    new EntitySchema<HiddenRecordRow>({
      name: 'HiddenRecord',
      tableName: 'hidden_records',
      columns: {
        authorId: key('author_id'),
        recordId: key('record_id'),
        kind: text(16),
        record: longText,
        hiddenAt: { ...time, name: 'hidden_at', nullable: true },
        reason: { ...text(HIDDEN_REASON_LENGTH), nullable: true },
      },
      indices: [{ name: 'hidden_records_record', columns: ['recordId'], unique: true }],
    }),
    new EntitySchema<HiddenMarkRow>({
      name: 'HiddenMark',
      tableName: 'hidden_marks',
      columns: { recordId: key('record_id'), userId: key('user_id'), mark: { ...text(8), primary: true } },
    }),
  ];
};
