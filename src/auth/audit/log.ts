import { hostname, userInfo } from 'node:os';
import { type EntitySchema, LessThan, MoreThan, MoreThanOrEqual } from 'typeorm';
import { currentDate } from '../../base/runtime.ts';
import { withoutKeys } from '../../../contract/index.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';
import { column, entityOf, named, nullable, primary, type RowOf } from '../../db/sql/table.ts';
import { sweepRows } from '../../db/sweep.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { firstIdBytes, idFromBytes, isId, newId, timeOfId } from '../../db/values.ts';

/** The person who runs a privileged command, and the time. */
export interface Actor {
  /** `maru@host`, the system user; `Maru (node@host)` if a person was named. */
  name: string;
  now: Date;
}

/** A privileged act. `before` and `after` never contain a secret; a key in their texts is masked. */
export interface AuditEvent {
  /** The action, as the command line calls it: `keys revoke`. */
  action: string;
  /** The subject: `key 019a…`. */
  subject: string;
  before?: object | null;
  after?: object | null;
}

const ACTOR_LENGTH = 200;
const SUBJECT_LENGTH = 300;

/** The row of a privileged act. The id contains the time. */
const auditColumns = {
  id: primary(column.id),
  actor: column.text(ACTOR_LENGTH),
  action: column.text(50),
  subject: column.text(SUBJECT_LENGTH),
  /** JSON; null if nothing needs to be recorded. */
  before: nullable(named('before_act', column.longText)),
  after: nullable(named('after_act', column.longText)),
};

export type AuditRow = RowOf<typeof auditColumns>;

export const entriesIn = repositoryOf<AuditRow>('AuditEntry');

export const auditEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, { name: 'AuditEntry', tableName: 'audit_entries', columns: auditColumns });

/** The migration that creates the table. */
const AUDIT_MIGRATION = 'Care1764100000007';

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    // A user of a container may have a number and no name.
    return `uid ${String(process.getuid?.())}`;
  }
};

/** The person on whose behalf this process acts, if it was named. */
let person: string | undefined;

/** Sets the person that the audit log names from now on; undefined means the system user alone. */
export const actAs = (name: string | undefined): void => {
  person = name;
};

/** The system user of this process, with the named person. Nothing proves who that is, so both are recorded. */
export const systemActor = (now = currentDate()): Actor => {
  const user = `${userName()}@${hostname()}`;
  const name = person === undefined ? user : `${person} (${user})`;
  return { name: Array.from(name).slice(0, ACTOR_LENGTH).join(''), now };
};

const stored = (state: object | null | undefined): string | null =>
  state === null || state === undefined ? null : withoutKeys(JSON.stringify(state));

/** Records acts in the transaction that does them, so that neither exists without the other. */
export const recordAll = async (tx: Transaction, { name, now }: Actor, acts: readonly AuditEvent[]): Promise<void> => {
  await entriesIn(tx).insert(
    acts.map(({ action, subject, before, after }) => ({
      id: newId(now),
      actor: withoutKeys(name),
      action,
      subject: Array.from(withoutKeys(subject)).slice(0, SUBJECT_LENGTH).join(''),
      before: stored(before),
      after: stored(after),
    })),
  );
};

/** As `recordAll`, for one act. Records nothing without an actor, as in a demo or a test. */
export const record = async (tx: Transaction, by: Actor | undefined, act: AuditEvent): Promise<void> => {
  if (by) await recordAll(tx, by, [act]);
};

/** The time of an act, from the id of its entry. */
export const timeOf = (id: string): Date => new Date(timeOfId(id));

/** The lowest id of this instant or later. */
const firstId = (time: Date): string => idFromBytes(firstIdBytes(time));

const parsed = (state: string | null): unknown => (state === null ? null : JSON.parse(state));

const LISTED_AT_ONCE = 500;

/** The conditions on entries: parts of their actors and subjects, and their command. */
export type ActFilter = Partial<Pick<AuditEvent, 'action' | 'subject'> & { actor: string }>;

/** An entry of the audit log. */
export type AuditEntry = Omit<AuditRow, 'before' | 'after'> & { at: Date; before: unknown; after: unknown };

/** Whether an entry satisfies a filter. The states before and after acts on many records contain the ids of these. */
const isMeant = (entry: AuditRow, { actor = '', action, subject = '' }: ActFilter): boolean => {
  const about = isId(subject) ? [entry.subject, entry.before, entry.after] : [entry.subject];
  return (
    entry.actor.includes(actor) &&
    (action === undefined || `${entry.action} `.startsWith(`${action} `)) &&
    about.some((text) => text?.includes(subject))
  );
};

/** The entries since an instant that satisfy a filter, oldest first, in batches. */
export async function* listActs(
  reader: Reader,
  since = new Date(0),
  filter: ActFilter = {},
): AsyncGenerator<AuditEntry[]> {
  let from = MoreThanOrEqual(firstId(since));
  for (;;) {
    const rows = await entriesIn(reader).find({ where: { id: from }, order: { id: 'ASC' }, take: LISTED_AT_ONCE });
    const last = rows.at(-1);
    if (!last) return;
    from = MoreThan(last.id);
    const meant = rows.filter((row) => isMeant(row, filter));
    yield meant.map(({ before, after, ...row }) => ({
      ...row,
      at: timeOf(row.id),
      before: parsed(before),
      after: parsed(after),
    }));
  }
}

/** The time of the last act of this name; undefined if none is recorded, or its entry was deleted. */
export const timeOfLast = async (reader: Reader, action: string): Promise<Date | undefined> => {
  const [last] = await entriesIn(reader).find({
    select: { id: true },
    where: { action },
    order: { id: 'DESC' },
    take: 1,
  });
  return last && timeOf(last.id);
};

const DAY_MS = 86_400_000;

/** The time before which entries are deleted, if they are kept for a number of days. */
export const auditEnd = (now: Date, retentionDays: number): Date => new Date(now.getTime() - retentionDays * DAY_MS);

/** Deletes some entries older than a number of days, the oldest first. Returns whether there may be more. */
export const sweepEvents = (
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  now: Date,
  retentionDays: number,
): Promise<boolean> => {
  const end = firstId(auditEnd(now, retentionDays));
  return sweepRows(db, entriesIn, () => ({ id: LessThan(end) }), { id: 'ASC' });
};

/** Records an act in its own transaction; returns false if the database has no audit log. */
const recordAlone = async (db: Database, by: Actor, act: AuditEvent): Promise<boolean> => {
  if ((await db.pendingMigrations()).includes(AUDIT_MIGRATION)) return false;
  await db.transaction((tx) => record(tx, by, act));
  return true;
};

/** The action of a backup. */
export const BACKUP = 'backup';

/** Records that the database was copied into a file; returns false if it has no audit log yet. */
export const recordBackup = (db: Database, by: Actor, after: { file: string; bytes: number }): Promise<boolean> =>
  recordAlone(db, by, { action: BACKUP, subject: 'the database', after });

/** Records that migrations were applied or reverted, unless they dropped the table of the audit log. */
export const recordMigrations = async (
  db: Database,
  by: Actor,
  { applied = [], reverted = [] }: { applied?: readonly string[]; reverted?: readonly string[] },
): Promise<void> => {
  if (applied.length + reverted.length === 0) return;
  await recordAlone(db, by, {
    action: applied.length > 0 ? 'migrate' : 'migrate --down',
    subject: 'the tables',
    ...(reverted.length > 0 && { before: reverted }),
    ...(applied.length > 0 && { after: applied }),
  });
};
