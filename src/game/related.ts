import { gameKind } from './kind.ts';
import type { Reader } from '../db/connection.ts';
import { inList } from '../db/in-list.ts';
import { type Bytes, idFromBytes, idToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';

/** The newest games of each tag, and of the original author, that are considered. */
const CANDIDATES = 200;
const SAME_TYPE = 0.5;
const SAME_AUTHOR = 2;

interface Game {
  id: Bytes;
  game_type: string | null;
  original_author: string | null;
  favorite_count: number;
}

interface SourceTag {
  tag_id: number;
  game_count: number;
  /** All games. */
  total: number;
}

/**
 * The ids of games related to one, closest first, never itself. Each shared tag counts ln(1 + games / games with it), so
 * the rarer the more; the same type and the same original author count besides; ties go to the more often favorited,
 * then to the newer. Filled up from the same type, then from the latest.
 * @throws AppError GAME_NOT_FOUND
 */
export const findRelated = async (reader: Reader, gameId: string, limit: number): Promise<string[]> => {
  const key = idToBytes(gameId);
  const [game] = key
    ? await reader.read<Game>('SELECT id, game_type, original_author, favorite_count FROM games WHERE id = ?', [key])
    : [];
  if (!key || !game) throw new AppError(gameKind.notFound);

  const closest = await scoredCandidates(reader, key, game);
  const ids = closest.slice(0, limit).map((candidate) => idFromBytes(candidate.id));
  if (ids.length < limit && game.game_type !== null) {
    await fillUp(reader, ids, gameId, limit, 'WHERE game_type = ?', [game.game_type]);
  }
  if (ids.length < limit) await fillUp(reader, ids, gameId, limit, '', []);
  return ids;
};

const scoredCandidates = async (reader: Reader, key: Buffer, game: Game): Promise<Game[]> => {
  const tags = await reader.read<SourceTag>(
    `SELECT t.tag_id, g.game_count, COALESCE((SELECT n FROM counters WHERE name = ?), 0) AS total
    FROM game_tags t JOIN tags g ON g.id = t.tag_id WHERE t.game_id = ?`,
    [gameKind.table, key],
  );
  const sources = [
    ...tags.map((tag) => ({
      sql: 'SELECT game_id FROM game_tags WHERE tag_id = ? ORDER BY game_id DESC',
      parameter: tag.tag_id,
    })),
    ...(game.original_author === null
      ? []
      : [
          {
            sql: 'SELECT id AS game_id FROM games WHERE original_author = ? ORDER BY id DESC',
            parameter: game.original_author,
          },
        ]),
  ];
  if (sources.length === 0) return [];
  const newest = sources.map(({ sql }, index) => `SELECT game_id FROM (${sql} LIMIT ${CANDIDATES}) c${index}`);
  const candidates = await reader.read<Game>(
    `SELECT g.id, g.game_type, g.original_author, g.favorite_count
    FROM (${newest.join(' UNION ')}) c JOIN games g ON g.id = c.game_id WHERE g.id <> ?`,
    [...sources.map((source) => source.parameter), key],
  );
  const scores = await sharedTagScores(reader, tags, candidates);
  const scored = candidates.map((candidate) => ({
    ...candidate,
    hex: idFromBytes(candidate.id),
    score:
      (scores.get(idFromBytes(candidate.id)) ?? 0) +
      (game.game_type !== null && candidate.game_type === game.game_type ? SAME_TYPE : 0) +
      (game.original_author !== null && candidate.original_author === game.original_author ? SAME_AUTHOR : 0),
  }));
  return scored.toSorted(
    (a, b) => b.score - a.score || b.favorite_count - a.favorite_count || (a.hex < b.hex ? 1 : -1),
  );
};

/** For each candidate the sum of the weights of the tags that it shares. */
const sharedTagScores = async (
  reader: Reader,
  tags: readonly SourceTag[],
  candidates: readonly Game[],
): Promise<Map<string, number>> => {
  const scores = new Map<string, number>();
  if (tags.length === 0 || candidates.length === 0) return scores;
  const weights = new Map(tags.map((tag) => [tag.tag_id, Math.log(1 + tag.total / Math.max(tag.game_count, 1))]));
  const games = inList(candidates.map((candidate) => candidate.id));
  const tagIds = inList(tags.map((tag) => tag.tag_id));
  const shared = await reader.read<{ game_id: Bytes; tag_id: number }>(
    `SELECT game_id, tag_id FROM game_tags
    WHERE game_id IN (${games.sql}) AND tag_id IN (${tagIds.sql})
    ORDER BY game_id, tag_id`,
    [...games.parameters, ...tagIds.parameters],
  );
  for (const { game_id, tag_id } of shared) {
    const id = idFromBytes(game_id);
    scores.set(id, (scores.get(id) ?? 0) + (weights.get(tag_id) ?? 0));
  }
  return scores;
};

/** Adds the latest games that match and are not there yet. */
const fillUp = async (
  reader: Reader,
  ids: string[],
  gameId: string,
  limit: number,
  where: string,
  parameters: string[],
): Promise<void> => {
  const rows = await reader.read<{ id: Bytes }>(
    `SELECT id FROM games ${where} ORDER BY created_at DESC, id DESC LIMIT ?`,
    [...parameters, limit + ids.length + 1],
  );
  const found = rows.map((row) => idFromBytes(row.id)).filter((id) => id !== gameId && !ids.includes(id));
  ids.push(...found.slice(0, limit - ids.length));
};
