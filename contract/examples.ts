import { MAX_SUMMARY_IMAGES } from './limits.ts';

/**
 * The records of the contract's examples. The embedded demo database holds them under these ids, so that every example
 * works there unchanged.
 */
export const exampleUser = {
  id: '019a3c5e-7d10-7a41-9b1e-5f0c8a2d6e01',
  nickname: 'demo',
  avatar: '/avatars/demo.png',
};

const published = { createdAt: '2025-11-01T09:30:00.000Z', updatedAt: '2025-11-01T09:30:00.000Z' };
const untouched = { viewCount: 0, likeCount: 0, dislikeCount: 0, favoriteCount: 0 };

export const exampleGameInput = {
  title: '星の伝説 〜ドラゴンと約束の丘〜',
  description: '失われた星を探す、全12章の長編ロールプレイング。',
  coverUrl: 'https://images.example.com/hoshi/cover.webp',
  gameType: 'RPG',
  isFree: true,
  version: 'Ver1.2',
  tagNames: ['ファンタジー', 'Dragons', '长篇'],
  extraInfo: {
    originalName: '星の伝説',
    originalAuthor: '青い丘工房',
    fileSize: '1.5GB',
    platforms: ['Windows', 'Android'],
    screenshots: ['https://images.example.com/hoshi/1.webp'],
    downloads: [{ name: 'Mirror 1', url: 'https://files.example.com/hoshi-1.2.zip', password: 'hoshi' }],
  },
};

const exampleTags = [
  { name: 'ファンタジー', slug: 'ファンタジー' },
  { name: 'Dragons', slug: 'dragons' },
  { name: '长篇', slug: '长篇' },
];

export const exampleGameSummary = {
  id: '019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02',
  title: exampleGameInput.title,
  coverUrl: exampleGameInput.coverUrl,
  gameType: exampleGameInput.gameType,
  isFree: exampleGameInput.isFree,
  version: exampleGameInput.version,
  tags: exampleTags,
  author: exampleUser,
  ...untouched,
  viewer: null,
  ...published,
};

export const exampleGame = {
  ...exampleGameSummary,
  description: exampleGameInput.description,
  extraInfo: exampleGameInput.extraInfo,
};

/** A second game, with the required members only. */
export const plainGameInput = { title: 'Lighthouse Keeper', gameType: 'ADV' };

export const plainGame = {
  ...exampleGame,
  id: '019a3c5e-9f30-7c63-9d30-7b2eac4f8003',
  ...plainGameInput,
  coverUrl: null,
  version: null,
  tags: [],
  description: null,
  extraInfo: {
    originalName: null,
    originalAuthor: null,
    fileSize: null,
    platforms: [],
    screenshots: [],
    downloads: [],
  },
};

export const exampleImagePostInput = {
  title: '雨の路地裏',
  images: [1, 2, 3, 4, 5].map((n) => `https://images.example.com/alley/${n}.webp`),
  description: 'Five studies of one street in the rain.',
  tagNames: ['风景', 'Rain'],
};

export const exampleImagePostSummary = {
  id: '019a3c5e-a040-7d74-8e41-8c3fbd509104',
  title: exampleImagePostInput.title,
  images: exampleImagePostInput.images.slice(0, MAX_SUMMARY_IMAGES),
  imageCount: exampleImagePostInput.images.length,
  tags: [
    { name: '风景', slug: '风景' },
    { name: 'Rain', slug: 'rain' },
  ],
  author: exampleUser,
  ...untouched,
  viewer: null,
  ...published,
};

export const exampleImagePost = {
  ...exampleImagePostSummary,
  images: exampleImagePostInput.images,
  description: exampleImagePostInput.description,
};

/** Two events. */
export const exampleEvent = {
  id: '019a3c5e-e480-7181-8285-d072f394d508',
  position: 1,
  type: 'game.created' as const,
  record: { kind: 'game' as const, id: exampleGameSummary.id },
  actorId: exampleUser.id,
  at: published.createdAt,
};
export const exampleUpdate = {
  id: '019a3c5e-f590-7292-9396-e18304a5e609',
  position: 2,
  type: 'image.updated' as const,
  record: { kind: 'image' as const, id: exampleImagePostSummary.id },
  actorId: exampleUser.id,
  at: published.updatedAt,
};

/** A webhook and a delivery to it. */
export const exampleWebhook = {
  id: '019a3c5f-06a0-73a3-a4a7-f29415b6f70a',
  url: 'https://hooks.example.com/content',
  types: ['game.created' as const, 'game.deleted' as const],
  recordId: null,
  state: 'active' as const,
  reason: null,
  failingSince: null,
  ...published,
};
export const exampleDelivery = {
  id: '019a3c5f-17b0-74b4-b5b8-03a526c7080b',
  type: 'game.created' as const,
  recordId: exampleGameSummary.id,
  state: 'delivered' as const,
  attempts: 1,
  nextAt: null,
  answeredAt: published.createdAt,
  status: 200,
  answer: 'OK',
};

/** A published consumer contract. */
export const exampleContract = {
  consumer: 'shop-web',
  tag: 'production',
  contract: '1.1.0',
  needs: [
    {
      operation: 'game.list',
      test: 'shows the newest games',
      sends: ['/limit', '/page', '/sortBy', '/sortBy=latest'],
      reads: ['/items/*/title', '/items/*/coverUrl'],
      reasons: ['RATE_LIMITED'],
    },
  ],
  publishedAt: published.updatedAt,
};

/** The `viewer` of a record that the caller has just created. */
export const untouchedViewer = { favorited: false, reaction: null };

/** The reply to a list of one item. */
export const singlePage = <T>(item: T) => ({
  items: [item],
  page: 1,
  limit: 20,
  total: 1,
  totalRelation: 'eq' as const,
  hasMore: false,
  nextCursor: null,
});

/** A key of the user other than the key in use. */
export const exampleApiKey = {
  id: '019a3c5e-b151-7e85-9f52-9d40ce61a205',
  prefix: 'cgk_7Qm3xT9a',
  name: 'nightly import',
  scopes: ['content:write' as const, 'user:read' as const],
  state: 'active' as const,
  expiresAt: '2026-01-30T09:00:00.000Z',
  revokedAt: null,
  lastUsedAt: '2025-11-01T09:30:00.000Z',
  createdAt: '2025-11-01T09:00:00.000Z',
  madeBy: null,
};

/** A failed call. */
export const exampleFailedCall = {
  requestId: '0f1c6bd2-4d3e-4c53-8a55-3f1a3f3c9f10',
  operation: 'game.list',
  at: published.createdAt,
  status: 400,
  reason: 'VALIDATION_FAILED',
  issues: [{ path: '/limit', code: 'too_big' }],
};
