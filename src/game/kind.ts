import { column, nullable, type RowOf, type StoredOf } from '../db/sql/table.ts';
import { repositoryOf } from '../db/manager.ts';
import type { ContentRow } from '../content/entity.ts';
import { type ContentKind, tagIdsOf } from '../content/kind.ts';

/** The stored members of `extraInfo`; the original author has a separate column. */
export interface StoredExtraInfo {
  originalName?: string | undefined;
  fileSize?: string | undefined;
  platforms?: string[] | undefined;
  screenshots?: string[] | undefined;
  downloads?: { name: string; url: string; password?: string | undefined }[] | undefined;
}

export const gameColumns = {
  summary: {
    coverUrl: nullable(column.text(2048)),
    gameType: nullable(column.text(32)),
    isFree: column.flag,
    version: nullable(column.text(32)),
  },
  detail: {
    description: nullable(column.longText),
    originalAuthor: nullable(column.text(200)),
    extraInfo: column.json<StoredExtraInfo>(),
  },
};

/** The stored members that only games have, in lists. */
export type StoredGameSummary = StoredOf<typeof gameColumns.summary>;
/** The stored members that only games have, in full. */
export type StoredGame = StoredGameSummary & StoredOf<typeof gameColumns.detail>;

export type GameRow = ContentRow & RowOf<typeof gameColumns.summary & typeof gameColumns.detail>;

export const gamesIn = repositoryOf<GameRow>('Game');

export const TYPES = 'games:';
/** The upper bound of the names of all type counters. MySQL's `LIKE` would miss names with characters beyond U+FFFF. */
export const AFTER_TYPES = 'games;';

/** The name of the counter of the games of a type. For games without a type, it ends in a colon. */
export const typeCounter = (gameType: string | null): string => `${TYPES}${gameType ?? ''}`;

const links = { tagTable: 'game_tags', foreignKey: 'game_id' };

export const gameKind: ContentKind = {
  entity: 'Game',
  table: 'games',
  columns: gameColumns,
  indices: {
    latest: ['createdAt', 'id', 'viewCount', 'likeCount', 'favoriteCount', 'gameType'],
    type_latest: ['gameType', 'createdAt', 'id'],
    views: ['viewCount', 'createdAt', 'id', 'gameType'],
    type_views: ['gameType', 'viewCount', 'createdAt', 'id'],
    likes: ['likeCount', 'createdAt', 'id', 'gameType'],
    favorites: ['favoriteCount', 'createdAt', 'id', 'gameType'],
    author: ['authorId', 'createdAt'],
    original_author: ['originalAuthor', 'id'],
  },
  ...links,
  favoriteTable: 'game_favorites',
  reactionTable: 'game_reactions',
  typeColumn: 'game_type',
  countsTagChanges: true,
  typeCounters: TYPES,
  countColumn: 'game_count',
  searched: ['originalAuthor', 'extraInfo'],
  searchedTexts: ({ originalAuthor, extraInfo }) => [
    (JSON.parse(extraInfo ?? '{}') as StoredExtraInfo).originalName,
    originalAuthor,
  ],
  router: 'game',
  notFound: 'GAME_NOT_FOUND',
  search: { code: 1, table: 'games', hasTerms: true, tagIds: tagIdsOf(links, 'games'), typeColumn: 'game_type' },
};
