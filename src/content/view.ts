import { countFromDb, idFromBytes, timeFromDb } from '../db/values.ts';
import type { SharedColumns } from './entity.ts';
import type { ListPage } from './read/list/list.ts';
import type { ContentRecord } from './records.ts';
import type { ViewerColumns } from './viewer.ts';

/** The viewer's favorite and reaction, from the columns of a row that was read for one viewer. */
const viewingOf = ({ favorited, reaction = null }: SharedColumns): ViewerColumns | undefined =>
  favorited === undefined ? undefined : { favorited, reaction };

/**
 * The members that games and image posts share on the wire, as an object of its own that the kinds add theirs to: V8 takes
 * twenty times as long to spread one so large.
 */
export const contentView = ({ row, tags, viewing = viewingOf(row) }: ContentRecord<unknown>) => ({
  id: idFromBytes(row.id),
  title: row.title,
  tags,
  author: { id: idFromBytes(row.author_id), nickname: row.author_nickname, avatar: row.author_avatar },
  viewCount: countFromDb(row.view_count),
  likeCount: countFromDb(row.like_count),
  dislikeCount: countFromDb(row.dislike_count),
  favoriteCount: countFromDb(row.favorite_count),
  viewer: viewing ? { favorited: viewing.favorited === 1, reaction: viewing.reaction } : null,
  createdAt: timeFromDb(row.created_at),
  updatedAt: timeFromDb(row.updated_at),
});

/** A page of records on the wire. */
export const pageView = <Columns, Item>(
  { page = 1, limit }: { page?: number | undefined; limit: number },
  { records, total, totalRelation, hasMore, nextCursor }: ListPage<ContentRecord<Columns>>,
  itemView: (record: ContentRecord<Columns>) => Item,
) => ({ items: records.map(itemView), page, limit, total, totalRelation, hasMore, nextCursor });
