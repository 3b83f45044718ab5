import type { Reader } from '../db/connection.ts';
import { inList } from '../db/sql/in-list.ts';
import { memoize, memoizeBySize } from '../db/sql/memoize.ts';
import { type Fragment, type PageSelect, readByIds, readPage, type RowSelect } from '../db/sql/read-rows.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { currentTags, type TagName, type TagNames } from './tag/dictionary.ts';
import type { SharedColumns } from './entity.ts';
import type { ContentKind } from './kind.ts';
import { tagIdsOf } from './tag-ids.ts';
import type { ViewerColumns } from './viewer.ts';

// SQL: each list, each read of a record and each write that answers with one runs these.

/** A record with its tags: what the views make the wire shapes from. */
export interface ContentRecord<Columns> {
  row: Columns & SharedColumns;
  tags: TagName[];
  /** The viewer's favorite and reaction, where several viewers share the row. */
  viewing?: ViewerColumns;
}

/** The columns of every record, without its author and tags. */
export const sharedColumns = [
  'id',
  'title',
  'view_count',
  'like_count',
  'dislike_count',
  'favorite_count',
  'created_at',
  'updated_at',
];

export interface RecordShape {
  /** Whether the columns of the whole record are wanted. */
  detail: boolean;
  /** The user whose favorites and reactions are wanted. */
  viewerId: string | undefined;
}

interface AuthorColumns {
  author_nickname: string;
  author_avatar: string | null;
}
type RecordColumns = Omit<SharedColumns, keyof AuthorColumns>;

/** A record without an author, whom nothing else names, is left out. */
const authorColumns = {
  columns: ['u.nickname AS author_nickname', 'u.avatar AS author_avatar'],
  join: 'users u ON u.id = r.author_id',
  addTo: async <Row extends RecordColumns>(reader: Reader, rows: readonly Row[]): Promise<(Row & AuthorColumns)[]> => {
    const wanted = new Map(rows.map(({ author_id: id }) => [idFromBytes(id), id]));
    const { sql, parameters } = inList([...wanted.values()]);
    const users = await reader.read<{ id: Bytes } & AuthorColumns>(
      `SELECT id, nickname AS author_nickname, avatar AS author_avatar FROM users WHERE id IN (${sql})`,
      parameters,
    );
    const authors = new Map(users.map(({ id, ...columns }) => [idFromBytes(id), columns]));
    return rows.flatMap((row) => {
      const author = authors.get(idFromBytes(row.author_id));
      return author ? [{ ...row, ...author }] : [];
    });
  },
};

/** The columns of a kind's records, by what is wanted of them. */
const columnLists = memoize((kind: ContentKind) =>
  memoizeBySize((wanted) => {
    const [detail, viewer] = [wanted & 1, wanted & 2].map(Boolean);
    return [
      ...[...sharedColumns, ...kind.summaryColumns, ...(detail ? kind.detailColumns : [])].map((name) => `r.${name}`),
      `${tagIdsOf(kind, 'r')} AS tag_ids`,
      'r.author_id',
      ...(viewer ? ['f.user_id IS NOT NULL AS favorited', 'x.type AS reaction'] : []),
    ].join(', ');
  }),
);

/** A viewer's favorite and reaction are on the shard of the record. */
const viewerJoins = (kind: ContentKind, viewerId: string): Fragment => {
  const viewer = storedIdToBytes(viewerId);
  return {
    sql: `LEFT JOIN ${kind.favoriteTable} f ON f.user_id = ? AND f.${kind.foreignKey} = r.id
    LEFT JOIN ${kind.reactionTable} x ON x.user_id = ? AND x.${kind.foreignKey} = r.id`,
    parameters: [viewer, viewer],
  };
};

const selectOf = <Columns>(
  kind: ContentKind,
  { detail, viewerId }: RecordShape,
): RowSelect<RecordColumns & Columns, AuthorColumns> => ({
  table: kind.table,
  columns: columnLists(kind)((detail ? 1 : 0) + (viewerId === undefined ? 0 : 2)),
  ...(viewerId !== undefined && { joins: viewerJoins(kind, viewerId) }),
  foreign: authorColumns,
});

/** Reads a page of records, what the viewer did to them included. */
export const readRows = <Columns>(
  reader: Reader,
  kind: ContentKind,
  shape: RecordShape,
  page: PageSelect,
): Promise<(Columns & SharedColumns)[]> => readPage(reader, selectOf<Columns>(kind, shape), page);

/** Reads the rows with these ids, in any order. */
export const readRowsById = <Columns>(
  reader: Reader,
  kind: ContentKind,
  shape: RecordShape,
  ids: readonly Uint8Array[],
): Promise<(Columns & SharedColumns)[]> => readByIds(reader, selectOf<Columns>(kind, shape), ids);

/** Rows with the names of their tags. */
export const withTags = async <Row extends SharedColumns>(
  reader: Reader,
  dictionary: TagNames,
  rows: readonly Row[],
): Promise<{ row: Row; tags: TagName[] }[]> => {
  const tags = await dictionary.namesOf(
    reader,
    rows.map((row) => row.tag_ids),
  );
  return rows.map((row, index) => ({ row, tags: tags[index] as TagName[] }));
};

/** Puts rows into the order of their ids. */
export const byId = (a: { id: Bytes }, b: { id: Bytes }): number => Buffer.compare(a.id, b.id);

/** Reads the records with these ids. */
export const readRecordMap = async <Columns>(
  reader: Reader,
  dictionary: TagNames,
  kind: ContentKind,
  shape: RecordShape,
  ids: Iterable<string>,
): Promise<Map<string, ContentRecord<Columns>>> => {
  const known = [...new Set(ids)].map(idToBytes).filter((bytes) => bytes !== undefined);
  if (known.length === 0) return new Map();
  const rows = await readRowsById<Columns>(reader, kind, shape, known);
  const records = await withTags(reader, dictionary, rows);
  return new Map(records.map((record) => [idFromBytes(record.row.id), record]));
};

/** Reads records as lists show them to everyone, by their ids, with the names that tags have now: a copy goes by them. */
export const readShown = async <Columns, Shown>(
  reader: Reader,
  kind: ContentKind,
  ids: Iterable<string>,
  view: (record: ContentRecord<Columns>) => Shown,
): Promise<Map<string, Shown>> => {
  const shape = { detail: false, viewerId: undefined };
  const records = await readRecordMap<Columns>(reader, currentTags, kind, shape, ids);
  return new Map(Array.from(records, ([id, record]) => [id, view(record)]));
};

/** Reads one record with all its columns. @throws AppError the kind's NOT_FOUND */
export const readRecord = async <Columns>(
  reader: Reader,
  dictionary: TagNames,
  kind: ContentKind,
  id: string,
  viewerId: string | undefined,
): Promise<ContentRecord<Columns>> => {
  const record = (await readRecordMap<Columns>(reader, dictionary, kind, { detail: true, viewerId }, [id])).get(id);
  if (!record) throw new AppError(kind.notFound);
  return record;
};
