import type { SharedColumns } from '../../content/entity.ts';
import { countFromDb, idFromBytes, timeFromDb } from '../../db/values.ts';
import type { GameColumns, StoredExtraInfo } from '../../game/entity.ts';
import type { ImagePostColumns } from '../../image/entity.ts';
import { imagesOf } from '../../image/images.ts';
import type { UserColumns } from '../../user/entity.ts';
import type { Reactions, LineOf } from './format.ts';

// Rows as lines, their members always in the same order. `JSON.stringify` leaves undefined members out.

/** The columns of a record, without those of its author. */
export interface ExportedColumns extends Omit<SharedColumns, 'author_nickname' | 'author_avatar'> {
  /** Set for a hidden record; the other two as well if it is hidden by itself. */
  isHidden?: true;
  hidden_at?: string | null;
  reason?: string | null;
}

const optionalTime = (stored: string | null | undefined): string | undefined =>
  stored === null || stored === undefined ? undefined : timeFromDb(stored);

/** The columns of a user, with what concerns operators only. */
export type FullUserColumns = UserColumns & { suspended_at: string | null; hidden_at: string | null };

export const userLine = (row: FullUserColumns): LineOf<'user'> => ({
  kind: 'user',
  id: idFromBytes(row.id),
  nickname: row.nickname,
  bio: row.bio ?? undefined,
  pronouns: row.pronouns ?? undefined,
  website: row.website ?? undefined,
  location: row.location ?? undefined,
  socialLinks: JSON.parse(row.social_links) as Record<string, string>,
  avatar: row.avatar ?? undefined,
  createdAt: timeFromDb(row.created_at),
  updatedAt: timeFromDb(row.updated_at),
  suspendedAt: optionalTime(row.suspended_at),
  hiddenAt: optionalTime(row.hidden_at),
});

const orNone = <T>(list: readonly T[] | undefined): T[] | undefined =>
  list === undefined || list.length === 0 ? undefined : [...list];

/** The members of every record, which follow those of its kind. */
const recordEnd = (row: ExportedColumns, tagNames: string[], { favorites, likes, dislikes }: Reactions) => ({
  tagNames,
  isHidden: row.isHidden,
  hiddenAt: optionalTime(row.hidden_at),
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
