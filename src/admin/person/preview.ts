import { In } from 'typeorm';
import { countersIn, tagsIn } from '../../content/entity.ts';
import type { Database } from '../../db/database.ts';
import { partsOf } from '../../db/sql/in-list.ts';
import { isId, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { typeCounter } from '../../game/kind.ts';
import { countGamesByType } from '../../game/service.ts';
import { countEventsBy } from '../../event/outbox/erase.ts';
import { publishedKinds } from '../moderation/kinds.ts';
import { findUnusedTags, readMerged, usedByHidden } from '../moderation/unused-tags.ts';
import { countUnusedTypes } from '../moderation/unused-types.ts';
import { countsOf, readUserState, type UserCounts } from '../moderation/users.ts';
import { countEntriesAbout, isDeleted } from './audit.ts';
import { countAnswers } from './remains.ts';

/** The counts of an erasure. */
export interface ErasureCounts extends UserCounts {
  /** Answers that are stored for repetitions. */
  answers: number;
  /** Events that name the user as the maker of the change; the erasure removes the name. */
  events: number;
  /** Entries of the audit log that lose names; the entries themselves stay. */
  auditEntries: number;
  /** Tags, and types of games, that no other user's records have. */
  tags: number;
  types: number;
}

/** For a kind, the number of an author's records with each tag. */
const countOwn = (db: Database, authorId: string) =>
  Promise.all(
    publishedKinds.map(async ({ table, tagTable, foreignKey }) => {
      // The engine counts: an author may have very many records.
      const rows = await db.read<{ id: number; n: number }>(
        `SELECT l.tag_id AS id, COUNT(*) AS n FROM ${table} r JOIN ${tagTable} l ON l.${foreignKey} = r.id
        WHERE r.author_id = ? GROUP BY l.tag_id`,
        [storedIdToBytes(authorId)],
      );
      return new Map(rows.map(({ id, n }) => [id, n]));
    }),
  );

/** The number of tags that only an author's published records have, including tags that were merged into these. */
const countOwnTags = async (db: Database, authorId: string): Promise<number> => {
  const [games, posts] = (await countOwn(db, authorId)) as [Map<number, number>, Map<number, number>];
  const used = await usedByHidden(db, authorId);
  const own = new Set<number>();
  for (const part of partsOf([...new Set([...games.keys(), ...posts.keys()])])) {
    for (const { id, gameCount, imagePostCount, mergedInto } of await tagsIn(db).findBy({ id: In(part) })) {
      const isOwn = gameCount === (games.get(id) ?? 0) && imagePostCount === (posts.get(id) ?? 0);
      if (isOwn && mergedInto === null && !used.has(id)) own.add(id);
    }
  }
  const merged = own.size === 0 ? [] : await readMerged(db);
  return own.size + merged.filter(({ id, mergedInto }) => own.has(mergedInto) && !used.has(id)).length;
};

/** The number of types that only an author's games have. */
const countOwnTypes = async (db: Database, authorId: string): Promise<number> => {
  const own = new Map((await countGamesByType(db, authorId)).map(({ type, n }) => [typeCounter(type), n]));
  own.delete(typeCounter(null));
  let found = 0;
  for (const part of partsOf([...own.keys()])) {
    const counters = await countersIn(db).findBy({ name: In(part) });
    found += counters.filter(({ name, n }) => own.get(name) === n).length;
  }
  return found;
};

/** The counts of a user who was deleted before. */
export const NOTHING = countsOf();

/** The counts of a user; `NOTHING` for a deleted user who left traces. @throws AppError USER_NOT_FOUND */
export const readUserCounts = async (db: Database, id: string): Promise<UserCounts> => {
  try {
    return countsOf(await readUserState(db, id));
  } catch (error) {
    const isMissing = error instanceof AppError && error.reason === 'USER_NOT_FOUND';
    if (isMissing && isId(id) && (await isDeleted(db, id))) return NOTHING;
    throw error;
  }
};

/** Counts the data that the erasure of a user would remove. @throws AppError USER_NOT_FOUND */
export const previewErasure = async (db: Database, id: string): Promise<ErasureCounts> => {
  const counts = await readUserCounts(db, id);
  const unusedTags = await findUnusedTags(db, { exceptAuthor: id });
  return {
    ...counts,
    answers: await countAnswers(db, id),
    events: await countEventsBy(db, id),
    auditEntries: await countEntriesAbout(db, id),
    tags: unusedTags.length + (await countOwnTags(db, id)),
    types: (await countUnusedTypes(db)) + (await countOwnTypes(db, id)),
  };
};
