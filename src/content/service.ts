import { AppError } from '../base/errors.ts';
import { record } from '../auth/audit/log.ts';
import { deleteOnce } from '../auth/idempotency/writes.ts';
import { actorOf } from '../auth/own-keys.ts';
import type { Call } from '../auth/procedure.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Transaction } from '../db/connection.ts';
import { idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import type { Toggles } from './engagement/service.ts';
import { hiddenRecordsIn } from './entity.ts';
import type { ContentReads } from './read/reads.ts';
import type { ContentRecord } from './records.ts';
import type { Publisher } from './write/publisher.ts';
import { batchesOf, MARKS_AT_ONCE, removeBatch, type Removal } from './write/remove.ts';
import { dropEngagement, forget } from './write/remove-hidden.ts';
import type { WriteContext } from './write/update.ts';
import type { ViewCounts } from './write/view-counts.ts';

/** The dependencies of a router of content, whose rows have these members in lists and in full. */
export interface ContentContext<Summary extends object, Detail extends Summary> extends WriteContext {
  /** Reads records outside of transactions. */
  reads: ContentReads<Summary, Detail>;
  publisher: Publisher;
  toggles: Toggles;
  views: ViewCounts;
}

/** Reads one record, and counts a view unless its caller viewed it recently. @throws AppError the kind's NOT_FOUND */
export const getRecord = async <Detail extends object>(
  { reads, views }: ContentContext<Partial<Detail>, Detail>,
  id: string,
  call: Call,
): Promise<ContentRecord<Detail>> => {
  const found = await reads.get(id, call);
  views.note(id, call);
  return found;
};

/** Thrown in a transaction that would remove very many favorites or reactions: they are removed in parts before it. */
class ManyMarks extends Error {}

/**
 * Deletes a record of the caller, hidden or not. A record with very many favorites or reactions loses them in
 * transactions of their own first: if one of these fails, a repetition of the call goes on.
 * @throws AppError the kind's NOT_FOUND, NOT_OWNER
 */
export const deleteRecord = (
  { db, kind, writes, now }: WriteContext,
  id: string,
  { caller, deadline, idempotent }: Call<Caller>,
): Promise<{ id: string }> => {
  const { userId: authorId } = caller;
  let hasFew = false;
  const removal: Removal = {
    actor: storedIdToBytes(authorId),
    shouldDelete: ({ authorId: owner, favoriteCount, likeCount, dislikeCount }) => {
      if (idFromBytes(owner) !== authorId) throw new AppError('NOT_OWNER');
      if (!hasFew && Math.max(favoriteCount, likeCount + dislikeCount) > MARKS_AT_ONCE) throw new ManyMarks();
      return true;
    },
  };
  const remove = async (tx: Transaction): Promise<{ id: string }> => {
    const key = idToBytes(id);
    if (!key) throw new AppError(kind.notFound);
    if ((await removeBatch(tx, kind, [key], removal)) === 0) {
      const where = { recordId: id, kind: kind.table, authorId };
      if (!(await hiddenRecordsIn(tx).findOne({ where, ...tx.dialect.lockingRows }))) throw new AppError(kind.notFound);
      if ((await dropEngagement(tx, key)) && !hasFew) throw new ManyMarks();
      await forget(tx, [key]);
    }
    const action = `${kind.router}s delete`;
    await record(tx, actorOf(caller, now()), { action, subject: `${kind.table} ${id}`, before: { authorId } });
    return { id };
  };
  const once = async (): Promise<{ id: string }> => {
    try {
      return await writes.do({ deadline, idempotent }, remove);
    } catch (error) {
      if (!(error instanceof ManyMarks)) throw error;
      const key = storedIdToBytes(id);
      for await (const _ of batchesOf(db, kind, [key], {}, deadline));
      while (await db.transaction((tx) => dropEngagement(tx, key), deadline));
      hasFew = true;
      return once();
    }
  };
  return deleteOnce({ idempotent }, kind.notFound, once);
};
