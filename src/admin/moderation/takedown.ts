import { In, IsNull } from 'typeorm';
import { type Actor, record } from '../../auth/audit/log.ts';
import { grouped } from '../../base/tally.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { type HiddenRecordRow, hiddenRecordsIn, recordsIn } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import { lockUser } from '../../user/service.ts';
import { hideRecords } from './hidden/hide.ts';
import { readHidden } from './hidden/read.ts';
import { finishShowing, publishAgain } from './hidden/show.ts';
import type { HiddenSnapshot } from './hidden/snapshot.ts';
import { noteRecords } from './removal.ts';

/** The error if a record cannot be shown again: the message says why. */
export class UnhideError extends Error {}

/** The reason why records are hidden, and the operator who hides them. */
interface Hiding {
  reason: string;
  by: Actor;
}

/** Locks hidden records of a kind, in the order of their ids. */
const lockHidden = (tx: Transaction, { table }: ContentKind, ids: readonly Bytes[]): Promise<HiddenRecordRow[]> =>
  hiddenRecordsIn(tx).find({
    where: { recordId: In(ids.map(idFromBytes)), kind: table },
    order: { recordId: 'ASC' },
    ...tx.dialect.lockingRows,
  });

/** The part of hidden records that the audit log records. */
const traceOf = ({ table }: ContentKind, rows: readonly HiddenRecordRow[]) => ({
  subject: `${table} ${rows.length === 1 ? rows[0]!.recordId : `(${rows.length})`}`,
  before: {
    [table]: rows.map(({ recordId: id, authorId, record: kept, reason, hiddenAt }) => ({
      id,
      title: (JSON.parse(kept) as HiddenSnapshot).title,
      authorId,
      reason,
      hiddenAt,
    })),
  },
});

/** Sets this reason for hidden records. @returns how many had another one, or none */
const changeReason = (
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  { reason, by }: Hiding,
): Promise<number> =>
  db.transaction(async (tx) => {
    const rows = (await lockHidden(tx, kind, ids)).filter((row) => row.reason !== reason);
    if (rows.length === 0) return 0;
    // Each needs its own operator, since transformers change operators.
    const among = () => In(rows.map(({ recordId }) => recordId));
    await hiddenRecordsIn(tx).update({ recordId: among() }, { reason });
    await hiddenRecordsIn(tx).update({ recordId: among(), hiddenAt: IsNull() }, { hiddenAt: by.now });
    await record(tx, by, { action: `${kind.router}s hide`, ...traceOf(kind, rows), after: { reason } });
    return rows.length;
  });

/**
 * Hides records: no list, search or count includes them from the commit on, and requests for them fail with 404.
 * Records that are hidden already get this reason, and stay hidden when their authors' records are shown again. Run it
 * again if it was interrupted.
 * @returns how many were not hidden for this reason before
 */
export const hideAll = async (
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  { reason, by }: Hiding,
): Promise<number> => {
  const before = noteRecords({ by, action: `${kind.router}s hide`, after: { reason } }, kind);
  const hidden = await hideRecords(db, kind, ids, { before, cause: { reason, at: by.now } });
  return hidden === ids.length ? hidden : hidden + (await changeReason(db, kind, ids, { reason, by }));
};

/** As `hideAll`, for one record. @throws AppError the kind's NOT_FOUND */
export const hideRecord = async (db: Database, kind: ContentKind, id: string, hiding: Hiding): Promise<void> => {
  const key = idToBytes(id);
  if (key && (await hideAll(db, kind, [key], hiding)) > 0) return;
  if (key && (await hiddenRecordsIn(db).existsBy({ recordId: id, kind: kind.table }))) return;
  throw new AppError(kind.notFound, { hint: id });
};

/** Locks an author and ends that these records are hidden by themselves. @returns those to be shown */
const endHiding = async (tx: Transaction, kind: ContentKind, rows: readonly HiddenRecordRow[], by: Actor) => {
  // The lock prevents others from hiding the author's records meanwhile.
  const isHidden = (await lockUser(tx, rows[0]!.authorId)).hiddenAt !== null;
  const due = rows.filter(({ reason }) => reason !== null);
  if (due.length > 0) {
    const which = { recordId: In(due.map(({ recordId }) => recordId)) };
    await hiddenRecordsIn(tx).update(which, { reason: null, hiddenAt: null });
    await record(tx, by, { action: `${kind.router}s unhide`, ...traceOf(kind, due), after: { isHidden } });
  }
  return isHidden ? [] : rows.map(({ recordId }) => storedIdToBytes(recordId));
};

/**
 * Shows hidden records with their favorites, reactions and views, unless their authors' records are hidden. Run it
 * again if it was interrupted. @returns how many are shown
 */
export const unhideAll = async (db: Database, kind: ContentKind, ids: readonly Bytes[], by: Actor): Promise<number> => {
  const shown = await db.transaction(async (tx) => {
    const byAuthor = grouped(await lockHidden(tx, kind, ids), ({ authorId }) => authorId);
    const back: Bytes[] = [];
    for (const author of [...byAuthor.keys()].toSorted()) {
      back.push(...(await endHiding(tx, kind, byAuthor.get(author)!, by)));
    }
    await publishAgain(tx, kind, back);
    return back;
  });
  if (shown.length > 0) await finishShowing(db, kind, shown);
  return shown.length;
};

/** As `unhideAll`, for one record. @returns whether it is shown @throws UnhideError, AppError the kind's NOT_FOUND */
export const unhideRecord = async (db: Database, kind: ContentKind, id: string, by: Actor): Promise<boolean> => {
  const key = idToBytes(id);
  const hidden = key && (await readHidden(db, kind, id));
  if (!hidden) {
    const exists = key && (await recordsIn(db, kind).existsBy({ id }));
    throw exists ? new UnhideError(`${id} is not hidden.`) : new AppError(kind.notFound, { hint: id });
  }
  if (hidden.state.reason === null && hidden.state.authorHiddenAt !== null) {
    const author = idFromBytes(hidden.row.authorId);
    throw new UnhideError(`${id} is hidden with its author, and comes back with: users unsuspend ${author}`);
  }
  return (await unhideAll(db, kind, [key], by)) > 0;
};
