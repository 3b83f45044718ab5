import type { Parameter, Reader } from '../db/connection.ts';
import { inList } from '../db/in-list.ts';
import { idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';
import type { Tag, TagDictionary } from '../tag/service.ts';
import type { SharedColumns } from './entity.ts';
import type { ContentKind } from './kind.ts';

/** A record with its tags: what the views make the wire shapes from. */
export interface ContentRecord<Columns> {
  row: Columns & SharedColumns;
  tags: Tag[];
}

const sharedColumns = [
  'id',
  'title',
  'view_count',
  'like_count',
  'dislike_count',
  'favorite_count',
  'created_at',
  'updated_at',
  'tag_ids',
];

export interface Shape {
  /** Whether the columns of the whole record are wanted. */
  detail: boolean;
  /** The user whose favorites and reactions are wanted. */
  viewerId: string | undefined;
}

/**
 * Reads records in one round trip. `ids` is a SELECT that yields their ids in a column `id`, and its parameters come
 * first; `orderBy` may use its columns as `p.…`.
 */
export const readRecords = async <Columns>(
  reader: Reader,
  dictionary: TagDictionary,
  kind: ContentKind,
  { detail, viewerId }: Shape,
  ids: { sql: string; parameters: readonly Parameter[]; orderBy?: string },
): Promise<ContentRecord<Columns>[]> => {
  const viewer = viewerId === undefined ? undefined : storedIdToBytes(viewerId);
  const own = [...sharedColumns, ...kind.summaryColumns, ...(detail ? kind.detailColumns : [])];
  const columns = [
    ...own.map((column) => `r.${column}`),
    'u.id AS author_id',
    'u.nickname AS author_nickname',
    'u.avatar AS author_avatar',
    ...(viewer ? ['f.user_id IS NOT NULL AS favorited', 'x.type AS reaction'] : []),
  ];
  const viewerJoins = `
    LEFT JOIN ${kind.favoriteTable} f ON f.user_id = ? AND f.${kind.foreignKey} = r.id
    LEFT JOIN ${kind.reactionTable} x ON x.user_id = ? AND x.${kind.foreignKey} = r.id`;
  const rows = await reader.read<Columns & SharedColumns>(
    `SELECT ${columns.join(', ')}
    FROM (${ids.sql}) p
    JOIN ${kind.table} r ON r.id = p.id
    JOIN users u ON u.id = r.author_id${viewer ? viewerJoins : ''}
    ${ids.orderBy ? `ORDER BY ${ids.orderBy}` : ''}`,
    [...ids.parameters, ...(viewer ? [viewer, viewer] : [])],
  );
  const tagIds = rows.map((row) => (row.tag_ids === '' ? [] : row.tag_ids.split(',').map(Number)));
  const tags = await dictionary.load(reader, tagIds.flat());
  return rows.map((row, index) => ({
    row,
    tags: (tagIds[index] ?? []).map((id) => tags.get(id)).filter((tag) => tag !== undefined),
  }));
};

/** Reads the records with these ids, in this order; ids that do not exist are passed over. */
export const readRecordsById = async <Columns>(
  reader: Reader,
  dictionary: TagDictionary,
  kind: ContentKind,
  shape: Shape,
  ids: readonly string[],
): Promise<ContentRecord<Columns>[]> => {
  const known = ids.map(idToBytes).filter((bytes) => bytes !== undefined);
  if (known.length === 0) return [];
  const among = inList(known);
  const found = await readRecords<Columns>(reader, dictionary, kind, shape, {
    sql: `SELECT id FROM ${kind.table} WHERE id IN (${among.sql})`,
    parameters: among.parameters,
  });
  const byId = new Map(found.map((record) => [idFromBytes(record.row.id), record]));
  return ids.map((id) => byId.get(id)).filter((record) => record !== undefined);
};

/** Reads one record with all its columns. @throws AppError the kind's NOT_FOUND */
export const readRecord = async <Columns>(
  reader: Reader,
  dictionary: TagDictionary,
  kind: ContentKind,
  id: string,
  viewerId: string | undefined,
): Promise<ContentRecord<Columns>> => {
  const [record] = await readRecordsById<Columns>(reader, dictionary, kind, { detail: true, viewerId }, [id]);
  if (!record) throw new AppError(kind.notFound);
  return record;
};
