import { type Scope, timeRangeDays } from '../../contract/index.ts';
import type { Reader } from '../db/connection.ts';
import { type Bytes, idFromBytes, timeFromDb } from '../db/values.ts';
import { sandboxKeys } from './sandbox.ts';

const DAY_MS = 86_400_000;
interface CatalogueRecord {
  id: string;
  title: string;
  author: string;
  createdAt: string;
}

type RangeCounts = Record<keyof typeof timeRangeDays | 'all', number>;

/** The contents of a sandbox, for authors of tests: ids, titles and counts. */
export interface Catalogue {
  /** The instant that all times are relative to. */
  reference: string;
  keys: { key: string; name: string; user: string; scopes: readonly Scope[]; ended?: string | undefined }[];
  counts: { users: number; games: number; imagePosts: number; tags: number };
  /** How many records each `timeRange` holds at `reference`. */
  timeRanges: { games: RangeCounts; imagePosts: RangeCounts };
  gameTypes: { gameType: string | null; count: number }[];
  /** The most used first. */
  tags: { slug: string; name: string; games: number; imagePosts: number }[];
  /** Oldest first. */
  users: { id: string; nickname: string; games: number; imagePosts: number }[];
  /** Newest first, as a list has them; the authors by their ids. */
  games: (CatalogueRecord & { gameType: string | null })[];
  imagePosts: CatalogueRecord[];
}

interface CatalogueColumns {
  id: Bytes;
  title: string;
  author_id: Bytes;
  created_at: string;
}

const recordOf = (row: CatalogueColumns): CatalogueRecord => ({
  id: idFromBytes(row.id),
  title: row.title,
  author: idFromBytes(row.author_id),
  createdAt: timeFromDb(row.created_at),
});

const countByRange = (records: readonly CatalogueRecord[], reference: Date): RangeCounts => {
  const ages = records.map(({ createdAt }) => reference.getTime() - Date.parse(createdAt));
  const within = (days: number): number => ages.filter((age) => age <= days * DAY_MS).length;
  const { day, week, month, year } = timeRangeDays;
  return { day: within(day), week: within(week), month: within(month), year: within(year), all: records.length };
};

/** The initial contents of a sandbox of `reference`. */
export const catalogueOf = async (db: Reader, reference: Date): Promise<Catalogue> => {
  const users = await db.read<{ id: Bytes; nickname: string; game_count: number; image_post_count: number }>(
    'SELECT id, nickname, game_count, image_post_count FROM users ORDER BY created_at, id',
  );
  const tags = await db.read<{ slug: string; name: string; game_count: number; image_post_count: number }>(
    'SELECT slug, name, game_count, image_post_count FROM tags ORDER BY game_count + image_post_count DESC, slug',
  );
  const gameRows = await db.read<CatalogueColumns & { game_type: string | null }>(
    'SELECT id, title, author_id, created_at, game_type FROM games ORDER BY created_at DESC, id DESC',
  );
  const postRows = await db.read<CatalogueColumns>(
    'SELECT id, title, author_id, created_at FROM image_posts ORDER BY created_at DESC, id DESC',
  );
  const types = await db.read<{ gameType: string | null; count: number }>(
    'SELECT game_type AS gameType, COUNT(*) AS count FROM games GROUP BY game_type ORDER BY COUNT(*) DESC, game_type',
  );
  const games = gameRows.map((row) => ({ ...recordOf(row), gameType: row.game_type }));
  const imagePosts = postRows.map(recordOf);
  return {
    reference: reference.toISOString(),
    keys: sandboxKeys.map(({ user, ...key }) => ({ ...key, user: user.nickname })),
    counts: { users: users.length, games: games.length, imagePosts: imagePosts.length, tags: tags.length },
    timeRanges: { games: countByRange(games, reference), imagePosts: countByRange(imagePosts, reference) },
    gameTypes: types,
    tags: tags.map(({ slug, name, game_count, image_post_count }) => ({
      slug,
      name,
      games: game_count,
      imagePosts: image_post_count,
    })),
    users: users.map(({ id, nickname, game_count, image_post_count }) => ({
      id: idFromBytes(id),
      nickname,
      games: game_count,
      imagePosts: image_post_count,
    })),
    games,
    imagePosts,
  };
};
