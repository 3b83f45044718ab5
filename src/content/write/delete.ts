import { AppError } from '../../base/errors.ts';
import { record } from '../../auth/audit/log.ts';
import { deleteOnce } from '../../auth/idempotency/writes.ts';
import { actorOf } from '../../auth/own-keys.ts';
import type { Call } from '../../auth/procedure.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Transaction } from '../../db/connection.ts';
import { idFromBytes, idToBytes, storedIdToBytes } from '../../db/values.ts';
import { hiddenRecordsIn } from '../entity.ts';
import type { ContentContext } from '../service.ts';
import { MARKS_AT_ONCE, removeBatch, removeManyMarks, type Removal } from './remove.ts';
import { dropEngagement, forget } from './remove-hidden.ts';

/** Thrown in a transaction that would remove very many favorites or reactions: they are removed in parts before it. */
class ManyMarks extends Error {}

/**
 * Deletes a record of the caller, hidden or not. A record with very many favorites and reactions loses them in
 * transactions of their own first: if one of these fails, a repetition goes on.
 * @throws AppError the kind's NOT_FOUND, NOT_OWNER
 */
export const deleteRecord = (
  { db, kind, writes, now }: Pick<ContentContext<object, object>, 'db' | 'kind' | 'writes' | 'now'>,
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
      await removeManyMarks(db, kind, storedIdToBytes(id), deadline);
      while (await db.transaction((tx) => dropEngagement(tx, storedIdToBytes(id)), deadline));
      hasFew = true;
      return once();
    }
  };
  return deleteOnce({ idempotent }, kind.notFound, once);
};
