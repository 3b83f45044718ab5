import { hostname, userInfo } from 'node:os';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import { inList } from '../db/sql/in-list.ts';
import { insertInto, insertValues } from '../db/sql/insert.ts';
import { type Bytes, firstIdBytes, idFromBytes, newId, storedIdToBytes } from '../db/values.ts';
import type { AuditColumns } from './entity.ts';

/** The person who runs a privileged command, and the time. */
export interface Actor {
  /** `maru@host`, the system user; `Maru (node@host)` where a person was named. */
  name: string;
  now: Date;
}

/** A privileged act. `before` and `after` never hold a key or another secret. */
export interface AuditEvent {
  /** The action, as the command line calls it: `keys revoke`. */
  action: string;
  /** The subject: `key 019a…`. */
  subject: string;
  before?: object | null;
  after?: object | null;
}

/** An entry of the audit log. */
export interface AuditEntry {
  id: string;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  before: unknown;
  after: unknown;
}

/** The migration that makes the table. */
const AUDIT_MIGRATION = 'Care1764100000007';

const ACTOR_LENGTH = 200;
const SUBJECT_LENGTH = 300;

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    // A user of a container may have a number and no name.
    return `uid ${String(process.getuid?.())}`;
  }
};

/** The person on whose behalf this process acts, if it was told. */
let person: string | undefined;

/** Has the audit log name a person from now on, or, for undefined, the system user alone. */
export const actAs = (name: string | undefined): void => {
  person = name;
};

/** The system user of this process, with the person who was named. Nothing proves who that is, so both are recorded. */
export const systemActor = (now = new Date()): Actor => {
  const user = `${userName()}@${hostname()}`;
  const name = person === undefined ? user : `${person} (${user})`;
  return { name: Array.from(name).slice(0, ACTOR_LENGTH).join(''), now };
};

const insertion = insertInto('audit_entries', ['id', 'actor', 'action', 'subject', 'before_act', 'after_act']);

const stored = (state: object | null | undefined): string | null =>
  state === null || state === undefined ? null : JSON.stringify(state);

/** Records acts in the transaction that does them, so that neither exists without the other. */
export const recordAll = async (tx: Transaction, { name, now }: Actor, acts: readonly AuditEvent[]): Promise<void> => {
  await insertValues(
    tx,
    insertion,
    acts.map(({ action, subject, before, after }) => [
      storedIdToBytes(newId(now)),
      name,
      action,
      Array.from(subject).slice(0, SUBJECT_LENGTH).join(''),
      stored(before),
      stored(after),
    ]),
  );
};

/** As `recordAll`, for one act. Without an actor, as in a demo or a test, it records nothing. */
export const record = async (tx: Transaction, by: Actor | undefined, act: AuditEvent): Promise<void> => {
  if (by) await recordAll(tx, by, [act]);
};

const TIME_BYTES = 6;
export const timeOf = (id: Bytes): Date => new Date(Buffer.from(id).readUIntBE(0, TIME_BYTES));

const parsed = (state: string | null): unknown => (state === null ? null : JSON.parse(state));

const LISTED_AT_ONCE = 500;

/** The entries since an instant, oldest first, in batches. */
export async function* listActs(reader: Reader, since = new Date(0)): AsyncGenerator<AuditEntry[]> {
  let from: Bytes = firstIdBytes(since);
  for (let sign = '>='; ; sign = '>') {
    const rows = await reader.read<AuditColumns>(
      `SELECT id, actor, action, subject, before_act, after_act FROM audit_entries
      WHERE id ${sign} ? ORDER BY id LIMIT ${LISTED_AT_ONCE}`,
      [from],
    );
    const last = rows.at(-1);
    if (!last) return;
    from = last.id;
    yield rows.map(({ id, actor, action, subject, before_act: before, after_act: after }) => ({
      id: idFromBytes(id),
      at: timeOf(id),
      actor,
      action,
      subject,
      before: parsed(before),
      after: parsed(after),
    }));
  }
}

/** The time of the last act of this name; undefined where it was never done, or is no longer known. */
export const timeOfLast = async (reader: Reader, action: string): Promise<Date | undefined> => {
  const [last] = await reader.read<{ id: Bytes }>(
    'SELECT id FROM audit_entries WHERE action = ? ORDER BY id DESC LIMIT 1',
    [action],
  );
  return last && timeOf(last.id);
};

const DAY_MS = 86_400_000;
/** Few enough that locks are short. */
const SWEPT_AT_ONCE = 256;

/** Deletes some entries older than a number of days, the oldest first. Returns whether there may be more. */
export const sweepEvents = async (
  db: Pick<WorkloadPool, 'read' | 'transaction'>,
  now: Date,
  retentionDays: number,
): Promise<boolean> => {
  const end = firstIdBytes(new Date(now.getTime() - retentionDays * DAY_MS));
  const rows = await db.read<{ id: Bytes }>(
    `SELECT id FROM audit_entries WHERE id < ? ORDER BY id LIMIT ${SWEPT_AT_ONCE}`,
    [end],
  );
  if (rows.length === 0) return false;
  const { sql, parameters } = inList(rows.map(({ id }) => id));
  await db.transaction((tx) => tx.execute(`DELETE FROM audit_entries WHERE id IN (${sql})`, parameters));
  return rows.length === SWEPT_AT_ONCE;
};

/** The action of a backup. */
export const BACKUP = 'backup';

/** Records that the database was copied into a file; false where it has no audit log yet. */
export const recordBackup = async (
  db: Database,
  by: Actor,
  { file, bytes }: { file: string; bytes: number },
): Promise<boolean> => {
  if ((await db.pendingMigrations()).includes(AUDIT_MIGRATION)) return false;
  await db.transaction((tx) => record(tx, by, { action: BACKUP, subject: 'the database', after: { file, bytes } }));
  return true;
};

/** Records that migrations were applied or reverted, unless they dropped the table of the audit log. */
export const recordMigrations = async (
  db: Database,
  by: Actor,
  { applied = [], reverted = [] }: { applied?: readonly string[]; reverted?: readonly string[] },
): Promise<void> => {
  if (applied.length + reverted.length === 0 || (await db.pendingMigrations()).includes(AUDIT_MIGRATION)) return;
  const act: AuditEvent = {
    action: applied.length > 0 ? 'migrate' : 'migrate --down',
    subject: 'the tables',
    ...(reverted.length > 0 && { before: reverted }),
    ...(applied.length > 0 && { after: applied }),
  };
  await db.transaction((tx) => record(tx, by, act));
};
