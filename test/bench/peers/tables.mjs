import { customType, int, mysqlTable, smallint, text, tinyint, varchar } from 'drizzle-orm/mysql-core';

// The tables as drizzle sees them, with the names that the columns have in the database.

const bytes = customType({ dataType: ({ length }) => `binary(${length})` });
const id = (name) => bytes(name, { length: 16 });
// Times are texts in all subjects.
const time = customType({ dataType: () => 'datetime(3)' });

export const games = mysqlTable('games', {
  id: id('id').primaryKey(),
  author_id: id('author_id').notNull(),
  title: varchar('title', { length: 200 }).notNull(),
  description: text('description'),
  search_text: text('search_text').notNull(),
  tag_ids: varchar('tag_ids', { length: 220 }).notNull(),
  view_count: int('view_count').notNull().default(0),
  like_count: int('like_count').notNull().default(0),
  dislike_count: int('dislike_count').notNull().default(0),
  favorite_count: int('favorite_count').notNull().default(0),
  created_at: time('created_at').notNull(),
  updated_at: time('updated_at').notNull(),
  cover_url: varchar('cover_url', { length: 2048 }),
  game_type: varchar('game_type', { length: 32 }),
  is_free: tinyint('is_free').notNull(),
  version: varchar('version', { length: 32 }),
  original_author: varchar('original_author', { length: 200 }),
  extra_info: text('extra_info').notNull(),
});

export const users = mysqlTable('users', {
  id: id('id').primaryKey(),
  nickname: varchar('nickname', { length: 50 }).notNull(),
  bio: text('bio'),
  pronouns: varchar('pronouns', { length: 50 }),
  website: varchar('website', { length: 2048 }),
  location: varchar('location', { length: 100 }),
  social_links: text('social_links').notNull(),
  avatar: varchar('avatar', { length: 2048 }),
  game_count: int('game_count').notNull().default(0),
  image_post_count: int('image_post_count').notNull().default(0),
  created_at: time('created_at').notNull(),
});

export const tags = mysqlTable('tags', {
  id: int('id').primaryKey().autoincrement(),
  slug: varchar('slug', { length: 200 }).notNull(),
  name: varchar('name', { length: 50 }).notNull(),
  game_count: int('game_count').notNull().default(0),
});

export const gameTags = mysqlTable('game_tags', {
  game_id: id('game_id').notNull(),
  tag_id: int('tag_id').notNull(),
  position: smallint('position').notNull(),
  game_type: varchar('game_type', { length: 32 }),
});

export const gameFavorites = mysqlTable('game_favorites', {
  user_id: id('user_id').notNull(),
  game_id: id('game_id').notNull(),
});

export const gameReactions = mysqlTable('game_reactions', {
  user_id: id('user_id').notNull(),
  game_id: id('game_id').notNull(),
  type: varchar('type', { length: 7 }).notNull(),
});

export const counters = mysqlTable('counters', {
  name: varchar('name', { length: 64 }).primaryKey(),
  n: int('n').notNull(),
});

export const apiKeys = mysqlTable('api_keys', {
  user_id: id('user_id').notNull(),
  key_hash: bytes('key_hash', { length: 32 }).notNull(),
});
