import { type Scope, timeRangeDays } from '../../contract/index.ts';
import { tally } from '../base/tally.ts';
import { tagsIn } from '../content/entity.ts';
import type { Reader } from '../db/connection.ts';
import { gamesIn } from '../game/kind.ts';
import { imagePostsIn } from '../image/kind.ts';
import { usersIn } from '../user/entity.ts';
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
  /** Newest first, as in a list, with the ids of the authors. */
  games: (CatalogueRecord & { gameType: string | null })[];
  imagePosts: CatalogueRecord[];
}

const SUMMARY = { id: true, title: true, authorId: true, createdAt: true } as const;
const NEWEST_FIRST = { createdAt: 'DESC', id: 'DESC' } as const;

const recordOf = (row: { id: string; title: string; authorId: string; createdAt: Date }): CatalogueRecord => ({
  id: row.id,
  title: row.title,
  author: row.authorId,
  createdAt: row.createdAt.toISOString(),
});

const countByRange = (records: readonly CatalogueRecord[], reference: Date): RangeCounts => {
  const ages = records.map(({ createdAt }) => reference.getTime() - Date.parse(createdAt));
  const within = (days: number): number => ages.filter((age) => age <= days * DAY_MS).length;
  const { day, week, month, year } = timeRangeDays;
  return { day: within(day), week: within(week), month: within(month), year: within(year), all: records.length };
};

/** The initial contents of a sandbox of `reference`. */
export const catalogueOf = async (db: Pick<Reader, 'manager'>, reference: Date): Promise<Catalogue> => {
  const counts = { gameCount: true, imagePostCount: true } as const;
  const users = await usersIn(db).find({
    select: { id: true, nickname: true, ...counts },
    order: { createdAt: 'ASC', id: 'ASC' },
  });
  const tags = await tagsIn(db).find({ select: { slug: true, name: true, ...counts }, order: { slug: 'ASC' } });
  const gameRows = await gamesIn(db).find({ select: { ...SUMMARY, gameType: true }, order: NEWEST_FIRST });
  const postRows = await imagePostsIn(db).find({ select: SUMMARY, order: NEWEST_FIRST });
  const games = gameRows.map((row) => ({ ...recordOf(row), gameType: row.gameType }));
  const imagePosts = postRows.map(recordOf);
  const types = [...tally(games.map(({ gameType }) => gameType))].map(([gameType, count]) => ({ gameType, count }));
  return {
    reference: reference.toISOString(),
    keys: sandboxKeys.map(({ user, ...key }) => ({ ...key, user: user.nickname })),
    counts: { users: users.length, games: games.length, imagePosts: imagePosts.length, tags: tags.length },
    timeRanges: { games: countByRange(games, reference), imagePosts: countByRange(imagePosts, reference) },
    gameTypes: types.toSorted((a, b) => b.count - a.count || ((a.gameType ?? '') < (b.gameType ?? '') ? -1 : 1)),
    tags: tags
      .map((row) => ({ slug: row.slug, name: row.name, games: row.gameCount, imagePosts: row.imagePostCount }))
      .toSorted((a, b) => b.games + b.imagePosts - (a.games + a.imagePosts)),
    users: users.map((row) => ({
      id: row.id,
      nickname: row.nickname,
      games: row.gameCount,
      imagePosts: row.imagePostCount,
    })),
    games,
    imagePosts,
  };
};
