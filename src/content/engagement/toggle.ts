import { contentColumns, type ContentRow, markCountColumn, countMembers, type Mark } from '../entity.ts';
import type { ContentKind } from '../kind.ts';
import type { Parameter, Transaction } from '../../db/connection.ts';
import type { Dialect } from '../../db/dialect.ts';
import { padded, partsOf, placeholders } from '../../db/sql/in-list.ts';
import { type Insert, insertInto, insertValues } from '../../db/sql/write-rows.ts';
import { memoizeBySize, memoize } from '../../base/cache.ts';
import { lockReferred } from '../../db/sql/lock-rows.ts';
import { picked, selected } from '../../db/sql/table.ts';
import { type Bytes, countFromDb, idFromBytes, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { recordReactions } from '../../event/outbox/record.ts';
import type { IdempotentCall } from '../../auth/idempotency/call.ts';
import type { WriteResult } from '../../auth/idempotency/writes.ts';

export type Reaction = Exclude<Mark, 'favorite'>;

/** A call that sets a mark, or removes it if it is set. */
export interface Toggle {
  kind: ContentKind;
  id: string;
  userId: string;
  mark: Mark;
  idempotent: IdempotentCall | undefined;
  /** Builds the output for the caller. */
  view: (outcome: ToggleOutcome) => unknown;
}

type Counts = Pick<ContentRow, (typeof countMembers)[Mark]>;

/** The user's current mark, and the record's counts. */
export interface ToggleOutcome extends Counts {
  mark: Mark | null;
}

/** The counts of a record `r`. */
const SELECTED_COUNTS = selected(picked(contentColumns, ...Object.values(countMembers)), 'r');

type ToggleStatement = (n: number) => string;

/** A table of favorites or reactions, and its statements, each for `n` users, marks or records. */
interface EngagementTable {
  hasType: boolean;
  /** Locks one record before the rows that refer to it, and reads the marks of `n` users. */
  lockOne: ToggleStatement;
  /** Locks `n` records in the order of their ids, so that transactions never deadlock. */
  lockAll: ToggleStatement;
  /** Reads `n` marks by their user and record. */
  read: ToggleStatement;
  remove: ToggleStatement;
  insert: Insert;
  /** The record's counts of these marks. */
  counts: readonly (keyof Counts)[];
  /** Stores these counts of `n` records. */
  storeCounts: ToggleStatement;
}

/** `mark` is the mark that a row `m` represents. SQL: each toggle runs these; their texts are built once. */
const engagementTable = (
  dialect: Dialect,
  { table: records, foreignKey }: ContentKind,
  { table, mark, engagement }: { table: string; mark: string; engagement: readonly Mark[] },
): EngagementTable => {
  const hasType = engagement.length > 1;
  const counts = engagement.map((one) => countMembers[one]);
  // A list of rows would keep MariaDB from reading a range.
  const any = (n: number): string => Array(n).fill(`(user_id = ? AND ${foreignKey} = ?)`).join(' OR ');
  return {
    hasType,
    lockOne: memoizeBySize(
      (users) => `SELECT r.id, ${SELECTED_COUNTS}, m.user_id AS userId, ${mark} AS mark
    FROM ${records} r LEFT JOIN ${table} m ON m.${foreignKey} = r.id AND m.user_id IN (${placeholders(users)})
    WHERE r.id = ? ${dialect.forUpdate}`,
    ),
    lockAll: memoizeBySize(
      (n) => `SELECT r.id, ${SELECTED_COUNTS} FROM ${records} r
    WHERE id IN (${placeholders(n)}) ORDER BY id ${dialect.forUpdate}`,
    ),
    read: memoizeBySize(
      (n) => `SELECT user_id AS userId, ${foreignKey} AS id, ${mark} AS mark FROM ${table} m WHERE ${any(n)}`,
    ),
    remove: memoizeBySize((n) => `DELETE FROM ${table} WHERE ${any(n)}`),
    insert: insertInto(
      table,
      ['user_id', foreignKey, ...(hasType ? ['type'] : [])],
      hasType ? `${dialect.onConflict(`user_id, ${foreignKey}`)} type = ${dialect.inserted('type')}` : '',
    ),
    counts,
    storeCounts: memoizeBySize((n) => {
      const value = n === 1 ? '?' : `CASE id ${'WHEN ? THEN ? '.repeat(n)}END`;
      return `UPDATE ${records} SET ${engagement.map((one) => `${markCountColumn(one)} = ${value}`).join(', ')}
    WHERE id IN (${placeholders(n)})`;
    }),
  };
};

/** The table of each mark on records of a kind. */
const engagementTables = memoize((dialect: Dialect) =>
  memoize((kind: ContentKind): Record<Mark, EngagementTable> => {
    const { favoriteTable, reactionTable } = kind;
    const favorite = engagementTable(dialect, kind, {
      table: favoriteTable,
      mark: "'favorite'",
      engagement: ['favorite'],
    });
    const reaction = engagementTable(dialect, kind, {
      table: reactionTable,
      mark: 'm.type',
      engagement: ['like', 'dislike'],
    });
    return { favorite, like: reaction, dislike: reaction };
  }),
);

/** A locked record, and the marks of some users: stored and wanted. */
interface Locked {
  key: Bytes;
  counts: Counts;
  stored: Map<string, Mark>;
  wanted: Map<string, Mark>;
}

/** Locked records by their ids. */
type LockedRecords = ReadonlyMap<string, Locked>;

interface LockedRow extends Counts {
  id: Bytes;
}

interface MarkRow {
  userId: Bytes | null;
  mark: Mark;
}

/** Converts the row of a locked record; its marks are not known yet. */
const lockedOf = ({ id, favoriteCount, likeCount, dislikeCount }: LockedRow): Locked => ({
  key: id,
  counts: {
    favoriteCount: countFromDb(favoriteCount),
    likeCount: countFromDb(likeCount),
    dislikeCount: countFromDb(dislikeCount),
  },
  stored: new Map(),
  wanted: new Map(),
});

const note = ({ stored, wanted }: Locked, { userId, mark }: MarkRow): void => {
  if (userId === null) return;
  const user = idFromBytes(userId);
  stored.set(user, mark);
  wanted.set(user, mark);
};

/** Locks the only record of these toggles, and reads the marks of their users in the same round trip. */
const lockRecord = async (
  tx: Transaction,
  table: EngagementTable,
  toggles: readonly Toggle[],
): Promise<LockedRecords> => {
  const { id } = toggles[0]!;
  const users = padded(toggles.map(({ userId }) => storedIdToBytes(userId)));
  const rows = await tx.read<LockedRow & MarkRow>(table.lockOne(users.length), [...users, storedIdToBytes(id)]);
  const [first] = rows;
  if (!first) return new Map();
  const record = lockedOf(first);
  for (const row of rows) note(record, row);
  return new Map([[id, record]]);
};

type Pair = readonly [user: Bytes, record: Bytes];

/** Splits pairs into chunks, each with its statement size and its parameters. */
const partsOfPairs = (pairs: readonly Pair[]): { n: number; parameters: Bytes[] }[] =>
  partsOf(pairs).map((part) => {
    const among = padded(part);
    return { n: among.length, parameters: among.flat() };
  });

/** Locks the existing records of the toggles, and reads the marks of their users. */
const lockRecords = async (
  tx: Transaction,
  table: EngagementTable,
  toggles: readonly Toggle[],
): Promise<LockedRecords> => {
  const ids = new Set(toggles.map(({ id }) => id));
  if (ids.size === 1) return lockRecord(tx, table, toggles);
  const keys = padded([...ids].map(storedIdToBytes));
  const rows = await tx.read<LockedRow>(table.lockAll(keys.length), keys);
  const records = new Map(rows.map((row) => [idFromBytes(row.id), lockedOf(row)]));
  const sought = toggles.flatMap(({ userId, id }): Pair[] => {
    const record = records.get(id);
    return record ? [[storedIdToBytes(userId), record.key]] : [];
  });
  for (const { n, parameters } of partsOfPairs(sought)) {
    const engagement = await tx.read<MarkRow & { id: Bytes }>(table.read(n), parameters);
    for (const row of engagement) note(records.get(idFromBytes(row.id))!, row);
  }
  return records;
};

/** Stores the wanted marks. */
const storeEngagement = async (tx: Transaction, table: EngagementTable, records: Iterable<Locked>): Promise<void> => {
  const gone: Pair[] = [];
  const set: { userId: string; key: Bytes; mark: Mark }[] = [];
  for (const { key, stored, wanted } of records) {
    for (const userId of stored.keys()) if (!wanted.has(userId)) gone.push([storedIdToBytes(userId), key]);
    for (const [userId, mark] of wanted) if (stored.get(userId) !== mark) set.push({ userId, key, mark });
  }
  for (const { n, parameters } of partsOfPairs(gone)) await tx.execute(table.remove(n), parameters);
  if (set.length === 0) return;
  // In the order of the ids, since each row share-locks its user.
  const rows = set
    .toSorted((a, b) => (a.userId < b.userId ? -1 : 1))
    .map(({ userId, key, mark }): Parameter[] => [storedIdToBytes(userId), key, ...(table.hasType ? [mark] : [])]);
  await lockReferred(tx, 'users', () => set.map(({ userId }) => storedIdToBytes(userId)));
  await insertValues(tx, table.insert, rows);
};

const storeCounts = async (tx: Transaction, table: EngagementTable, records: Iterable<Locked>): Promise<void> => {
  const all = padded([...records]);
  const values = (column: keyof Counts): Parameter[] =>
    all.flatMap(({ key, counts }) => (all.length === 1 ? [counts[column]] : [key, counts[column]]));
  await tx.execute(table.storeCounts(all.length), [...table.counts.flatMap(values), ...all.map(({ key }) => key)]);
};

/** Applies one toggle to a locked record. Returns what the caller then sees. */
const apply = ({ userId, mark }: Toggle, { wanted, counts }: Locked): ToggleOutcome => {
  const earlier = wanted.get(userId);
  const now = earlier === mark ? null : mark;
  if (earlier) counts[countMembers[earlier]] = countFromDb(counts[countMembers[earlier]] - 1);
  if (now) {
    counts[countMembers[now]] += 1;
    wanted.set(userId, now);
  } else {
    wanted.delete(userId);
  }
  return { mark: now, ...counts };
};

/** The table that a toggle changes. */
export const tableOf = ({ kind, mark }: Toggle): string =>
  mark === 'favorite' ? kind.favoriteTable : kind.reactionTable;

/** Does toggles of one table in order. A toggle of a missing record gets the kind's NOT_FOUND. */
export const toggleInOrder = async (tx: Transaction, toggles: readonly Toggle[], now: Date): Promise<WriteResult[]> => {
  const { kind, mark } = toggles[0]!;
  const table = engagementTables(tx.dialect)(kind)[mark];
  const records = await lockRecords(tx, table, toggles);
  const results = toggles.map((toggle): WriteResult => {
    const record = records.get(toggle.id);
    return record ? { output: toggle.view(apply(toggle, record)) } : new AppError(kind.notFound);
  });
  if (records.size > 0) {
    await storeEngagement(tx, table, records.values());
    await storeCounts(tx, table, records.values());
    const keys = Array.from(records.values(), ({ key }) => key);
    await recordReactions(tx, `${kind.router}.reactionsChanged`, keys, now);
  }
  return results;
};
