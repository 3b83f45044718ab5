import { currentDate } from '../../base/runtime.ts';
import { type Actor, record } from '../../auth/audit/log.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { RecordToDelete } from '../../content/write/remove.ts';
import type { Transaction } from '../../db/connection.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';

/** The cause of a removal, or of showing records again, for the audit log. */
interface Reason {
  by: Actor;
  action: string;
  /** The subject of the audit event; the records themselves by default. */
  subject?: string;
  /** The state of the records afterwards, if they are only hidden. */
  after?: object;
  /** Whether only their ids are recorded, without titles. */
  isNameless?: boolean;
}

/** The same actor with the current time, since a long removal spans several events. */
const nowOf = ({ name }: Actor): Actor => ({ name, now: currentDate() });

/** Records in the audit log which records are deleted, in the transaction that deletes them. */
export const noteRecords =
  ({ by, action, subject, after, isNameless = false }: Reason, { table }: ContentKind) =>
  async (tx: Transaction, records: readonly RecordToDelete[]): Promise<void> => {
    const gone = records.map(({ id, title, authorId }) => ({
      id: idFromBytes(id),
      title,
      authorId: idFromBytes(authorId),
    }));
    const [first] = gone;
    const left = isNameless ? gone.map(({ id }) => id) : gone;
    const about = subject ?? `${table} ${gone.length === 1 ? (first?.id ?? '') : `(${gone.length})`}`;
    await record(tx, nowOf(by), { action, subject: about, before: { [table]: left }, ...(after && { after }) });
  };

/** Records in the audit log that hidden records were shown or deleted, in the same transaction. */
export const noteHidden =
  ({ by, action, subject = '' }: Reason, change: 'shown' | 'deleted') =>
  async (tx: Transaction, ids: readonly Bytes[]): Promise<void> =>
    record(tx, nowOf(by), {
      action,
      subject,
      [change === 'shown' ? 'after' : 'before']: { [change]: ids.map(idFromBytes) },
    });
