import type { Database } from '../../db/database.ts';
import { type Bytes, idToBytes, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { typeCounter } from '../../game/type-counters.ts';
import { countEventsBy } from '../../event/outbox/erase.ts';
import { removableKinds } from '../moderation/kinds.ts';
import { findUnusedTags, usedByHidden } from '../moderation/unused-tags.ts';
import { countUnusedTypes } from '../moderation/unused-types.ts';
import { readUserState } from '../moderation/users.ts';
import { countEntriesAbout, isDeleted } from './audit.ts';
import { countAnswers } from './remains.ts';

/** The counts of a user. */
export interface UserCounts {
  games: number;
  imagePosts: number;
  hiddenGames: number;
  hiddenImagePosts: number;
  /** Favorites and reactions that the user gave. */
  engagement: number;
  keys: number;
}

/** The counts of an erasure. */
export interface ErasureCounts extends UserCounts {
  /** Answers that are stored for repetitions. */
  answers: number;
  /** Events that name the user as the one who made the change, and lose that. */
  events: number;
  /** Entries of the audit log that lose names; they stay themselves. */
  auditEntries: number;
  /** Tags, and types of games, that no other user's records have. */
  tags: number;
  types: number;
}

/** How many records of an author have each tag, of a kind. */
const countOwn = (db: Database, authorId: Bytes) =>
  Promise.all(
    removableKinds.map(async ({ kind: { table, tagTable, foreignKey } }) => {
      const rows = await db.read<{ id: number; n: number }>(
        `SELECT l.tag_id AS id, COUNT(*) AS n FROM ${table} r JOIN ${tagTable} l ON l.${foreignKey} = r.id
        WHERE r.author_id = ? GROUP BY l.tag_id`,
        [authorId],
      );
      return new Map(rows.map(({ id, n }) => [id, n]));
    }),
  );

/** How many tags are on an author's published records only, with those that were merged into these. */
const countOwnTags = async (db: Database, authorId: Bytes): Promise<number> => {
  const [own, used] = [await countOwn(db, authorId), await usedByHidden(db, authorId)];
  const columns = removableKinds.map(({ kind }) => kind.countColumn);
  let n = 0;
  for (let after = 0; ;) {
    const rows = await db.read<{ id: number; into: number | null } & Record<string, number>>(
      `SELECT t.id, COALESCE(m.id, t.id) AS target, ${columns.map((column) => `COALESCE(m.${column}, t.${column}) AS ${column}`).join(', ')}
      FROM tags t LEFT JOIN tags m ON m.id = t.merged_into WHERE t.id > ? ORDER BY t.id LIMIT 1000`,
      [after],
    );
    const last = rows.at(-1);
    if (!last) return n;
    after = last.id;
    n += rows.filter((row) => {
      const target = row['target'] as number;
      const isOwn = columns.every((column, index) => row[column] === (own[index]?.get(target) ?? 0));
      return isOwn && own.some((counts) => counts.has(target)) && !used.has(row.id) && !used.has(target);
    }).length;
  }
};

/** How many types of games an author's games only have. */
const countOwnTypes = async (db: Database, authorId: Bytes): Promise<number> => {
  const rows = await db.read<{ game_type: string; n: number }>(
    'SELECT game_type, COUNT(*) AS n FROM games WHERE author_id = ? AND game_type IS NOT NULL GROUP BY game_type',
    [authorId],
  );
  let n = 0;
  for (const { game_type: type, n: own } of rows) {
    const [counter] = await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [typeCounter(type)]);
    if (counter?.n === own) n += 1;
  }
  return n;
};

/** The counts of a user who was deleted before. */
export const NOTHING: UserCounts = {
  games: 0,
  imagePosts: 0,
  hiddenGames: 0,
  hiddenImagePosts: 0,
  engagement: 0,
  keys: 0,
};

/** The counts of a user; `NOTHING` for one who was deleted before, but left traces. @throws AppError USER_NOT_FOUND */
export const readUserCounts = async (db: Database, id: string): Promise<UserCounts> => {
  try {
    const { games, imagePosts, hiddenGames, hiddenImagePosts, engagement, keys } = await readUserState(db, id);
    return { games, imagePosts, hiddenGames, hiddenImagePosts, engagement, keys };
  } catch (error) {
    const isMissing = error instanceof AppError && error.reason === 'USER_NOT_FOUND';
    if (isMissing && idToBytes(id) && (await isDeleted(db, id))) return NOTHING;
    throw error;
  }
};

/** Counts what the erasure of a user would take away. @throws AppError USER_NOT_FOUND */
export const previewErasure = async (db: Database, id: string): Promise<ErasureCounts> => {
  const counts = await readUserCounts(db, id);
  const key = storedIdToBytes(id);
  const unusedTags = await findUnusedTags(db, { exceptAuthor: key });
  return {
    ...counts,
    answers: await countAnswers(db, key),
    events: await countEventsBy(db, id),
    auditEntries: await countEntriesAbout(db, id),
    tags: unusedTags.length + (await countOwnTags(db, key)),
    types: (await countUnusedTypes(db)) + (await countOwnTypes(db, key)),
  };
};
