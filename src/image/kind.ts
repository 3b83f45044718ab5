import type { ContentKind } from '../content/kind.ts';

export const imageKind: ContentKind = {
  entity: 'ImagePost',
  table: 'image_posts',
  foreignKey: 'image_post_id',
  tagTable: 'image_post_tags',
  favoriteTable: 'image_post_favorites',
  reactionTable: 'image_post_reactions',
  tagsAreKept: false,
  typeSorts: [],
  countColumn: 'image_post_count',
  summaryColumns: ['images', 'image_count'],
  detailColumns: ['description', 'more_images'],
  searchedColumns: [],
  searchedTexts: () => [],
  notFound: 'IMAGE_POST_NOT_FOUND',
  search: { code: 2, table: 'image_posts', hasTerms: true, hasTags: true },
};
