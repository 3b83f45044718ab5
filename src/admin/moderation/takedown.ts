import { type Actor, record } from '../../audit/log.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, idToBytes, timeFromDb, timeToDb } from '../../db/values.ts';
import { AppError } from '../../errors.ts';
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

interface LockedRow {
  author_id: Bytes;
  record: string;
  hidden_at: string | null;
  reason: string | null;
}

const lockRow = async (tx: Transaction, { table }: ContentKind, id: Bytes): Promise<LockedRow | undefined> => {
  const [row] = await tx.read<LockedRow>(
    `SELECT author_id, record, hidden_at, reason FROM hidden_records WHERE record_id = ? AND kind = ? ${tx.dialect.forUpdate}`,
    [id, table],
  );
  return row;
};

/** The part of a hidden record that the audit log records. */
const traceOf = ({ author_id: authorId, record: kept, reason, hidden_at: at }: LockedRow, id: string) => ({
  id,
  title: (JSON.parse(kept) as HiddenSnapshot).title,
  authorId: idFromBytes(authorId),
  reason,
  hiddenAt: at === null ? null : timeFromDb(at),
});

/** Gives a record that is hidden already another reason. Returns whether it is hidden. */
const changeReason = (db: Database, kind: ContentKind, id: string, reason: string, by: Actor): Promise<boolean> =>
  db.transaction(async (tx) => {
    const key = idToBytes(id)!;
    const row = await lockRow(tx, kind, key);
    if (!row) return false;
    if (row.reason === reason) return true;
    await tx.execute('UPDATE hidden_records SET reason = ?, hidden_at = ? WHERE record_id = ?', [
      reason,
      row.hidden_at ?? timeToDb(by.now),
      key,
    ]);
    await record(tx, by, {
      action: `${commandOf(kind)} hide`,
      subject: `${kind.table} ${id}`,
      before: { [kind.table]: [traceOf(row, id)] },
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
    const row = await lockRow(tx, kind, key);
    if (!row) {
      const [shown] = await tx.read(`SELECT id FROM ${kind.table} WHERE id = ?`, [key]);
      throw shown ? new UnhideError(`${id} is not hidden.`) : new AppError(kind.notFound, { hint: id });
    }
    const authorId = idFromBytes(row.author_id);
    // Locked, so that the author's records are not hidden meanwhile.
    const { hiddenAt: authorHiddenAt } = await lockUser(tx, authorId);
    if (row.reason === null && authorHiddenAt !== null) {
      throw new UnhideError(`${id} is hidden with its author, and comes back with: users unsuspend ${authorId}`);
    }
    await tx.execute('UPDATE hidden_records SET reason = NULL, hidden_at = NULL WHERE record_id = ?', [key]);
    await record(tx, by, {
      action: `${commandOf(kind)} unhide`,
      subject: `${kind.table} ${id}`,
      before: { [kind.table]: [traceOf(row, id)] },
      after: { isHidden: authorHiddenAt !== null },
    });
    if (authorHiddenAt !== null) return false;
    await publishAgain(tx, removable, [key]);
    return true;
  });
  if (isShown) await finishShowing(db, removable, [key]);
  return isShown;
};
