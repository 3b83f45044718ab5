import type { StoredContent } from '../../content/records.ts';
import { rowOf } from '../../db/sql/table.ts';
import { countFromDb, idFromBytes, timeFromDb } from '../../db/values.ts';
import { gameColumns, type StoredGame } from '../../game/kind.ts';
import { imagesOf, type StoredImagePost } from '../../image/kind.ts';
import type { UserRow } from '../../user/entity.ts';
import type { Reactions, LineOf } from './format.ts';

// Rows as lines, their members always in the same order. `JSON.stringify` leaves undefined members out.

/** A record without its author, as it is stored. */
export interface ExportedRecord extends StoredContent {
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
const recordEnd = (row: ExportedRecord, tagNames: string[], { favorites, likes, dislikes }: Reactions) => ({
  tagNames,
  isHidden: row.isHidden,
  hiddenAt: row.hiddenAt?.toISOString(),
  hiddenReason: row.reason ?? undefined,
  viewCount: countFromDb(row.viewCount),
  createdAt: timeFromDb(row.createdAt),
  updatedAt: timeFromDb(row.updatedAt),
  favorites: orNone(favorites),
  likes: orNone(likes),
  dislikes: orNone(dislikes),
});

const withoutNulls = <Row extends object>(row: Row) =>
  Object.fromEntries(Object.entries(row).map(([member, value]) => [member, value ?? undefined])) as {
    [Member in keyof Row]: NonNullable<Row[Member]> | (null extends Row[Member] ? undefined : never);
  };

export const gameLine = (row: StoredGame & ExportedRecord, tagNames: string[], audience: Reactions): LineOf<'game'> => {
  const { extraInfo, originalAuthor, ...own } = rowOf({ ...gameColumns.detail, ...gameColumns.summary }, row);
  const { originalName, fileSize, platforms, screenshots, downloads } = extraInfo;
  return {
    kind: 'game',
    id: idFromBytes(row.id),
    authorId: idFromBytes(row.authorId),
    title: row.title,
    ...withoutNulls(own),
    extraInfo: {
      originalName,
      originalAuthor: originalAuthor ?? undefined,
      fileSize,
      platforms,
      screenshots,
      downloads: downloads?.map(({ name, url, password }) => ({ name, url, password })),
    },
    ...recordEnd(row, tagNames, audience),
  };
};

export const imageLine = (
  row: StoredImagePost & ExportedRecord,
  tagNames: string[],
  audience: Reactions,
): LineOf<'image'> => ({
  kind: 'image',
  id: idFromBytes(row.id),
  authorId: idFromBytes(row.authorId),
  title: row.title,
  images: imagesOf(row),
  description: row.description ?? undefined,
  ...recordEnd(row, tagNames, audience),
});
