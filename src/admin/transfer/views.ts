import type { SharedColumns } from '../../content/entity.ts';
import { countFromDb, idFromBytes, timeFromDb } from '../../db/values.ts';
import type { GameColumns, StoredExtraInfo } from '../../game/entity.ts';
import type { ImagePostColumns } from '../../image/entity.ts';
import { imagesOf } from '../../image/images.ts';
import type { UserRow } from '../../user/entity.ts';
import type { Reactions, LineOf } from './format.ts';

// Rows as lines, their members always in the same order. `JSON.stringify` leaves undefined members out.

/** The columns of a record, without those of its author. */
export interface ExportedColumns extends Omit<SharedColumns, 'author_nickname' | 'author_avatar'> {
  /** Set for a hidden record; the other two as well if it is hidden by itself. */
  isHidden?: true;
  hiddenAt?: Date | null;
  reason?: string | null;
}

export const userLine = (row: UserRow): LineOf<'user'> => ({
  kind: 'user',
  id: row.id,
  nickname: row.nickname,
  bio: row.bio ?? undefined,
  pronouns: row.pronouns ?? undefined,
  website: row.website ?? undefined,
  location: row.location ?? undefined,
  socialLinks: row.socialLinks,
  avatar: row.avatar ?? undefined,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  suspendedAt: row.suspendedAt?.toISOString(),
  hiddenAt: row.hiddenAt?.toISOString(),
});

const orNone = <T>(list: readonly T[] | undefined): T[] | undefined =>
  list === undefined || list.length === 0 ? undefined : [...list];

/** The members of every record, which follow those of its kind. */
const recordEnd = (row: ExportedColumns, tagNames: string[], { favorites, likes, dislikes }: Reactions) => ({
  tagNames,
  isHidden: row.isHidden,
  hiddenAt: row.hiddenAt?.toISOString(),
  hiddenReason: row.reason ?? undefined,
  viewCount: countFromDb(row.view_count),
  createdAt: timeFromDb(row.created_at),
  updatedAt: timeFromDb(row.updated_at),
  favorites: orNone(favorites),
  likes: orNone(likes),
  dislikes: orNone(dislikes),
});

export const gameLine = (
  row: GameColumns & ExportedColumns,
  tagNames: string[],
  audience: Reactions,
): LineOf<'game'> => {
  const { originalName, fileSize, platforms, screenshots, downloads } = JSON.parse(row.extra_info) as StoredExtraInfo;
  return {
    kind: 'game',
    id: idFromBytes(row.id),
    authorId: idFromBytes(row.author_id),
    title: row.title,
    description: row.description ?? undefined,
    coverUrl: row.cover_url ?? undefined,
    gameType: row.game_type ?? undefined,
    isFree: row.is_free === 1,
    version: row.version ?? undefined,
    extraInfo: {
      originalName,
      originalAuthor: row.original_author ?? undefined,
      fileSize,
      platforms,
      screenshots,
      downloads: downloads?.map(({ name, url, password }) => ({ name, url, password })),
    },
    ...recordEnd(row, tagNames, audience),
  };
};

export const imageLine = (
  row: ImagePostColumns & ExportedColumns,
  tagNames: string[],
  audience: Reactions,
): LineOf<'image'> => ({
  kind: 'image',
  id: idFromBytes(row.id),
  authorId: idFromBytes(row.author_id),
  title: row.title,
  images: imagesOf(row),
  description: row.description ?? undefined,
  ...recordEnd(row, tagNames, audience),
});
