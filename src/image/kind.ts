import { MAX_SUMMARY_IMAGES } from '../../contract/limits.ts';
import { column, nullable, optioned, type RowOf, type StoredOf } from '../db/sql/table.ts';
import { repositoryOf } from '../db/manager.ts';
import type { ContentRow } from '../content/entity.ts';
import { type ContentKind, tagIdsOf } from '../content/kind.ts';

const columns = {
  summary: {
    /** JSON of the URLs in lists. */
    images: column.longText,
    imageCount: optioned({ default: 0 }, column.count),
  },
  detail: {
    description: nullable(column.longText),
    /** JSON of the URLs after those in `images`, null for none. The last column, so that lists never read it. */
    moreImages: nullable(column.longText),
  },
};

/** The stored members that only image posts have, in lists. */
export type StoredImagePostSummary = StoredOf<typeof columns.summary>;
/** The stored members that only image posts have, in full. */
export type StoredImagePost = StoredImagePostSummary & StoredOf<typeof columns.detail>;

export type ImagePostRow = ContentRow & RowOf<typeof columns.summary & typeof columns.detail>;

export const imagePostsIn = repositoryOf<ImagePostRow>('ImagePost');

const links = { tagTable: 'image_post_tags', foreignKey: 'image_post_id' };

export const imageKind: ContentKind = {
  entity: 'ImagePost',
  table: 'image_posts',
  columns,
  indices: {
    latest: ['createdAt', 'id'],
    views: ['viewCount', 'createdAt', 'id'],
    author: ['authorId', 'createdAt'],
  },
  ...links,
  favoriteTable: 'image_post_favorites',
  reactionTable: 'image_post_reactions',
  countsTagChanges: false,
  countColumn: 'image_post_count',
  searched: [],
  searchedTexts: () => [],
  router: 'image',
  notFound: 'IMAGE_POST_NOT_FOUND',
  search: { code: 2, table: 'image_posts', hasTerms: true, tagIds: tagIdsOf(links, 'image_posts') },
};

/** The members that contain the images of a post. */
export const imageMembers = (images: readonly string[]) => ({
  images: JSON.stringify(images.slice(0, MAX_SUMMARY_IMAGES)),
  imageCount: images.length,
  moreImages: images.length > MAX_SUMMARY_IMAGES ? JSON.stringify(images.slice(MAX_SUMMARY_IMAGES)) : null,
});

/**
 * All images of a post. Versions before the other columns existed, which may run beside this one, store all of them in
 * `images`: if its length is not the number that lists show, it is complete.
 */
export const imagesOf = ({ images, moreImages: more }: Pick<StoredImagePost, 'images' | 'moreImages'>): string[] => {
  const first = JSON.parse(images) as string[];
  return first.length === MAX_SUMMARY_IMAGES && more !== null ? first.concat(JSON.parse(more) as string[]) : first;
};
