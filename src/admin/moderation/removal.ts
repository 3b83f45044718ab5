import { type Actor, record } from '../../audit/log.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { RecordToDelete } from '../../content/write/remove.ts';
import type { Transaction } from '../../db/connection.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';

/** Why records go, or come back, for the audit. */
export interface Reason {
  by: Actor;
  action: string;
  /** What it is done for; the records themselves unless told. */
  subject?: string;
}

/** What is remembered of an actor who has been at work for a while. */
const nowOf = ({ name }: Actor): Actor => ({ name, now: new Date() });

/** Notes which records go, in the transaction in which they do. */
export const noteRecords =
  ({ by, action, subject }: Reason, { table }: ContentKind) =>
  async (tx: Transaction, records: readonly RecordToDelete[]): Promise<void> => {
    const gone = records.map(({ id, title, author_id: authorId }) => ({
      id: idFromBytes(id),
      title,
      authorId: idFromBytes(authorId),
    }));
    const [first] = gone;
    const about = subject ?? `${table} ${gone.length === 1 ? (first?.id ?? '') : `(${gone.length})`}`;
    await record(tx, nowOf(by), { action, subject: about, before: { [table]: gone } });
  };

/** Notes what becomes of hidden records, in the transaction in which it does. */
export const noteHidden =
  ({ by, action, subject = '' }: Reason, what: 'shown' | 'deleted') =>
  async (tx: Transaction, ids: readonly Bytes[]): Promise<void> =>
    record(tx, nowOf(by), {
      action,
      subject,
      [what === 'shown' ? 'after' : 'before']: { [what]: ids.map(idFromBytes) },
    });
