import type { Reader } from '../db/connection.ts';
import { inList } from '../db/sql/in-list.ts';
import { memoize, memoizeBySize } from '../base/cache.ts';
import { type Fragment, type PageSelect, readByIds, readPage, type RowSelect } from '../db/sql/read-rows.ts';
import { selected, type StoredOf } from '../db/sql/table.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { currentTags, type TagName, type TagNames } from './tag/dictionary.ts';
import { contentColumns } from './entity.ts';
import { type ContentKind, tagIdsOf } from './kind.ts';

// SQL: each list, each read of a record and each write that returns one runs these.

/** The viewer's favorite and reaction, as they are stored. */
export interface ViewerState {
  /** 0 or 1. */
  favorited: number;
  reaction: 'like' | 'dislike' | null;
}

interface AuthorState {
  authorNickname: string;
  authorAvatar: string | null;
}

const { searchText: _, tagIds: __, ...shownColumns } = contentColumns;

/** A record without its author, as it is stored. */
export type StoredContent = Omit<StoredOf<typeof contentColumns>, 'searchText'>;
/** A record as it is read. Without a viewer, it lacks the viewer's state. */
export type StoredRecord = StoredContent & AuthorState & Partial<ViewerState>;

/** A record with its tags, from which the views build the wire format. */
export interface ContentRecord<Own> {
  row: Own & StoredRecord;
  tags: TagName[];
  /** The viewer's favorite and reaction, if several viewers share the row. */
  viewing?: ViewerState;
}

/** The members of a record to read. */
export interface RecordShape {
  /** Whether to read those of the whole record. */
  detail: boolean;
  /** The user whose favorites and reactions to read. */
  viewerId: string | undefined;
}

/** A record whose author is missing is left out. */
const authorColumns = {
  columns: ['u.nickname AS authorNickname', 'u.avatar AS authorAvatar'],
  join: 'users u ON u.id = r.author_id',
  addTo: async <Row extends StoredContent>(reader: Reader, rows: readonly Row[]): Promise<(Row & AuthorState)[]> => {
    const wanted = new Map(rows.map(({ authorId: id }) => [idFromBytes(id), id]));
    const { sql, parameters } = inList([...wanted.values()]);
    const users = await reader.read<{ id: Bytes } & AuthorState>(
      `SELECT id, nickname AS authorNickname, avatar AS authorAvatar FROM users WHERE id IN (${sql})`,
      parameters,
    );
    const authors = new Map(users.map(({ id, ...author }) => [idFromBytes(id), author]));
    return rows.flatMap((row) => {
      const author = authors.get(idFromBytes(row.authorId));
      return author ? [{ ...row, ...author }] : [];
    });
  },
};

/** The columns of whole records of a kind, or of records in lists. */
export const recordColumns = (kind: ContentKind, detail: boolean): string => {
  const { summary, detail: more } = kind.columns;
  const columns = { ...shownColumns, ...summary, ...(detail && more) };
  return `${selected(columns, 'r')}, ${tagIdsOf(kind, 'r')} AS tagIds`;
};

/** The columns of a kind's records, for each shape. */
const columnLists = memoize((kind: ContentKind) =>
  memoizeBySize((wanted) => {
    const [detail = false, viewer] = [wanted & 1, wanted & 2].map(Boolean);
    const ofViewer = viewer ? ', f.user_id IS NOT NULL AS favorited, x.type AS reaction' : '';
    return `${recordColumns(kind, detail)}${ofViewer}`;
  }),
);

/** A viewer's favorite and reaction are stored on the shard of the record. */
const viewerJoins = (kind: ContentKind, viewerId: string): Fragment => {
  const viewer = storedIdToBytes(viewerId);
  return {
    sql: `LEFT JOIN ${kind.favoriteTable} f ON f.user_id = ? AND f.${kind.foreignKey} = r.id
    LEFT JOIN ${kind.reactionTable} x ON x.user_id = ? AND x.${kind.foreignKey} = r.id`,
    parameters: [viewer, viewer],
  };
};

const selectOf = <Own>(
  kind: ContentKind,
  { detail, viewerId }: RecordShape,
): RowSelect<StoredContent & Own, AuthorState> => ({
  table: kind.table,
  columns: columnLists(kind)((detail ? 1 : 0) + (viewerId === undefined ? 0 : 2)),
  ...(viewerId !== undefined && { joins: viewerJoins(kind, viewerId) }),
  foreign: authorColumns,
});

/** Reads a page of records, including the viewer's favorites and reactions. */
export const readRows = <Own>(
  reader: Reader,
  kind: ContentKind,
  shape: RecordShape,
  page: PageSelect,
): Promise<(Own & StoredRecord)[]> => readPage(reader, selectOf<Own>(kind, shape), page);

/** Reads the rows with these ids, in any order. */
export const readRowsById = <Own>(
  reader: Reader,
  kind: ContentKind,
  shape: RecordShape,
  ids: readonly Uint8Array[],
): Promise<(Own & StoredRecord)[]> => readByIds(reader, selectOf<Own>(kind, shape), ids);

/** Adds the names of their tags to rows. */
export const withTags = async <Row extends StoredContent>(
  reader: Reader,
  dictionary: TagNames,
  rows: readonly Row[],
): Promise<{ row: Row; tags: TagName[] }[]> => {
  const tags = await dictionary.namesOf(
    reader,
    rows.map((row) => row.tagIds),
  );
  return rows.map((row, index) => ({ row, tags: tags[index] as TagName[] }));
};

/** Compares rows by their ids. */
export const byId = (a: { id: Bytes }, b: { id: Bytes }): number => Buffer.compare(a.id, b.id);

/** Reads the records with these ids. */
export const readRecordMap = async <Own>(
  reader: Reader,
  dictionary: TagNames,
  kind: ContentKind,
  shape: RecordShape,
  ids: Iterable<string>,
): Promise<Map<string, ContentRecord<Own>>> => {
  const known = [...new Set(ids)].map(idToBytes).filter((bytes) => bytes !== undefined);
  if (known.length === 0) return new Map();
  const rows = await readRowsById<Own>(reader, kind, shape, known);
  const records = await withTags(reader, dictionary, rows);
  return new Map(records.map((record) => [idFromBytes(record.row.id), record]));
};

/** Reads records by id as lists show them to everyone, with the current names of tags: copies rely on these. */
export const readShown = async <Own, Shown>(
  reader: Reader,
  kind: ContentKind,
  ids: Iterable<string>,
  view: (record: ContentRecord<Own>) => Shown,
): Promise<Map<string, Shown>> => {
  const shape = { detail: false, viewerId: undefined };
  const records = await readRecordMap<Own>(reader, currentTags, kind, shape, ids);
  return new Map(Array.from(records, ([id, record]) => [id, view(record)]));
};

/** Reads one record with all its columns. @throws AppError the kind's NOT_FOUND */
export const readRecord = async <Own>(
  reader: Reader,
  dictionary: TagNames,
  kind: ContentKind,
  id: string,
  viewerId: string | undefined,
): Promise<ContentRecord<Own>> => {
  const record = (await readRecordMap<Own>(reader, dictionary, kind, { detail: true, viewerId }, [id])).get(id);
  if (!record) throw new AppError(kind.notFound);
  return record;
};
