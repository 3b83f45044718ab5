import { readRows, readRowsById, type RecordShape } from '../content/records.ts';
import type { SharedColumns } from '../content/entity.ts';
import type { Parameter, Reader } from '../db/connection.ts';
import { inList } from '../db/sql/in-list.ts';
import { type Bytes, countFromDb, idFromBytes, idToBytes, listFromDb } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import type { GameSummaryColumns } from './entity.ts';
import { gameKind } from './kind.ts';

// SQL: each call runs these, whose scores the database computes.

/** The newest games of each tag, and of the original author, that are considered: each is a record to be looked up. */
const CANDIDATES = 100;
const SAME_TYPE = 0.5;
const SAME_AUTHOR = 2;
/** The numbers of tags with a statement of their own: most games have few tags, and each statement has to be prepared. */
const TAG_PLACES = [2, 4, 8, 20] as const;
const NO_TAG = 0;

type RelatedRow = GameSummaryColumns & SharedColumns;

interface RelatedGame {
  game_type: string | null;
  original_author: string | null;
  /** By their ids, so that the weights of several add up to the same sum for every candidate. */
  tags: SourceTag[];
  /** All games. */
  total: number;
}

type RelatedGameRow = Omit<RelatedGame, 'tags'> & {
  /** Its tags with how many games have each: `7:120,3:4`; null for none. */
  tags: string | null;
};

interface SourceTag {
  id: number;
  /** Games with it. */
  n: number;
}

/** Where a related game comes from: it is close, it has the same type, or it is just new. */
type Tier = 0 | 1 | 2;

/**
 * The games related to one, closest first, never itself. Each shared tag counts ln(1 + games / games with it), so the
 * rarer the more; the same type and the same original author count besides; ties go to the more often favorited, then to
 * the newer. Filled up from the same type, then from the latest.
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
  // A tag counts the game itself, hence "more than". Fewer than CANDIDATES are asked for, so one such tag is enough.
  const isEnough = tags.some(({ n }) => n > limit);
  const scored = await scoredGames(reader, key, game, limit);
  const arms = isEnough ? [scored] : [scored, ...fillers(game, limit)];
  const shape = { detail: false, viewerId };
  const rows = await (reader.dialect.isSharded ? readScattered : readAtOnce)(reader, shape, arms);
  const related = new Map<string, RelatedRow>();
  for (const row of rows) {
    const id = idFromBytes(row.id);
    if (id !== gameId && !related.has(id) && related.size < limit) related.set(id, row);
  }
  return [...related.values()];
};

const readAtOnce = (reader: Reader, shape: RecordShape, arms: readonly Arm[]): Promise<RelatedRow[]> =>
  readRows<GameSummaryColumns>(reader, gameKind, shape, {
    ids: `(${arms.map(({ sql }) => sql).join(' UNION ALL ')})`,
    idParameters: arms.flatMap(({ parameters }) => parameters),
    end: 'ORDER BY p.tier, p.score DESC, p.favorite_count DESC, p.id DESC',
  });

interface Place {
  id: Bytes;
  score: number;
  favorite_count: number;
}

/** Each arm by itself: to merge what the shards find, vtgate adds columns to an arm, by which a UNION mixes them up. */
const readScattered = async (reader: Reader, shape: RecordShape, arms: readonly Arm[]): Promise<RelatedRow[]> => {
  const found = await Promise.all(arms.map(({ sql, parameters }) => reader.read<Place>(sql, parameters)));
  const places = found.flatMap((arm) =>
    arm.toSorted((a, b) => b.score - a.score || b.favorite_count - a.favorite_count || Buffer.compare(b.id, a.id)),
  );
  const ids = [...new Map(places.map(({ id }) => [idFromBytes(id), id])).values()];
  const rows = await readRowsById<GameSummaryColumns>(reader, gameKind, shape, ids);
  const byId = new Map(rows.map((row) => [idFromBytes(row.id), row]));
  return places.flatMap(({ id }) => byId.get(idFromBytes(id)) ?? []);
};

const TOTAL = '(SELECT n FROM counters WHERE name = ?) AS total';

const readGame = (reader: Reader, key: Buffer): Promise<RelatedGame | undefined> =>
  reader.dialect.isSharded ? readGameFromShard(reader, key) : readGameAtOnce(reader, key);

const readGameAtOnce = async (reader: Reader, key: Buffer): Promise<RelatedGame | undefined> => {
  const [game] = await reader.read<RelatedGameRow>(
    `SELECT g.game_type, g.original_author, ${TOTAL},
      (SELECT GROUP_CONCAT(CONCAT(t.tag_id, ':', x.game_count)) FROM game_tags t JOIN tags x ON x.id = t.tag_id
        WHERE t.game_id = g.id) AS tags
    FROM games g WHERE g.id = ?`,
    [gameKind.table, key],
  );
  return game && { ...game, tags: inOrder(sourceTags(game.tags)) };
};

/** The tags and counters are on another server. */
const readGameFromShard = async (reader: Reader, key: Buffer): Promise<RelatedGame | undefined> => {
  const [game] = await reader.read<Omit<RelatedGameRow, 'total'>>(
    'SELECT game_type, original_author, tag_ids AS tags FROM games WHERE id = ?',
    [key],
  );
  if (!game) return undefined;
  const { sql, parameters } = inList([NO_TAG, ...listFromDb(game.tags ?? '')]);
  const [counts, [count]] = await Promise.all([
    reader.read<SourceTag>(`SELECT id, game_count AS n FROM tags WHERE id IN (${sql})`, parameters),
    reader.read<{ total: number }>(`SELECT ${TOTAL}`, [gameKind.table]),
  ]);
  return { ...game, total: count?.total ?? 0, tags: inOrder(counts) };
};

const sourceTags = (tags: string | null): SourceTag[] =>
  (tags?.split(',') ?? []).map((tag) => {
    const [id = 0, n = 0] = tag.split(':').map(Number);
    return { id, n };
  });

const inOrder = (tags: readonly SourceTag[]): SourceTag[] => tags.toSorted((a, b) => a.id - b.id);

interface Arm {
  sql: string;
  parameters: Parameter[];
}

/** The closest games, by what they share with this one. */
const scoredGames = async (
  reader: Reader,
  key: Buffer,
  { game_type, original_author, total, tags }: RelatedGame,
  limit: number,
): Promise<Arm> => {
  const places = TAG_PLACES.find((n) => n >= tags.length) ?? tags.length;
  const padded = Array.from({ length: places }, (_, index) => {
    const tag = tags[index];
    return tag
      ? { id: tag.id, weight: Math.log(1 + countFromDb(total) / Math.max(tag.n, 1)) }
      : { id: NO_TAG, weight: 0 };
  });
  const candidates = candidatesOf(
    padded.map(({ id }) => id),
    original_author,
  );
  const source = reader.dialect.isSharded
    ? await lookedUp(reader, candidates)
    : {
        sql: `(${candidates.sql}) c JOIN games r ON r.id = c.game_id WHERE r.id <> ?`,
        parameters: candidates.parameters,
      };
  const shares = padded.map(() => 'CASE WHEN INSTR(g.tag_list, ?) > 0 THEN ? ELSE 0e0 END');
  return {
    sql: `SELECT * FROM (
      SELECT 0 AS tier, g.id, g.favorite_count, ${shares.join(' + ')}
        + CASE WHEN g.game_type = ? THEN ${SAME_TYPE}e0 ELSE 0e0 END
        + CASE WHEN g.original_author = ? THEN ${SAME_AUTHOR}e0 ELSE 0e0 END AS score
      FROM (
        SELECT r.id, r.favorite_count, r.game_type, r.original_author, CONCAT(',', r.tag_ids, ',') AS tag_list
        FROM ${source.sql}
      ) g
      ORDER BY score DESC, favorite_count DESC, id DESC LIMIT ?
    ) scored`,
    parameters: [
      ...padded.flatMap(({ id, weight }) => [`,${id},`, weight]),
      game_type,
      original_author,
      ...source.parameters,
      key,
      limit,
    ],
  };
};

/** A SELECT of the newest games with these tags, and of an original author. */
const candidatesOf = (tagIds: readonly number[], originalAuthor: string | null): Arm => {
  const ofTags = tagIds.map(
    (_, index) =>
      `SELECT game_id FROM (SELECT game_id FROM game_tags WHERE tag_id = ? ORDER BY game_id DESC LIMIT ${CANDIDATES}) c${index}`,
  );
  const ofAuthor = `SELECT game_id FROM
    (SELECT id AS game_id FROM games WHERE original_author = ? ORDER BY id DESC LIMIT ${CANDIDATES}) c`;
  return { sql: [...ofTags, ofAuthor].join(' UNION '), parameters: [...tagIds, originalAuthor] };
};

/** Games by their ids, which are read first: joined, shards would look up one after the other. */
const lookedUp = async (reader: Reader, candidates: Arm): Promise<Arm> => {
  const found = await reader.read<{ game_id: Bytes }>(candidates.sql, candidates.parameters);
  const { sql, parameters } = inList([Buffer.alloc(16), ...found.map(({ game_id: id }) => id)]);
  return { sql: `games r WHERE r.id IN (${sql}) AND r.id <> ?`, parameters };
};

const newest = (tier: Tier, where: string): string =>
  `SELECT * FROM (SELECT ${tier} AS tier, id, 0 AS favorite_count, 0e0 AS score FROM games ${where}
    ORDER BY created_at DESC, id DESC LIMIT ?) tier${tier}`;

/** Enough games of the same type, and of all, even if those that are closer are among them. */
const fillers = ({ game_type }: RelatedGame, limit: number): Arm[] => {
  const enough = 2 * limit + 1;
  return [
    { sql: newest(1, 'WHERE game_type = ?'), parameters: [game_type, enough] },
    { sql: newest(2, ''), parameters: [enough] },
  ];
};
