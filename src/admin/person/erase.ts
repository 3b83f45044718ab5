import { currentDate, sleep } from '../../base/runtime.ts';
import { type Actor, record } from '../../auth/audit/log.ts';
import { searchKinds } from '../../app/schema.ts';
import type { Database } from '../../db/database.ts';
import { isId } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { Indexer } from '../../search/indexing/indexer.ts';
import { defaultSizes } from '../../search/segment.ts';
import { deleteUnusedTags, findUnusedTags } from '../moderation/unused-tags.ts';
import { deleteUnusedTypes } from '../moderation/unused-types.ts';
import { deleteAs, type UserCounts } from '../moderation/users.ts';
import { eraseNames } from './audit.ts';
import { type ErasureCounts, NOTHING, readUserCounts } from './preview.ts';
import { eraseFromEvents, eraseSlugs } from '../../event/outbox/erase.ts';
import { eraseFromDeliveries } from '../../event/webhook/deliveries.ts';
import { deleteAnswers, deleteHiddenMarks } from './remains.ts';

/** Far longer than a call of the user takes that began before the user was deleted. */
const SETTLE_MS = 2000;

interface ErasureOptions {
  by: Actor;
  /** Whether to rewrite an SQLite file, so that it holds nothing of deleted rows. */
  vacuum: boolean;
  /** Called at the beginning of each step. */
  onStep?: (step: string) => void;
  settle?: () => Promise<unknown>;
  /** The time for which searches may continue to read the old state of the index. */
  graceMs?: number;
}

/** The counts of a completed erasure. */
interface Erased extends ErasureCounts {
  /** Whether the file of the database was rewritten. */
  vacuumed: boolean;
}

/** Deletes a user, unless this is done already. @returns what there was @throws AppError USER_NOT_FOUND */
const deleteNow = async (db: Database, id: string, by: Actor): Promise<UserCounts> => {
  const before = await readUserCounts(db, id);
  if (before !== NOTHING) await deleteAs(db, id, by, { action: 'users erase', before });
  return before;
};

/**
 * Erases a user: deletes the user as `deleteUser` does, and removes the remains: answers stored for repetitions, unused
 * tags and types, names in the audit log, texts in the search index, and on SQLite the deleted rows in the file. Works
 * in batches; only the rewriting of an SQLite file blocks other writers. Run it again if it was interrupted, also for a
 * user who was deleted before. @throws AppError USER_NOT_FOUND
 */
export const eraseUser = async (
  db: Database,
  id: string,
  { by, vacuum, onStep = () => {}, settle = () => sleep(SETTLE_MS), graceMs = defaultSizes.graceMs }: ErasureOptions,
): Promise<Erased> => {
  if (!isId(id)) throw new AppError('USER_NOT_FOUND');
  onStep('records, favorites, reactions and keys');
  const deleted = await deleteNow(db, id, by);
  await settle();
  await deleteHiddenMarks(db, id);
  const answers = await deleteAnswers(db, id, by.now);
  const events = await eraseFromEvents(db, id);
  onStep('tags, types and names in the audit');
  const unused = await findUnusedTags(db);
  // Names are erased before the tags are deleted, so that a repeated erasure still knows the tags.
  const slugs = new Set(unused.map(({ slug }) => slug));
  const auditEntries = await eraseNames(db, id, slugs);
  await eraseSlugs(db, slugs);
  await eraseFromDeliveries(db, id, slugs);
  const tags = (await deleteUnusedTags(db, unused)).length;
  const types = await deleteUnusedTypes(db);
  onStep(`the search index, for at least ${Math.ceil(graceMs / 1000)} s`);
  const indexer = new Indexer(db, searchKinds, undefined, { ...defaultSizes, graceMs });
  await indexer.purge();
  const counts = { ...deleted, answers, events, auditEntries, tags, types };
  // An erasure takes minutes.
  const end = { name: by.name, now: currentDate() };
  await db.transaction((tx) => record(tx, end, { action: 'users erase', subject: `user ${id}`, after: counts }));
  if (vacuum) onStep('the file of the database');
  return { ...counts, vacuumed: vacuum && (await db.scrub()) };
};
