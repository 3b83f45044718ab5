import { readRows, type StoredRecord } from '../content/records.ts';
import type { Reader } from '../db/connection.ts';
import { inList } from '../db/sql/in-list.ts';
import { type Fragment, readByIds, sourceOfFound } from '../db/sql/read-rows.ts';
import { countFromDb, idFromBytes, idToBytes, listFromDb } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { gameKind, type StoredGame, type StoredGameSummary } from './kind.ts';

// SQL: each call runs these, and the database computes the scores.

/** The number of newest games considered for each tag and for the original author: each one is looked up. */
const CANDIDATES = 100;
const SAME_TYPE = 0.5;
const SAME_AUTHOR = 2;
/** Tag counts that have a separate statement: most games have few tags, and each statement has to be prepared. */
const TAG_PLACES = [2, 4, 8, 20] as const;
const NO_TAG = 0;

type RelatedRow = StoredGameSummary & StoredRecord;

type RelatedGameRow = Pick<StoredGame & StoredRecord, 'gameType' | 'originalAuthor' | 'tagIds'>;

interface GameCounts {
  /** The number of all games. */
  total: number;
  /** Its tags with the number of games of each: `7:120,3:4`; null for none. */
  counted: string | null;
}

interface SourceTag {
  id: number;
  /** The number of games with it. */
  n: number;
}

interface RelatedGame extends RelatedGameRow, GameCounts {
  /** Sorted by id, so that the weights of several tags add up to the same sum for every candidate. */
  tags: SourceTag[];
}

/** Why a related game is included: it is close, it has the same type, or it is new. */
type Tier = 0 | 1 | 2;

/**
 * The games related to one, closest first, without itself. Each shared tag scores ln(1 + games / games with it), so
 * rare tags score higher; the same type and the same original author also score. Ties are sorted by favorites, then
 * newest first. Further places are filled from the same type, then from the latest games.
 * @throws AppError GAME_NOT_FOUND
 */
export const readRelated = async (
  reader: Reader,
  gameId: string,
  limit: number,
  viewerId: string | undefined,
): Promise<RelatedRow[]> => {
  const key = idToBytes(gameId);
  const game = key && (await readGame(reader, key));
  if (!key || !game) throw new AppError(gameKind.notFound);

  const { tags } = game;
  // A tag also counts the game itself, hence "more than". The limit is below CANDIDATES, so one such tag is enough.
  const isEnough = tags.some(({ n }) => n > limit);
  const scored = await scoredGames(reader, key, game, limit);
  const arms = isEnough ? [scored] : [scored, ...fillers(game, limit)];
  const shape = { detail: false, viewerId };
  const rows = await readRows<StoredGameSummary>(reader, gameKind, shape, {
    ids: arms,
    order: 'ORDER BY p.tier, p.score DESC, p.favorite_count DESC, p.id DESC',
  });
  const related = new Map<string, RelatedRow>();
  for (const row of rows) {
    const id = idFromBytes(row.id);
    if (id !== gameId && !related.has(id) && related.size < limit) related.set(id, row);
  }
  return [...related.values()];
};

const TOTAL = `(SELECT n FROM counters WHERE name = '${gameKind.table}') AS total`;

/** The counters of games and of tags. */
const gameCounts = {
  columns: [
    TOTAL,
    `(SELECT GROUP_CONCAT(CONCAT(t.tag_id, ':', x.game_count)) FROM game_tags t JOIN tags x ON x.id = t.tag_id
      WHERE t.game_id = r.id) AS counted`,
  ],
  addTo: async <Row extends RelatedGameRow>(reader: Reader, rows: readonly Row[]): Promise<(Row & GameCounts)[]> => {
    const { sql, parameters } = inList([NO_TAG, ...rows.flatMap(({ tagIds }) => listFromDb(tagIds))]);
    const [tags, [{ total } = { total: 0 }]] = await Promise.all([
      reader.read<SourceTag>(`SELECT id, game_count AS n FROM tags WHERE id IN (${sql})`, parameters),
      reader.read<Pick<GameCounts, 'total'>>(`SELECT ${TOTAL}`),
    ]);
    return rows.map((row) => {
      const own = new Set(listFromDb(row.tagIds));
      const counted = tags.filter(({ id }) => own.has(id)).map(({ id, n }) => `${id}:${n}`);
      return { ...row, total, counted: counted.join(',') || null };
    });
  },
};

const columns = 'r.game_type AS gameType, r.original_author AS originalAuthor, r.tag_ids AS tagIds';

const readGame = async (reader: Reader, key: Buffer): Promise<RelatedGame | undefined> => {
  const select = { table: gameKind.table, columns, foreign: gameCounts };
  const [game] = await readByIds<RelatedGameRow, GameCounts>(reader, select, [key]);
  return game && { ...game, tags: sourceTags(game.counted) };
};

const sourceTags = (tags: string | null): SourceTag[] =>
  (tags?.split(',') ?? [])
    .map((tag) => {
      const [id = 0, n = 0] = tag.split(':').map(Number);
      return { id, n };
    })
    .toSorted((a, b) => a.id - b.id);

/** The closest games, by the features that they share with this one. */
const scoredGames = async (
  reader: Reader,
  key: Buffer,
  { gameType, originalAuthor, total, tags }: RelatedGame,
  limit: number,
): Promise<Fragment> => {
  const places = TAG_PLACES.find((n) => n >= tags.length) ?? tags.length;
  const padded = Array.from({ length: places }, (_, index) => {
    const tag = tags[index];
    return tag
      ? { id: tag.id, weight: Math.log(1 + countFromDb(total) / Math.max(tag.n, 1)) }
      : { id: NO_TAG, weight: 0 };
  });
  const candidates = candidatesOf(
    padded.map(({ id }) => id),
    originalAuthor,
  );
  const source = await sourceOfFound(reader, gameKind.table, candidates);
  const shares = padded.map(() => 'CASE WHEN INSTR(g.tag_list, ?) > 0 THEN ? ELSE 0e0 END');
  return {
    sql: `SELECT 0 AS tier, g.id, g.favorite_count, ${shares.join(' + ')}
      + CASE WHEN g.game_type = ? THEN ${SAME_TYPE}e0 ELSE 0e0 END
      + CASE WHEN g.original_author = ? THEN ${SAME_AUTHOR}e0 ELSE 0e0 END AS score
    FROM (
      SELECT r.id, r.favorite_count, r.game_type, r.original_author, CONCAT(',', r.tag_ids, ',') AS tag_list
      FROM ${source.from} WHERE ${[...source.where, 'r.id <> ?'].join(' AND ')}
    ) g
    ORDER BY score DESC, favorite_count DESC, id DESC LIMIT ?`,
    parameters: [
      ...padded.flatMap(({ id, weight }) => [`,${id},`, weight]),
      gameType,
      originalAuthor,
      ...source.parameters,
      key,
      limit,
    ],
  };
};

/** A SELECT of the newest games with these tags, and by an original author. */
const candidatesOf = (tagIds: readonly number[], originalAuthor: string | null): Fragment => {
  const ofTags = tagIds.map(
    (_, index) =>
      `SELECT id FROM (SELECT game_id AS id FROM game_tags WHERE tag_id = ? ORDER BY game_id DESC LIMIT ${CANDIDATES}) c${index}`,
  );
  const ofAuthor = `SELECT id FROM
    (SELECT id FROM games WHERE original_author = ? ORDER BY id DESC LIMIT ${CANDIDATES}) c`;
  return { sql: [...ofTags, ofAuthor].join(' UNION '), parameters: [...tagIds, originalAuthor] };
};

const newest = (tier: Tier, where: string): string =>
  `SELECT ${tier} AS tier, id, 0 AS favorite_count, 0e0 AS score FROM games ${where}
    ORDER BY created_at DESC, id DESC LIMIT ?`;

/** Enough games of the same type, and of all types, even if the closer ones are among them. */
const fillers = ({ gameType }: RelatedGame, limit: number): Fragment[] => {
  const enough = 2 * limit + 1;
  return [
    { sql: newest(1, 'WHERE game_type = ?'), parameters: [gameType, enough] },
    { sql: newest(2, ''), parameters: [enough] },
  ];
};
