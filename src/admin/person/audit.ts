import { scopes } from '../../../contract/index.ts';
import type { AuditColumns } from '../../audit/entity.ts';
import type { Parameter, Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import type { Bytes } from '../../db/values.ts';

/** Takes the place of a name. */
const ERASED = '[erased]';
/** A map whose names are texts of a user, too. */
const LINKS = 'socialLinks';
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const READ_AT_ONCE = 100;

type State = Record<string, unknown>;

const isState = (value: unknown): value is State =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The user whose a part of an entry is, if it says so. */
const ownerOf = ({ authorId, userId }: State): unknown => authorId ?? userId;

const isKept = (text: string): boolean => ID.test(text) || TIME.test(text) || scopes.some((scope) => scope === text);

/** A value without its texts: ids, times, scopes and numbers stay. */
const withoutTexts = (value: unknown): unknown => {
  if (typeof value === 'string') return isKept(value) ? value : ERASED;
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (!isState(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === LINKS ? ERASED : withoutTexts(member)]),
  );
};

/** Changes those parts of a value that `isMeant` accepts; leaves those out that become undefined. */
const changeParts = (value: unknown, isMeant: (part: State) => boolean, change: (part: State) => unknown): unknown => {
  if (Array.isArray(value))
    return value.map((item) => changeParts(item, isMeant, change)).filter((item) => item !== undefined);
  if (!isState(value)) return value;
  if (isMeant(value)) return change(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, changeParts(member, isMeant, change) ?? null]),
  );
};

const hasPart = (value: unknown, isMeant: (part: State) => boolean): boolean => {
  if (Array.isArray(value)) return value.some((item) => hasPart(item, isMeant));
  return isState(value) && (isMeant(value) || hasPart(Object.values(value), isMeant));
};

/** The state before or after an act, as it is stored. */
type Stored = string | null;
type StoredEntry = Pick<AuditColumns, 'id' | 'subject' | 'before_act' | 'after_act'> & {
  actor: string;
  action: string;
};

const mapStates = <E extends StoredEntry>(entry: E, change: (state: unknown) => unknown): E => {
  const changed = (stored: Stored): Stored => (stored === null ? null : JSON.stringify(change(JSON.parse(stored))));
  return { ...entry, before_act: changed(entry.before_act), after_act: changed(entry.after_act) };
};

/** Whether an entry also tells of other users. */
const isShared = ({ before_act: before, after_act: after }: StoredEntry, userId: string): boolean =>
  [before, after].some(
    (stored) =>
      stored !== null && hasPart(JSON.parse(stored), (part) => ![undefined, userId].includes(ownerOf(part) as string)),
  );

/** An entry without the names and texts of a user whom it tells of. */
const withoutUser = <E extends StoredEntry>(entry: E, userId: string): E =>
  isShared(entry, userId)
    ? mapStates(entry, (state) => changeParts(state, (part) => ownerOf(part) === userId, withoutTexts))
    : mapStates(entry, withoutTexts);

/** An entry about a user without what it tells of others. */
export const onlyAbout = <E extends StoredEntry>(entry: E, userId: string): E =>
  mapStates(entry, (state) =>
    changeParts(
      state,
      (part) => ![undefined, userId].includes(ownerOf(part) as string),
      () => undefined,
    ),
  );

const isTag = (part: State): boolean => typeof part['slug'] === 'string';

/** An entry without the names of tags. */
const withoutTags = <E extends StoredEntry>(entry: E, slugs: ReadonlySet<string>): E => {
  const isGone = slugs.has(entry.subject.replace(/^tag /, ''));
  const withoutName = (part: State): unknown => (slugs.has(String(part['slug'])) ? withoutTexts(part) : part);
  const changed = mapStates(entry, (state) => {
    // A renamed tag has no slug beside its name.
    if (isGone && isState(state) && 'name' in state) return withoutTexts(state);
    return changeParts(state, isTag, withoutName);
  });
  return isGone ? { ...changed, subject: `tag ${ERASED}` } : changed;
};

/** The entries of the audit log that a condition holds for, oldest first, part by part. */
async function* entriesWhere(
  reader: Reader,
  condition: string,
  parameters: readonly Parameter[],
): AsyncGenerator<StoredEntry[]> {
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await reader.read<StoredEntry>(
      `SELECT id, actor, action, subject, before_act, after_act FROM audit_entries
      WHERE id > ? AND (${condition}) ORDER BY id LIMIT ${READ_AT_ONCE}`,
      [after, ...parameters],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    yield rows;
  }
}

const ABOUT = ['subject', 'before_act', 'after_act'].map((column) => `INSTR(${column}, ?) > 0`).join(' OR ');

/** The entries that tell of a user: who did what to the user, the user's keys, or the user's records. */
export const entriesAbout = (reader: Reader, userId: string): AsyncGenerator<StoredEntry[]> =>
  entriesWhere(reader, ABOUT, [userId, userId, userId]);

/** Whether a user was deleted, by an entry that tells of it. */
export const isDeleted = async (reader: Reader, userId: string): Promise<boolean> => {
  const rows = await reader.read(
    "SELECT id FROM audit_entries WHERE subject = ? AND action IN ('users delete', 'users erase') LIMIT 1",
    [`user ${userId}`],
  );
  return rows.length > 0;
};

/** How many entries tell of a user. */
export const countEntriesAbout = async (reader: Reader, userId: string): Promise<number> => {
  const [row] = await reader.read<{ n: number }>(`SELECT COUNT(*) AS n FROM audit_entries WHERE ${ABOUT}`, [
    userId,
    userId,
    userId,
  ]);
  return row?.n ?? 0;
};

const isSame = (a: StoredEntry, b: StoredEntry): boolean =>
  a.subject === b.subject && a.before_act === b.before_act && a.after_act === b.after_act;

const rewrite = async (tx: Transaction, entries: readonly StoredEntry[]): Promise<void> => {
  for (const { id, subject, before_act: before, after_act: after } of entries) {
    await tx.execute('UPDATE audit_entries SET subject = ?, before_act = ?, after_act = ? WHERE id = ?', [
      subject,
      before,
      after,
      id,
    ]);
  }
};

/**
 * Takes the names and texts of a user, and the names of tags, out of the audit log; the entries stay. @returns how many
 * entries were changed
 */
export const eraseNames = async (db: Database, userId: string, slugs: ReadonlySet<string>): Promise<number> => {
  let changed = 0;
  const change = async (
    parts: AsyncGenerator<StoredEntry[]>,
    without: (entry: StoredEntry) => StoredEntry,
  ): Promise<void> => {
    for await (const entries of parts) {
      const due = entries.map(without).filter((entry, index) => !isSame(entry, entries[index]!));
      if (due.length > 0) await db.transaction((tx) => rewrite(tx, due));
      changed += due.length;
    }
  };
  await change(entriesAbout(db, userId), (entry) => withoutUser(entry, userId));
  if (slugs.size > 0) {
    await change(entriesWhere(db, "action LIKE 'tags %'", []), (entry) => withoutTags(entry, slugs));
  }
  return changed;
};
