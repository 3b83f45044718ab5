import { countFromDb, idFromBytes, timeFromDb } from '../db/values.ts';
import type { ListPage } from './read/list/list.ts';
import type { ContentRecord, StoredRecord, ViewerState } from './records.ts';

/** The viewer's favorite and reaction, from a row that was read for one viewer. */
const viewingOf = ({ favorited, reaction = null }: StoredRecord): ViewerState | undefined =>
  favorited === undefined ? undefined : { favorited, reaction };

/**
 * The members that games and image posts share on the wire. This is a separate object, to which the kinds add their own
 * members: V8 takes twenty times as long to spread an object this large.
 */
export const contentView = ({ row, tags, viewing = viewingOf(row) }: ContentRecord<unknown>) => ({
  id: idFromBytes(row.id),
  title: row.title,
  tags,
  author: { id: idFromBytes(row.authorId), nickname: row.authorNickname, avatar: row.authorAvatar },
  viewCount: countFromDb(row.viewCount),
  likeCount: countFromDb(row.likeCount),
  dislikeCount: countFromDb(row.dislikeCount),
  favoriteCount: countFromDb(row.favoriteCount),
  viewer: viewing ? { favorited: viewing.favorited === 1, reaction: viewing.reaction } : null,
  createdAt: timeFromDb(row.createdAt),
  updatedAt: timeFromDb(row.updatedAt),
});

/** A page of records on the wire. */
export const pageView = <Own, Item>(
  { page = 1, limit }: { page?: number | undefined; limit: number },
  { records, total, totalRelation, hasMore, nextCursor }: ListPage<ContentRecord<Own>>,
  itemView: (record: ContentRecord<Own>) => Item,
) => ({ items: records.map(itemView), page, limit, total, totalRelation, hasMore, nextCursor });
