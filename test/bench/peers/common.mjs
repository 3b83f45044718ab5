import { createHash } from 'node:crypto';
import { V7Generator } from 'uuidv7';
import { searchText } from '../../../dist/src/search/text.js';
import { slugOf } from '../../../dist/src/content/tag/slug.js';
import { idBytes, storedTime } from '../subjects/wire.mjs';

const DAY_MS = 86_400_000;
const rangeDays = { day: 1, week: 7, month: 30, year: 365 };
const counters = { views: 'view_count', likes: 'like_count', favorites: 'favorite_count' };
const ids = new V7Generator();

/** When a time range began, as it is stored. */
export const rangeStart = (timeRange) => storedTime(new Date(Date.now() - rangeDays[timeRange] * DAY_MS));

/** The columns that a list is sorted by. */
export const sortColumns = (sortBy) => ({
  columns: [...(counters[sortBy] ? [counters[sortBy]] : []), 'created_at', 'id'],
  direction: sortBy === 'oldest' ? 'asc' : 'desc',
});

/** What is stored of the key in an `Authorization` header. */
export const hashOf = (authorization) => createHash('sha256').update(authorization.slice('Bearer '.length)).digest();

/** Names of tags by their slugs. */
export const slugsOf = (names) => new Map(names.map((name) => [slugOf(name), name]));

/** Tags by the hexadecimal id of their game, from rows with `game_id`, `name` and `slug`. */
export const tagsByGame = (rows) => {
  const byGame = new Map();
  for (const { game_id: id, name, slug } of rows) {
    const hex = id.toString('hex');
    byGame.set(hex, [...(byGame.get(hex) ?? []), { name, slug }]);
  }
  return byGame;
};

/** The row of a new game. */
export const newGameRow = (input, tags, user) => {
  const { originalAuthor = null, ...extra } = input.extraInfo;
  const now = new Date();
  return {
    id: idBytes(ids.generateOrResetCore(now.getTime(), 10_000).toString()),
    author_id: user,
    title: input.title,
    description: input.description ?? null,
    search_text: searchText([input.title, extra.originalName, originalAuthor, ...tags.map((tag) => tag.name)]),
    tag_ids: tags.map((tag) => tag.id).join(','),
    created_at: storedTime(now),
    updated_at: storedTime(now),
    cover_url: input.coverUrl ?? null,
    game_type: input.gameType ?? null,
    is_free: input.isFree ? 1 : 0,
    version: input.version ?? null,
    original_author: originalAuthor,
    extra_info: JSON.stringify(extra),
  };
};

/** The total of a list, as counted. */
export const exactly = (total) => ({ total, totalRelation: 'eq' });

/** The total of a list of which no more than `most` and one were counted. */
export const atMost = (total, most) => (total > most ? { total: most, totalRelation: 'gte' } : exactly(total));
