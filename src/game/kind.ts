import type { ContentKind } from '../content/kind.ts';
import { tagIdsOf } from '../content/tag-ids.ts';

const links = { tagTable: 'game_tags', foreignKey: 'game_id' };

export const gameKind: ContentKind = {
  entity: 'Game',
  table: 'games',
  ...links,
  favoriteTable: 'game_favorites',
  reactionTable: 'game_reactions',
  typeColumn: 'game_type',
  tagsAreKept: true,
  typeSorts: ['latest', 'views'],
  countColumn: 'game_count',
  summaryColumns: ['cover_url', 'game_type', 'is_free', 'version'],
  detailColumns: ['description', 'original_author', 'extra_info'],
  searchedColumns: ['original_author', 'extra_info'],
  searchedTexts: ({ original_author: author, extra_info: extraInfo }) => [
    (JSON.parse(extraInfo ?? '{}') as { originalName?: string }).originalName,
    author,
  ],
  router: 'game',
  notFound: 'GAME_NOT_FOUND',
  search: { code: 1, table: 'games', hasTerms: true, tagIds: tagIdsOf(links, 'games'), typeColumn: 'game_type' },
};
