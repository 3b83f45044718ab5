import type { ContentKind } from '../content/kind.ts';
import { tagIdsOf } from '../content/tag-ids.ts';

const links = { tagTable: 'image_post_tags', foreignKey: 'image_post_id' };

export const imageKind: ContentKind = {
  entity: 'ImagePost',
  table: 'image_posts',
  ...links,
  favoriteTable: 'image_post_favorites',
  reactionTable: 'image_post_reactions',
  tagsAreKept: false,
  typeSorts: [],
  countColumn: 'image_post_count',
  summaryColumns: ['images', 'image_count'],
  detailColumns: ['description', 'more_images'],
  searchedColumns: [],
  searchedTexts: () => [],
  router: 'image',
  notFound: 'IMAGE_POST_NOT_FOUND',
  search: { code: 2, table: 'image_posts', hasTerms: true, tagIds: tagIdsOf(links, 'image_posts') },
};
