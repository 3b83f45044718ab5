import { z } from 'zod';

// What both peers check requests and replies by.

const count = z.number().int().min(0);
const tag = z.object({ name: z.string(), slug: z.string() });
const author = z.object({ id: z.string(), nickname: z.string(), avatar: z.string().nullable() });
const viewer = z.object({ favorited: z.boolean(), reaction: z.enum(['like', 'dislike']).nullable() }).nullable();

const summary = {
  id: z.string(),
  title: z.string(),
  tags: z.array(tag),
  author,
  viewCount: count,
  likeCount: count,
  dislikeCount: count,
  favoriteCount: count,
  viewer,
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  coverUrl: z.string().nullable(),
  gameType: z.string().nullable(),
  isFree: z.boolean(),
  version: z.string().nullable(),
};

export const Game = z.object({
  ...summary,
  description: z.string().nullable(),
  extraInfo: z.object({
    originalName: z.string().nullable(),
    originalAuthor: z.string().nullable(),
    fileSize: z.string().nullable(),
    platforms: z.array(z.string()),
    screenshots: z.array(z.string()),
    downloads: z.array(z.object({ name: z.string(), url: z.string(), password: z.string().nullable() })),
  }),
});

export const GamePage = z.object({
  items: z.array(z.object(summary)),
  page: count,
  limit: count,
  total: count,
  totalRelation: z.enum(['eq', 'gte']),
  hasMore: z.boolean(),
  nextCursor: z.string().nullable(),
});

export const Profile = z.object({
  id: z.string(),
  nickname: z.string(),
  avatar: z.string().nullable(),
  bio: z.string().nullable(),
  pronouns: z.string().nullable(),
  website: z.string().nullable(),
  location: z.string().nullable(),
  socialLinks: z.record(z.string(), z.string()),
  gameCount: count,
  imagePostCount: count,
  createdAt: z.iso.datetime(),
});

export const FavoriteState = z.object({ gameId: z.string(), favorited: z.boolean(), favoriteCount: count });

export const ListInput = z.object({
  page: z.number().int().min(1),
  limit: z.number().int().min(1).max(100),
  gameType: z.string().max(32).optional(),
  tagSlugs: z.array(z.string().max(200)).max(10).optional(),
  timeRange: z.enum(['day', 'week', 'month', 'year', 'all']).default('all'),
  sortBy: z.enum(['latest', 'oldest', 'views', 'likes', 'favorites']).default('latest'),
});

export const IdInput = z.object({ id: z.uuid() });
export const GameIdInput = z.object({ gameId: z.uuid() });

export const GameInput = z.object({
  title: z.string().min(1).max(200),
  description: z.string().max(20_000).optional(),
  coverUrl: z.url().max(2048).optional(),
  gameType: z.string().max(32).optional(),
  isFree: z.boolean().default(true),
  version: z.string().max(32).optional(),
  tagNames: z.array(z.string().min(1).max(50)).max(20).default([]),
  extraInfo: z
    .object({
      originalName: z.string().max(200).optional(),
      originalAuthor: z.string().max(200).optional(),
      fileSize: z.string().max(32).optional(),
      platforms: z.array(z.string().max(32)).max(20).optional(),
      screenshots: z.array(z.url()).max(50).optional(),
      downloads: z
        .array(z.object({ name: z.string().max(200), url: z.url(), password: z.string().max(200).optional() }))
        .max(50)
        .optional(),
    })
    .default({}),
});
