import type { ContentKind } from '../content/kind.ts';
import type { Parameter, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { inList } from '../db/in-list.ts';
import { insertValues } from '../db/insert.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';
import { Groups } from './groups.ts';

type Reaction = 'like' | 'dislike';
/** What a user can set on a record. A reaction takes the place of the other one. */
type Mark = 'favorite' | Reaction;

/** A call: the mark is set or, where it is, taken back. */
interface Toggle {
  kind: ContentKind;
  id: string;
  userId: string;
  mark: Mark;
}

interface Counts {
  favorite_count: number;
  like_count: number;
  dislike_count: number;
}

/** The mark that the user has now, and the record's counts. */
interface Outcome extends Counts {
  mark: Mark | null;
}

const countColumns = { favorite: 'favorite_count', like: 'like_count', dislike: 'dislike_count' } as const;

/** The table of a mark, and which mark a row `m` of it stands for. */
interface MarkTable {
  table: string;
  mark: string;
  hasType: boolean;
}

const markTable = ({ favoriteTable, reactionTable }: ContentKind, mark: Mark): MarkTable =>
  mark === 'favorite'
    ? { table: favoriteTable, mark: "'favorite'", hasType: false }
    : { table: reactionTable, mark: 'm.type', hasType: true };

/** The marks of users in one table, as they are stored and as they are to be. */
interface Marks {
  stored: ReadonlyMap<string, Mark>;
  wanted: Map<string, Mark>;
}

interface MarkRow {
  user_id: Bytes | null;
  mark: Mark;
}

const marksOf = (rows: readonly MarkRow[]): Marks => {
  const stored = rows.flatMap(({ user_id, mark }) => (user_id === null ? [] : [[idFromBytes(user_id), mark] as const]));
  return { stored: new Map(stored), wanted: new Map(stored) };
};

/**
 * Locks a record before anything that hangs on it is touched: the one order in which callers never deadlock. Reads the
 * marks of some users in one table in the same trip.
 * @throws AppError the kind's NOT_FOUND
 */
const lockRecord = async (
  tx: Transaction,
  kind: ContentKind,
  key: Bytes,
  { table, mark }: MarkTable,
  users: readonly Bytes[],
): Promise<{ counts: Counts; marks: Marks }> => {
  const among = inList(users);
  const rows = await tx.read<Counts & MarkRow>(
    `SELECT r.favorite_count, r.like_count, r.dislike_count, m.user_id, ${mark} AS mark
    FROM ${kind.table} r LEFT JOIN ${table} m ON m.${kind.foreignKey} = r.id AND m.user_id IN (${among.sql})
    WHERE r.id = ? ${tx.dialect.forUpdate}`,
    [...among.parameters, key],
  );
  const [first] = rows;
  if (!first) throw new AppError(kind.notFound);
  const { favorite_count, like_count, dislike_count } = first;
  return { counts: { favorite_count, like_count, dislike_count }, marks: marksOf(rows) };
};

/** The marks of some users of a record that is locked. */
const readMarks = async (
  tx: Transaction,
  { foreignKey }: ContentKind,
  key: Bytes,
  { table, mark }: MarkTable,
  users: readonly Bytes[],
): Promise<Marks> => {
  const among = inList(users);
  return marksOf(
    await tx.read<MarkRow>(
      `SELECT m.user_id, ${mark} AS mark FROM ${table} m WHERE m.${foreignKey} = ? AND m.user_id IN (${among.sql})`,
      [key, ...among.parameters],
    ),
  );
};

/** Makes what is stored what is wanted. */
const storeMarks = async (
  tx: Transaction,
  { foreignKey }: ContentKind,
  key: Bytes,
  { table, hasType }: MarkTable,
  { stored, wanted }: Marks,
): Promise<void> => {
  const gone = [...stored.keys()].filter((userId) => !wanted.has(userId));
  if (gone.length > 0) {
    const among = inList(gone.map(storedIdToBytes));
    await tx.execute(`DELETE FROM ${table} WHERE ${foreignKey} = ? AND user_id IN (${among.sql})`, [
      key,
      ...among.parameters,
    ]);
  }
  // In the order of their ids, since each share-locks its user.
  const set = [...wanted]
    .filter(([userId, mark]) => stored.get(userId) !== mark)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const { dialect } = tx;
  await insertValues(
    tx,
    table,
    ['user_id', foreignKey, ...(hasType ? ['type'] : [])],
    set.map(([userId, mark]): Parameter[] => [storedIdToBytes(userId), key, ...(hasType ? [mark] : [])]),
    hasType ? `${dialect.onConflict(`user_id, ${foreignKey}`)} type = ${dialect.inserted('type')}` : '',
  );
};

/** Applies one toggle to what it finds, and tells what the caller then sees. */
const apply = ({ userId, mark }: Toggle, { wanted }: Marks, counts: Counts): Outcome => {
  const earlier = wanted.get(userId);
  const now = earlier === mark ? null : mark;
  if (earlier) counts[countColumns[earlier]] -= 1;
  if (now) {
    counts[countColumns[now]] += 1;
    wanted.set(userId, now);
  } else {
    wanted.delete(userId);
  }
  return { mark: now, ...counts };
};

/** Does toggles of one record in the order in which they came, in one transaction. */
const toggleAll = (db: Database, toggles: readonly Toggle[]): Promise<Outcome[]> => {
  const { kind, id } = toggles[0]!;
  const key = idToBytes(id);
  if (!key) throw new AppError(kind.notFound);
  const tables = new Map<string, { of: MarkTable; users: Bytes[] }>();
  for (const { userId, mark } of toggles) {
    const of = markTable(kind, mark);
    const entry = tables.get(of.table) ?? { of, users: [] };
    tables.set(of.table, entry);
    entry.users.push(storedIdToBytes(userId));
  }
  const [first, ...others] = [...tables.values()];
  return db.transaction(async (tx) => {
    const { counts, marks } = await lockRecord(tx, kind, key, first!.of, first!.users);
    const marksByTable = new Map([[first!.of.table, marks]]);
    for (const { of, users } of others) marksByTable.set(of.table, await readMarks(tx, kind, key, of, users));
    const outcomes = toggles.map((toggle) =>
      apply(toggle, marksByTable.get(markTable(kind, toggle.mark).table)!, counts),
    );
    for (const { of } of tables.values()) await storeMarks(tx, kind, key, of, marksByTable.get(of.table)!);
    await tx.execute(`UPDATE ${kind.table} SET favorite_count = ?, like_count = ?, dislike_count = ? WHERE id = ?`, [
      counts.favorite_count,
      counts.like_count,
      counts.dislike_count,
      key,
    ]);
    return outcomes;
  });
};

/** Favorites and reactions. Those of one record that meet are stored together. */
export class Toggles {
  readonly #groups: Groups<Toggle, Outcome>;

  constructor(db: Database) {
    this.#groups = new Groups((toggles) => toggleAll(db, toggles));
  }

  /** Makes the record a favorite of the user or, if it is one, takes that back. @throws AppError the kind's NOT_FOUND */
  async favorite(
    kind: ContentKind,
    id: string,
    userId: string,
  ): Promise<{ favorited: boolean; favoriteCount: number }> {
    const { mark, favorite_count } = await this.#toggle({ kind, id, userId, mark: 'favorite' });
    return { favorited: mark !== null, favoriteCount: favorite_count };
  }

  /**
   * Sets the user's reaction to the record; the same one again removes it, the other one switches it.
   * @throws AppError the kind's NOT_FOUND
   */
  async react(
    kind: ContentKind,
    id: string,
    userId: string,
    type: Reaction,
  ): Promise<{ reaction: Reaction | null; likeCount: number; dislikeCount: number }> {
    const { mark, like_count, dislike_count } = await this.#toggle({ kind, id, userId, mark: type });
    return { reaction: mark as Reaction | null, likeCount: like_count, dislikeCount: dislike_count };
  }

  #toggle(toggle: Toggle): Promise<Outcome> {
    return this.#groups.do(`${toggle.kind.table} ${toggle.id}`, toggle);
  }
}
