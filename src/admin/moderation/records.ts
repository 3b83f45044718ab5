import { type Actor, record } from '../../auth/audit/log.ts';
import type { RemovableKind } from '../../content/write/remove.ts';
import { removeRecords } from '../../content/write/remove.ts';
import { deleteHiddenRecord } from './hidden/delete.ts';
import { type HiddenColumns, readHidden } from './hidden/read.ts';
import type { ContentKind } from '../../content/kind.ts';
import { tagIdsOf } from '../../content/tag-ids.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, idToBytes, listFromDb, timeFromDb } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { readTags } from '../../content/tag/service.ts';
import { commandOf } from './kinds.ts';
import { noteRecords } from './removal.ts';

/** A record as operators see it. */
export interface RecordState {
  id: string;
  title: string;
  author: { id: string; nickname: string };
  /** The type of a game. */
  type: string | null;
  tags: string[];
  views: number;
  likes: number;
  dislikes: number;
  favorites: number;
  /** Whether the API does not show it, since it is hidden by itself or with its author. */
  isHidden: boolean;
  /** Since when it is hidden by itself, and why. */
  hiddenAt: string | null;
  hiddenReason: string | null;
  /** Since when it is hidden with its author. */
  authorHiddenAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** The other columns of the record, as they are stored. */
  details: Record<string, unknown>;
}

interface Columns {
  id: Bytes;
  title: string;
  author_id: Bytes;
  nickname: string;
  tag_ids: string;
  view_count: number;
  like_count: number;
  dislike_count: number;
  favorite_count: number;
  created_at: string;
  updated_at: string;
}

const optionalTime = (stored: string | null | undefined): string | null => (stored ? timeFromDb(stored) : null);

const tagNamesOf = async (db: Database, list: string): Promise<string[]> => {
  const ids = listFromDb(list);
  if (ids.length === 0) return [];
  const names = new Map((await readTags(db, ids)).map(({ id, name }) => [id, name]));
  return ids.flatMap((id) => names.get(id) ?? []);
};

const jsonOf = (value: unknown): unknown => {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
};

const stateOf = async (
  db: Database,
  kind: ContentKind,
  row: Columns & Record<string, unknown>,
  hidden: HiddenColumns | undefined,
): Promise<RecordState> => ({
  id: idFromBytes(row.id),
  title: row.title,
  author: { id: idFromBytes(row.author_id), nickname: row.nickname },
  type: kind.typeColumn === undefined ? null : (row[kind.typeColumn] as string | null),
  tags: await tagNamesOf(db, row.tag_ids),
  views: row.view_count,
  likes: row.like_count,
  dislikes: row.dislike_count,
  favorites: row.favorite_count,
  isHidden: hidden !== undefined,
  hiddenAt: optionalTime(hidden?.hidden_at),
  hiddenReason: hidden?.reason ?? null,
  authorHiddenAt: optionalTime(hidden?.author_hidden_at),
  createdAt: timeFromDb(row.created_at),
  updatedAt: timeFromDb(row.updated_at),
  details: Object.fromEntries(
    [...kind.summaryColumns, ...kind.detailColumns]
      .filter((column) => column !== kind.typeColumn)
      .map((column) => [column, jsonOf(row[column])]),
  ),
});

/** A record, be it hidden. @throws AppError the kind's NOT_FOUND */
export const readRecordState = async (db: Database, kind: ContentKind, id: string): Promise<RecordState> => {
  const key = idToBytes(id);
  if (!key) throw new AppError(kind.notFound, { hint: id });
  const own = [...kind.summaryColumns, ...kind.detailColumns].map((column) => `r.${column}`);
  const [row] = await db.read<Columns & Record<string, unknown>>(
    `SELECT r.id, r.title, r.author_id, u.nickname, ${tagIdsOf(kind, 'r')} AS tag_ids, r.view_count, r.like_count, r.dislike_count,
      r.favorite_count, r.created_at, r.updated_at, ${own.join(', ')}
    FROM ${kind.table} r JOIN users u ON u.id = r.author_id WHERE r.id = ?`,
    [key],
  );
  if (row) return stateOf(db, kind, row, undefined);
  const hidden = await readHidden<Columns & Record<string, unknown>>(db, kind, key);
  if (!hidden) throw new AppError(kind.notFound, { hint: id });
  return stateOf(db, kind, hidden, hidden);
};

/** Deletes a record, be it hidden, with all that hangs on it. Returns whether it was there. */
export const deleteRecord = async (db: Database, removable: RemovableKind, id: string, by: Actor): Promise<boolean> => {
  const { kind } = removable;
  const key = idToBytes(id);
  if (!key) return false;
  const action = `${commandOf(kind)} delete`;
  const removed = await removeRecords(db, removable, [key], { before: noteRecords({ by, action }, kind) });
  if (removed > 0) return true;
  return deleteHiddenRecord(db, kind, key, async (tx, { title, authorId }) => {
    const before = { [kind.table]: [{ id, title, authorId }], isHidden: true };
    await record(tx, by, { action, subject: `${kind.table} ${id}`, before });
  });
};
