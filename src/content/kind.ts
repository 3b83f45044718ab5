import type { Reason } from '../../contract/index.ts';

/** Where the records of a kind live: what games and image posts do alike is written once, over this. */
export interface ContentKind {
  /** The name of its entity. */
  entity: string;
  /** Also the name of its counter. */
  table: string;
  /** The column of the three tables below that names the record. */
  foreignKey: string;
  tagTable: string;
  favoriteTable: string;
  reactionTable: string;
  /** The column of `users` and `tags` that counts records of this kind. */
  countColumn: string;
  /** Columns beyond the shared ones that lists show. */
  summaryColumns: readonly string[];
  /** Columns that only the whole record shows. */
  detailColumns: readonly string[];
  notFound: Reason;
}

export const gameKind: ContentKind = {
  entity: 'Game',
  table: 'games',
  foreignKey: 'game_id',
  tagTable: 'game_tags',
  favoriteTable: 'game_favorites',
  reactionTable: 'game_reactions',
  countColumn: 'game_count',
  summaryColumns: ['cover_url', 'game_type', 'is_free', 'version'],
  detailColumns: ['description', 'original_author', 'extra_info'],
  notFound: 'GAME_NOT_FOUND',
};

export const imageKind: ContentKind = {
  entity: 'ImagePost',
  table: 'image_posts',
  foreignKey: 'image_post_id',
  tagTable: 'image_post_tags',
  favoriteTable: 'image_post_favorites',
  reactionTable: 'image_post_reactions',
  countColumn: 'image_post_count',
  summaryColumns: ['images'],
  detailColumns: ['description'],
  notFound: 'IMAGE_POST_NOT_FOUND',
};
