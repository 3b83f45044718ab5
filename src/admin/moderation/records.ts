import { type Actor, record } from '../../auth/audit/log.ts';
import { removeRecords } from '../../content/write/remove.ts';
import { deleteHiddenRecord } from './hidden/delete.ts';
import { type HiddenState, readHidden, type AnyRecord } from './hidden/read.ts';
import { type ContentKind, ownColumns, typeIn } from '../../content/kind.ts';
import { readRecordMap } from '../../content/records.ts';
import { currentTags, type TagName } from '../../content/tag/dictionary.ts';
import type { Database } from '../../db/database.ts';
import { columnName } from '../../db/sql/table.ts';
import { idFromBytes, idToBytes, isId, timeFromDb } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { noteRecords } from './removal.ts';

const jsonOf = (value: unknown): unknown => {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
};

/** A record as operators see it. */
const stateOf = (kind: ContentKind, row: AnyRecord, tags: readonly TagName[], hidden?: HiddenState) => ({
  id: idFromBytes(row.id),
  title: row.title,
  author: { id: idFromBytes(row.authorId), nickname: row.authorNickname },
  /** The type of a game. */
  type: typeIn(kind, row) as string | null,
  tags: tags.map(({ name }) => name),
  views: row.viewCount,
  likes: row.likeCount,
  dislikes: row.dislikeCount,
  favorites: row.favoriteCount,
  /** Whether the API does not show the record, since it is hidden by itself or with its author. */
  isHidden: hidden !== undefined,
  /** The time since when it is hidden by itself, and the reason. */
  hiddenAt: hidden?.hiddenAt?.toISOString() ?? null,
  hiddenReason: hidden?.reason ?? null,
  /** The time since when it is hidden with its author. */
  authorHiddenAt: hidden?.authorHiddenAt?.toISOString() ?? null,
  createdAt: timeFromDb(row.createdAt),
  updatedAt: timeFromDb(row.updatedAt),
  /** The other columns of the record, as they are stored. */
  details: Object.fromEntries(
    Object.keys(ownColumns(kind))
      .map((member): [name: string, value: unknown] => [columnName(ownColumns(kind), member), jsonOf(row[member])])
      .filter(([name]) => name !== kind.typeColumn),
  ),
});

/** A record, hidden or not. @throws AppError the kind's NOT_FOUND */
export const readRecordState = async (
  db: Database,
  kind: ContentKind,
  id: string,
): Promise<ReturnType<typeof stateOf>> => {
  const shape = { detail: true, viewerId: undefined };
  const shown = (await readRecordMap<Record<string, unknown>>(db, currentTags, kind, shape, [id])).get(id);
  if (shown) return stateOf(kind, shown.row, shown.tags);
  const hidden = isId(id) && (await readHidden(db, kind, id));
  if (!hidden) throw new AppError(kind.notFound, { hint: id });
  const [tags = []] = await currentTags.namesOf(db, [hidden.row.tagIds]);
  return stateOf(kind, hidden.row, tags, hidden.state);
};

/** Deletes a record, hidden or not, with all dependent data. Returns whether it existed. */
export const deleteRecord = async (db: Database, kind: ContentKind, id: string, by: Actor): Promise<boolean> => {
  const key = idToBytes(id);
  if (!key) return false;
  const action = `${kind.router}s delete`;
  const removed = await removeRecords(db, kind, [key], { before: noteRecords({ by, action }, kind) });
  // A record that is being shown again is in both tables.
  const wasHidden = await deleteHiddenRecord(db, kind, key, async (tx, { title, authorId }) => {
    const before = { [kind.table]: [{ id, title, authorId }], isHidden: true };
    await record(tx, by, { action, subject: `${kind.table} ${id}`, before });
  });
  return removed > 0 || wasHidden;
};
