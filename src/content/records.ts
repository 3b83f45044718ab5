import type { Parameter, Reader } from '../db/connection.ts';
import { inList } from '../db/sql/in-list.ts';
import { idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';
import type { TagDictionary, TagName } from './tag/dictionary.ts';
import type { SharedColumns } from './entity.ts';
import type { ContentKind } from './kind.ts';
import { tagIdsOf } from './tag-ids.ts';
import type { ViewerColumns } from './viewer.ts';

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
  /** More columns to select, with their parameters. */
  columns?: readonly string[];
  columnParameters?: readonly Parameter[];
  /** Yields the ids of the records in a column `id`: a table by that name, or a SELECT in brackets. */
  ids: string;
  idParameters?: readonly Parameter[];
  /** SQL after the joins. `p` is the table of the ids, `r` that of the records. */
  end?: string;
  endParameters?: readonly Parameter[];
}

const joinsOf = (joinInOrder: string, kind: ContentKind, viewer: boolean): string => `
  ${joinInOrder} users u ON u.id = r.author_id${
    viewer
      ? `
  LEFT JOIN ${kind.favoriteTable} f ON f.user_id = ? AND f.${kind.foreignKey} = r.id
  LEFT JOIN ${kind.reactionTable} x ON x.user_id = ? AND x.${kind.foreignKey} = r.id`
      : ''
  }`;

/** The columns of a kind's records: bare, for a viewer, whole, whole for a viewer. */
const columnLists = new WeakMap<ContentKind, string[]>();

const columnsOf = (kind: ContentKind, detail: boolean, viewer: boolean): string => {
  const lists =
    columnLists.get(kind) ??
    [false, true].flatMap((whole) => [listColumns(kind, whole, false), listColumns(kind, whole, true)]);
  columnLists.set(kind, lists);
  return lists[(detail ? 2 : 0) + (viewer ? 1 : 0)] as string;
};

const listColumns = (kind: ContentKind, detail: boolean, viewer: boolean): string =>
  [
    ...[...sharedColumns, ...kind.summaryColumns, ...(detail ? kind.detailColumns : [])].map((column) => `r.${column}`),
    `${tagIdsOf(kind, 'r')} AS tag_ids`,
    'u.id AS author_id',
    'u.nickname AS author_nickname',
    'u.avatar AS author_avatar',
    ...(viewer ? ['f.user_id IS NOT NULL AS favorited', 'x.type AS reaction'] : []),
  ].join(', ');

const viewerParameters = (viewerId: string | undefined): Parameter[] => {
  if (viewerId === undefined) return [];
  const viewer = storedIdToBytes(viewerId);
  return [viewer, viewer];
};

/** Reads the rows of records, those of the viewer included, in one round trip. */
export const readRows = <Row>(
  reader: Reader,
  kind: ContentKind,
  { detail, viewerId }: RecordShape,
  { columns = [], columnParameters = [], ids, idParameters = [], end = '', endParameters = [] }: Select,
): Promise<(Row & SharedColumns)[]> => {
  const { joinInOrder } = reader.dialect;
  const viewer = viewerId !== undefined;
  return reader.read<Row & SharedColumns>(
    `SELECT ${[...columns, columnsOf(kind, detail, viewer)].join(', ')}
    FROM ${ids} p ${joinInOrder} ${kind.table} r ON r.id = p.id ${joinsOf(joinInOrder, kind, viewer)} ${end}`,
    [...columnParameters, ...idParameters, ...viewerParameters(viewerId), ...endParameters],
  );
};

/** Rows with the names of their tags. */
export const withTags = async <Row extends SharedColumns>(
  reader: Reader,
  dictionary: TagDictionary,
  rows: readonly Row[],
): Promise<{ row: Row; tags: TagName[] }[]> => {
  const tags = await dictionary.namesOf(
    reader,
    rows.map((row) => row.tag_ids),
  );
  return rows.map((row, index) => ({ row, tags: tags[index] as TagName[] }));
};

/** Reads the rows with these ids, in any order. */
export const readRowsById = async <Columns>(
  reader: Reader,
  kind: ContentKind,
  { detail, viewerId }: RecordShape,
  ids: readonly Uint8Array[],
): Promise<(Columns & SharedColumns)[]> => {
  if (ids.length === 0) return [];
  const viewer = viewerId !== undefined;
  const { sql, parameters } = inList(ids);
  return reader.read<Columns & SharedColumns>(
    `SELECT ${columnsOf(kind, detail, viewer)}
    FROM ${kind.table} r ${joinsOf(reader.dialect.joinInOrder, kind, viewer)} WHERE r.id IN (${sql})`,
    [...viewerParameters(viewerId), ...parameters],
  );
};

/** Reads the records with these ids. */
export const readRecordMap = async <Columns>(
  reader: Reader,
  dictionary: TagDictionary,
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

/** Reads one record with all its columns. @throws AppError the kind's NOT_FOUND */
export const readRecord = async <Columns>(
  reader: Reader,
  dictionary: TagDictionary,
  kind: ContentKind,
  id: string,
  viewerId: string | undefined,
): Promise<ContentRecord<Columns>> => {
  const record = (await readRecordMap<Columns>(reader, dictionary, kind, { detail: true, viewerId }, [id])).get(id);
  if (!record) throw new AppError(kind.notFound);
  return record;
};
