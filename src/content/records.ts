import type { Parameter, Reader } from '../db/connection.ts';
import type { Dialect } from '../db/dialect.ts';
import { inList } from '../db/sql/in-list.ts';
import { memoize, memoizeBySize } from '../db/sql/memoize.ts';
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

interface Select {
  /** More columns to select: expressions that concern no row, such as totals, with their parameters. */
  columns?: readonly string[];
  columnParameters?: readonly Parameter[];
  /** Names of more columns of `ids` to select. */
  idColumns?: readonly string[];
  /** Yields the ids of the records in a column `id`: a table by that name, or a SELECT in brackets. */
  ids: string;
  idParameters?: readonly Parameter[];
  /** SQL after the joins, such as the order. `p` is the table of the ids. */
  end?: string;
}

/** The parts that a select may leave out. */
const NOTHING_MORE = { columns: [], columnParameters: [], idColumns: [], idParameters: [], end: '' } as const;

const joinsOf = ({ joinInOrder, isSharded }: Dialect, kind: ContentKind, viewer: boolean): string => `
  ${isSharded ? '' : `${joinInOrder} users u ON u.id = r.author_id`}${
    viewer
      ? `
  LEFT JOIN ${kind.favoriteTable} f ON f.user_id = ? AND f.${kind.foreignKey} = r.id
  LEFT JOIN ${kind.reactionTable} x ON x.user_id = ? AND x.${kind.foreignKey} = r.id`
      : ''
  }`;

/** The columns of a kind's records, by what is wanted of them. */
const columnLists = memoize((kind: ContentKind) =>
  memoizeBySize((wanted) => {
    const [detail, viewer, isSharded] = [wanted & 1, wanted & 2, wanted & 4].map(Boolean);
    return [
      ...[...sharedColumns, ...kind.summaryColumns, ...(detail ? kind.detailColumns : [])].map((name) => `r.${name}`),
      `${tagIdsOf(kind, 'r')} AS tag_ids`,
      'r.author_id',
      ...(isSharded ? [] : ['u.nickname AS author_nickname', 'u.avatar AS author_avatar']),
      ...(viewer ? ['f.user_id IS NOT NULL AS favorited', 'x.type AS reaction'] : []),
    ].join(', ');
  }),
);

const columnsOf = (kind: ContentKind, detail: boolean, viewer: boolean, { isSharded }: Dialect): string =>
  columnLists(kind)((detail ? 1 : 0) + (viewer ? 2 : 0) + (isSharded ? 4 : 0));

const viewerParameters = (viewerId: string | undefined): Parameter[] => {
  if (viewerId === undefined) return [];
  const viewer = storedIdToBytes(viewerId);
  return [viewer, viewer];
};

/** Reads the rows of records, those of the viewer included, in one round trip; from shards, in up to four. */
export const readRows = <Row>(
  reader: Reader,
  kind: ContentKind,
  shape: RecordShape,
  select: Select,
): Promise<(Row & SharedColumns)[]> =>
  (reader.dialect.isSharded ? readScattered : readAtOnce)<Row>(reader, kind, shape, { ...NOTHING_MORE, ...select });

const readAtOnce = <Row>(
  reader: Reader,
  kind: ContentKind,
  { detail, viewerId }: RecordShape,
  { columns, columnParameters, idColumns, ids, idParameters, end }: Required<Select>,
): Promise<(Row & SharedColumns)[]> => {
  const { dialect } = reader;
  const viewer = viewerId !== undefined;
  const all = [...columns, ...idColumns.map((name) => `p.${name}`), columnsOf(kind, detail, viewer, dialect)];
  return reader.read<Row & SharedColumns>(
    `SELECT ${all.join(', ')}
    FROM ${ids} p ${dialect.joinInOrder} ${kind.table} r ON r.id = p.id ${joinsOf(dialect, kind, viewer)} ${end}`,
    [...columnParameters, ...idParameters, ...viewerParameters(viewerId)],
  );
};

/** Reads the ids from all shards, then the records by their ids. Totals come last, so that none is older than its page. */
const readScattered = async <Row>(
  reader: Reader,
  kind: ContentKind,
  shape: RecordShape,
  { columns, columnParameters, idColumns, ids, idParameters, end }: Required<Select>,
): Promise<(Row & SharedColumns)[]> => {
  const page = await reader.read<{ id: Bytes } & Record<string, unknown>>(
    `SELECT * FROM ${ids} p ${end}`,
    idParameters,
  );
  const rows = await readRowsById<Row>(
    reader,
    kind,
    shape,
    page.map(({ id }) => id),
  );
  if (rows.length === 0) return [];
  const byId = new Map(rows.map((row) => [idFromBytes(row.id), row]));
  const [values = {}] =
    columns.length === 0 ? [] : await reader.read<object>(`SELECT ${columns.join(', ')}`, columnParameters);
  return page.flatMap((place) => {
    const row = byId.get(idFromBytes(place.id));
    const own = Object.fromEntries(idColumns.map((name) => [name, place[name]]));
    return row ? [{ ...row, ...values, ...own }] : [];
  });
};

interface AuthorRow {
  id: Bytes;
  nickname: string;
  avatar: string | null;
}

/** Adds what records show of their authors. A record without an author, whom nothing else names, is left out. */
const withAuthors = async <Row extends SharedColumns>(reader: Reader, rows: readonly Row[]): Promise<Row[]> => {
  if (rows.length === 0) return [];
  const wanted = new Map(rows.map(({ author_id: id }) => [idFromBytes(id), id]));
  const { sql, parameters } = inList([...wanted.values()]);
  const users = await reader.read<AuthorRow>(`SELECT id, nickname, avatar FROM users WHERE id IN (${sql})`, parameters);
  const authors = new Map(users.map((user) => [idFromBytes(user.id), user]));
  return rows.flatMap((row) => {
    const author = authors.get(idFromBytes(row.author_id));
    return author ? [{ ...row, author_nickname: author.nickname, author_avatar: author.avatar }] : [];
  });
};

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

/** Reads the rows with these ids, in any order. */
export const readRowsById = async <Columns>(
  reader: Reader,
  kind: ContentKind,
  { detail, viewerId }: RecordShape,
  ids: readonly Uint8Array[],
): Promise<(Columns & SharedColumns)[]> => {
  if (ids.length === 0) return [];
  const viewer = viewerId !== undefined;
  const { dialect } = reader;
  const { sql, parameters } = inList(ids);
  const rows = await reader.read<Columns & SharedColumns>(
    `SELECT ${columnsOf(kind, detail, viewer, dialect)}
    FROM ${kind.table} r ${joinsOf(dialect, kind, viewer)} WHERE r.id IN (${sql})`,
    [...viewerParameters(viewerId), ...parameters],
  );
  return dialect.isSharded ? withAuthors(reader, rows) : rows;
};

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
