import { idFromBytes, timeFromDb } from '../db/values.ts';
import type { ListPage } from './list.ts';
import type { ContentRecord } from './records.ts';

/** The members that games and image posts share on the wire. */
export const contentView = ({ row, tags }: ContentRecord<unknown>) => ({
  id: idFromBytes(row.id),
  title: row.title,
  tags,
  author: { id: idFromBytes(row.author_id), nickname: row.author_nickname, avatar: row.author_avatar },
  viewCount: row.view_count,
  likeCount: row.like_count,
  dislikeCount: row.dislike_count,
  favoriteCount: row.favorite_count,
  viewer: row.favorited === undefined ? null : { favorited: row.favorited === 1, reaction: row.reaction ?? null },
  createdAt: timeFromDb(row.created_at),
  updatedAt: timeFromDb(row.updated_at),
});

/** A page of records on the wire. */
export const pageView = <Columns, Item>(
  { page, limit }: { page: number; limit: number },
  { records, total, totalRelation, hasMore, nextCursor }: ListPage<ContentRecord<Columns>>,
  itemView: (record: ContentRecord<Columns>) => Item,
) => ({ items: records.map(itemView), page, limit, total, totalRelation, hasMore, nextCursor });
