import { inParts } from '../../db/manager.ts';
import { type FindOptionsWhere, In, Like } from 'typeorm';
import { scopes } from '../../../contract/index.ts';
import { type AuditRow, entriesIn } from '../../auth/audit/log.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { NIL_ID } from '../../db/values.ts';

/** Replaces a name. */
const ERASED = '[erased]';
/** A map whose keys are texts of a user, too. */
const LINKS = 'socialLinks';
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const READ_AT_ONCE = 100;

type State = Record<string, unknown>;

const isState = (value: unknown): value is State =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The user who owns a part of an entry, if the part names one. */
const ownerOf = ({ authorId, userId }: State): unknown => authorId ?? userId;

const isKept = (text: string): boolean => ID.test(text) || TIME.test(text) || scopes.some((scope) => scope === text);

/** Erases the texts in a value; ids, times, scopes and numbers stay. */
const withoutTexts = (value: unknown): unknown => {
  if (typeof value === 'string') return isKept(value) ? value : ERASED;
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (!isState(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === LINKS ? ERASED : withoutTexts(member)]),
  );
};

/** Changes the parts of a value that `isMeant` accepts; removes parts that become undefined. */
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

/** Changes the states before and after the act of an entry, which are stored as JSON. */
const mapStates = (entry: AuditRow, change: (state: unknown) => unknown): AuditRow => {
  const changed = (stored: string | null): string | null =>
    stored === null ? null : JSON.stringify(change(JSON.parse(stored)));
  return { ...entry, before: changed(entry.before), after: changed(entry.after) };
};

/** Whether an entry also describes other users. */
const isShared = ({ before, after }: AuditRow, userId: string): boolean =>
  [before, after].some(
    (stored) =>
      stored !== null && hasPart(JSON.parse(stored), (part) => ![undefined, userId].includes(ownerOf(part) as string)),
  );

/** Erases a user's names and texts from an entry that describes the user. */
const withoutUser = (entry: AuditRow, userId: string): AuditRow =>
  isShared(entry, userId)
    ? mapStates(entry, (state) => changeParts(state, (part) => ownerOf(part) === userId, withoutTexts))
    : mapStates(entry, withoutTexts);

/** Removes the parts about others from an entry about a user. */
export const onlyAbout = (entry: AuditRow, userId: string): AuditRow =>
  mapStates(entry, (state) =>
    changeParts(
      state,
      (part) => ![undefined, userId].includes(ownerOf(part) as string),
      () => undefined,
    ),
  );

const isTag = (part: State): boolean => typeof part['slug'] === 'string';

/** Erases the names of tags from an entry. */
const withoutTags = (entry: AuditRow, slugs: ReadonlySet<string>): AuditRow => {
  const isGone = slugs.has(entry.subject.replace(/^tag /, ''));
  const withoutName = (part: State): unknown => (slugs.has(String(part['slug'])) ? withoutTexts(part) : part);
  const changed = mapStates(entry, (state) => {
    // A renamed tag has no slug beside its name.
    if (isGone && isState(state) && 'name' in state) return withoutTexts(state);
    return changeParts(state, isTag, withoutName);
  });
  return isGone ? { ...changed, subject: `tag ${ERASED}` } : changed;
};

type Condition = FindOptionsWhere<AuditRow>;

/** The entries of the audit log that satisfy one of the conditions, oldest first, in batches. */
const entriesWhere = (reader: Reader, conditions: () => Condition[]): AsyncGenerator<AuditRow[]> =>
  inParts(entriesIn(reader), { key: 'id', first: NIL_ID, take: READ_AT_ONCE }, (later) => ({
    where: conditions().map((condition) => ({ ...condition, id: later() })),
  }));

const about = (userId: string): Condition[] => {
  const names = `%${userId}%`;
  return [{ subject: Like(names) }, { before: Like(names) }, { after: Like(names) }];
};

/** The entries that describe acts on a user, the user's keys, or the user's records. */
export const entriesAbout = (reader: Reader, userId: string): AsyncGenerator<AuditRow[]> =>
  entriesWhere(reader, () => about(userId));

/** Whether an entry records that a user was deleted. */
export const isDeleted = (reader: Reader, userId: string): Promise<boolean> =>
  entriesIn(reader).existsBy({ subject: `user ${userId}`, action: In(['users delete', 'users erase']) });

/** The number of entries that describe a user. */
export const countEntriesAbout = (reader: Reader, userId: string): Promise<number> =>
  entriesIn(reader).countBy(about(userId));

const isSame = (a: AuditRow, b: AuditRow): boolean =>
  a.subject === b.subject && a.before === b.before && a.after === b.after;

const rewrite = async (tx: Transaction, entries: readonly AuditRow[]): Promise<void> => {
  for (const { id, subject, before, after } of entries) await entriesIn(tx).update({ id }, { subject, before, after });
};

/**
 * Erases the names and texts of a user, and the names of tags, from the audit log; the entries stay. @returns how many
 * entries were changed
 */
export const eraseNames = async (db: Database, userId: string, slugs: ReadonlySet<string>): Promise<number> => {
  let changed = 0;
  const change = async (parts: AsyncGenerator<AuditRow[]>, without: (entry: AuditRow) => AuditRow): Promise<void> => {
    for await (const entries of parts) {
      const due = entries.map(without).filter((entry, index) => !isSame(entry, entries[index]!));
      if (due.length > 0) await db.transaction((tx) => rewrite(tx, due));
      changed += due.length;
    }
  };
  await change(entriesAbout(db, userId), (entry) => withoutUser(entry, userId));
  if (slugs.size > 0) {
    await change(
      entriesWhere(db, () => [{ action: Like('tags %') }]),
      (entry) => withoutTags(entry, slugs),
    );
  }
  return changed;
};
