import { In } from 'typeorm';
import { type Actor, record } from '../../auth/audit/log.ts';
import { currentDate } from '../../base/runtime.ts';
import { type ContentRow, hiddenRecordsIn, recordsIn } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { Database } from '../../db/database.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';
import { updateRow } from '../../db/sql/write-rows.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../../db/values.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import { lockUser } from '../../user/service.ts';

/** The error if records cannot be moved: the message says why. */
export class MoveError extends Error {}

/** The former and the new owner of records. */
interface Owners {
  from: string;
  to: string;
}

/**
 * Gives records of one user to another, including hidden ones, in one transaction. The new owner may change and delete
 * them from the commit on. @returns how many @throws MoveError, AppError USER_NOT_FOUND
 */
export const moveRecords = (
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  { from, to }: Owners,
  { name }: Actor,
): Promise<number> =>
  db.transaction(async (tx) => {
    const { table, countColumn, router } = kind;
    const among = In((await lockRows(tx, table, ids)).map(idFromBytes));
    // The users are read again under the lock.
    const shown = await recordsIn(tx, kind).find({ select: { id: true }, where: { id: among, authorId: from } });
    // Each statement needs its own operator, since transformers change operators.
    const which = () => ({ recordId: In(ids.map(idFromBytes)), authorId: from, kind: table });
    const hidden = await hiddenRecordsIn(tx).find({
      select: { recordId: true },
      where: which(),
      order: { recordId: 'ASC' },
      ...tx.dialect.lockingRows,
    });
    for (const id of [from, to].toSorted()) {
      if ((await lockUser(tx, id)).hiddenAt === null) continue;
      throw new MoveError(
        `The records of ${id} are hidden with their author, who has to be shown first: users unsuspend ${id}`,
      );
    }
    // A record that is being shown again is in both tables.
    const moved = new Set([...shown.map(({ id }) => id), ...hidden.map(({ recordId }) => recordId)]);
    if (moved.size === 0) return 0;
    const now = currentDate();
    const additions = [
      [storedIdToBytes(from), -shown.length],
      [storedIdToBytes(to), shown.length],
    ] as const;
    await incrementAll(tx, [{ table: 'users', column: countColumn, additions }]);
    for (const { id } of shown) {
      await updateRow<ContentRow>(tx, kind.entity, id, { authorId: to, updatedAt: now });
    }
    await hiddenRecordsIn(tx).update(which(), { authorId: to });
    const changes = shown.map(({ id }) => ({ type: `${router}.updated` as const, record: storedIdToBytes(id) }));
    await recordEvents(tx, changes, now);
    // Only ids are recorded, so that an erasure of either user need not remove titles.
    await record(
      tx,
      { name, now },
      {
        action: `${kind.router}s move`,
        subject: `user ${from}`,
        before: { [table]: [...moved] },
        after: { authorId: to },
      },
    );
    return moved.size;
  });
