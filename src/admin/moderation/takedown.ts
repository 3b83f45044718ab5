import { type Actor, record } from '../../auth/audit/log.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { idToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { type HiddenRecordRow, hiddenRecordsIn, recordsIn } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { RemovableKind } from '../../content/write/remove.ts';
import { lockUser } from '../../user/service.ts';
import { hideRecords } from './hidden/hide.ts';
import { finishShowing, publishAgain } from './hidden/show.ts';
import type { HiddenSnapshot } from './hidden/snapshot.ts';
import { commandOf } from './kinds.ts';
import { noteRecords } from './removal.ts';

/** A record cannot be shown again: the message says why. */
export class UnhideError extends Error {}

const lockRow = (tx: Transaction, { table }: ContentKind, id: string): Promise<HiddenRecordRow | null> =>
  hiddenRecordsIn(tx).findOne({ where: { recordId: id, kind: table }, ...tx.dialect.lockingRows });

/** The part of a hidden record that the audit log records. */
const traceOf = ({ recordId: id, authorId, record: kept, reason, hiddenAt }: HiddenRecordRow) => ({
  id,
  title: (JSON.parse(kept) as HiddenSnapshot).title,
  authorId,
  reason,
  hiddenAt,
});

/** Gives a record that is hidden already another reason. Returns whether it is hidden. */
const changeReason = (db: Database, kind: ContentKind, id: string, reason: string, by: Actor): Promise<boolean> =>
  db.transaction(async (tx) => {
    const row = await lockRow(tx, kind, id);
    if (!row) return false;
    if (row.reason === reason) return true;
    await hiddenRecordsIn(tx).update({ recordId: id }, { reason, hiddenAt: row.hiddenAt ?? by.now });
    await record(tx, by, {
      action: `${commandOf(kind)} hide`,
      subject: `${kind.table} ${id}`,
      before: { [kind.table]: [traceOf(row)] },
      after: { reason },
    });
    return true;
  });

/**
 * Hides a record: it is in no list, search or count from the commit on, and fails with 404. A record that is hidden already
 * gets this reason, and stays hidden when its author's records are shown again. To be run again if it was interrupted.
 * @throws AppError the kind's NOT_FOUND
 */
export const hideRecord = async (
  db: Database,
  removable: RemovableKind,
  id: string,
  { reason, by }: { reason: string; by: Actor },
): Promise<void> => {
  const { kind } = removable;
  const key = idToBytes(id);
  if (!key) throw new AppError(kind.notFound, { hint: id });
  const before = noteRecords({ by, action: `${commandOf(kind)} hide`, after: { reason } }, kind);
  const hidden = await hideRecords(db, removable, [key], { before, cause: { reason, at: by.now } });
  if (hidden > 0 || (await changeReason(db, kind, id, reason, by))) return;
  throw new AppError(kind.notFound, { hint: id });
};

/**
 * Shows a hidden record again, with the favorites, reactions and views that it had, unless its author's records are hidden. To
 * be run again if it was interrupted. @returns whether it is shown @throws UnhideError, AppError the kind's NOT_FOUND
 */
export const unhideRecord = async (db: Database, removable: RemovableKind, id: string, by: Actor): Promise<boolean> => {
  const { kind } = removable;
  const key = idToBytes(id);
  if (!key) throw new AppError(kind.notFound, { hint: id });
  const isShown = await db.transaction(async (tx) => {
    const row = await lockRow(tx, kind, id);
    if (!row) {
      const isThere = await recordsIn(tx, kind).existsBy({ id });
      throw isThere ? new UnhideError(`${id} is not hidden.`) : new AppError(kind.notFound, { hint: id });
    }
    const { authorId } = row;
    // Locked, so that the author's records are not hidden meanwhile.
    const { hiddenAt: authorHiddenAt } = await lockUser(tx, authorId);
    if (row.reason === null && authorHiddenAt !== null) {
      throw new UnhideError(`${id} is hidden with its author, and comes back with: users unsuspend ${authorId}`);
    }
    await hiddenRecordsIn(tx).update({ recordId: id }, { reason: null, hiddenAt: null });
    await record(tx, by, {
      action: `${commandOf(kind)} unhide`,
      subject: `${kind.table} ${id}`,
      before: { [kind.table]: [traceOf(row)] },
      after: { isHidden: authorHiddenAt !== null },
    });
    if (authorHiddenAt !== null) return false;
    await publishAgain(tx, removable, [key]);
    return true;
  });
  if (isShown) await finishShowing(db, removable, [key]);
  return isShown;
};
