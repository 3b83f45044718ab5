import type { ContentKind } from '../content/kind.ts';
import { Orphaned, type Parameter, type Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { GroupCommit } from '../db/group-commit.ts';
import type { Dialect } from '../db/dialect.ts';
import { padded, placeholders } from '../db/in-list.ts';
import { type Insert, insertInto, insertValues } from '../db/insert.ts';
import { bySize, onceFor } from '../db/texts.ts';
import { type Bytes, countFromDb, idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../key/verifier.ts';
import type { Repeatable } from '../idempotency/repeatable.ts';
import { doOnce, type Result, type Writes } from '../idempotency/writes.ts';
import type { Call } from '../procedure.ts';

export type Reaction = 'like' | 'dislike';
/** What a user can set on a record. A reaction takes the place of the other one. */
type Mark = 'favorite' | Reaction;

/** A call: the mark is set or, where it is, taken back. */
interface Toggle {
  kind: ContentKind;
  id: string;
  userId: string;
  mark: Mark;
  repeatable: Repeatable | undefined;
  /** What the caller is told. */
  view: (outcome: Outcome) => unknown;
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

type Statement = (users: number) => string;

/** The table of a mark, and the statements for a record and so many users in it. */
interface MarkTable {
  hasType: boolean;
  /** Locks a record before anything that hangs on it is touched: the one order in which callers never deadlock. */
  lock: Statement;
  read: Statement;
  remove: Statement;
  insert: Insert;
}

/** `mark` is which mark a row `m` stands for. */
const markTable = (
  dialect: Dialect,
  { table: records, foreignKey }: ContentKind,
  { table, mark, hasType }: { table: string; mark: string; hasType: boolean },
): MarkTable => ({
  hasType,
  lock: bySize(
    (users) => `SELECT r.favorite_count, r.like_count, r.dislike_count, m.user_id, ${mark} AS mark
    FROM ${records} r LEFT JOIN ${table} m ON m.${foreignKey} = r.id AND m.user_id IN (${placeholders(users)})
    WHERE r.id = ? ${dialect.forUpdate}`,
  ),
  read: bySize(
    (users) => `SELECT m.user_id, ${mark} AS mark FROM ${table} m
    WHERE m.${foreignKey} = ? AND m.user_id IN (${placeholders(users)})`,
  ),
  remove: bySize((users) => `DELETE FROM ${table} WHERE ${foreignKey} = ? AND user_id IN (${placeholders(users)})`),
  insert: insertInto(
    table,
    ['user_id', foreignKey, ...(hasType ? ['type'] : [])],
    hasType ? `${dialect.onConflict(`user_id, ${foreignKey}`)} type = ${dialect.inserted('type')}` : '',
  ),
});

/** The tables of each mark on records of a kind, and the statement that stores a record's counts. */
const markTables = onceFor((dialect: Dialect) =>
  onceFor((kind: ContentKind) => {
    const favorite = markTable(dialect, kind, { table: kind.favoriteTable, mark: "'favorite'", hasType: false });
    const reaction = markTable(dialect, kind, { table: kind.reactionTable, mark: 'm.type', hasType: true });
    return {
      of: { favorite, like: reaction, dislike: reaction },
      storeCounts: `UPDATE ${kind.table} SET favorite_count = ?, like_count = ?, dislike_count = ? WHERE id = ?`,
    };
  }),
);

/** The marks of users in one table, as they are stored and as they are to be. */
interface Marks {
  stored: ReadonlyMap<string, Mark>;
  wanted: Map<string, Mark>;
}

/** A table of marks, and the users whose marks in it are toggled. */
interface Touched {
  table: MarkTable;
  users: Bytes[];
}

interface MarkRow {
  user_id: Bytes | null;
  mark: Mark;
}

const marksOf = (rows: readonly MarkRow[]): Marks => {
  const stored = new Map<string, Mark>();
  for (const { user_id, mark } of rows) if (user_id !== null) stored.set(idFromBytes(user_id), mark);
  return { stored, wanted: new Map(stored) };
};

/** Locks a record and reads the marks of some users in one table in the same trip. @throws AppError the kind's NOT_FOUND */
const lockRecord = async (
  tx: Transaction,
  kind: ContentKind,
  key: Bytes,
  { table, users }: Touched,
): Promise<{ counts: Counts; marks: Marks }> => {
  const among = padded(users);
  const rows = await tx.read<Counts & MarkRow>(table.lock(among.length), [...among, key]);
  const [first] = rows;
  if (!first) throw new AppError(kind.notFound);
  const { favorite_count, like_count, dislike_count } = first;
  const counts = {
    favorite_count: countFromDb(favorite_count),
    like_count: countFromDb(like_count),
    dislike_count: countFromDb(dislike_count),
  };
  return { counts, marks: marksOf(rows) };
};

/** The marks of some users of a record that is locked. */
const readMarks = async (tx: Transaction, key: Bytes, { table, users }: Touched): Promise<Marks> => {
  const among = padded(users);
  return marksOf(await tx.read<MarkRow>(table.read(among.length), [key, ...among]));
};

/** Makes what is stored what is wanted. */
const storeMarks = async (
  tx: Transaction,
  key: Bytes,
  { hasType, remove, insert }: MarkTable,
  { stored, wanted }: Marks,
): Promise<void> => {
  const gone = [...stored.keys()].filter((userId) => !wanted.has(userId));
  if (gone.length > 0) {
    const among = padded(gone.map(storedIdToBytes));
    await tx.execute(remove(among.length), [key, ...among]);
  }
  // In the order of their ids, since each share-locks its user.
  const set = [...wanted]
    .filter(([userId, mark]) => stored.get(userId) !== mark)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (set.length === 0) return;
  await insertValues(
    tx,
    insert,
    set.map(([userId, mark]): Parameter[] => {
      const id = storedIdToBytes(userId);
      return hasType ? [id, key, mark] : [id, key];
    }),
  );
};

/** Applies one toggle to what it finds, and tells what the caller then sees. */
const apply = ({ userId, mark }: Toggle, { wanted }: Marks, counts: Counts): Outcome => {
  const earlier = wanted.get(userId);
  const now = earlier === mark ? null : mark;
  if (earlier) counts[countColumns[earlier]] = countFromDb(counts[countColumns[earlier]] - 1);
  if (now) {
    counts[countColumns[now]] += 1;
    wanted.set(userId, now);
  } else {
    wanted.delete(userId);
  }
  return { mark: now, ...counts };
};

/** Does toggles of one record in their order. */
const toggleInOrder = async (tx: Transaction, toggles: readonly Toggle[]): Promise<Outcome[]> => {
  const { kind, id } = toggles[0]!;
  const key = storedIdToBytes(id);
  const { of, storeCounts } = markTables(tx.dialect)(kind);
  const tables: Touched[] = [];
  for (const { userId, mark } of toggles) {
    const user = storedIdToBytes(userId);
    const touched = tables.find(({ table }) => table === of[mark]);
    if (touched) touched.users.push(user);
    else tables.push({ table: of[mark], users: [user] });
  }
  const [first, ...others] = tables;
  const { counts, marks } = await lockRecord(tx, kind, key, first!);
  const marksByTable = new Map([[first!.table, marks]]);
  for (const touched of others) marksByTable.set(touched.table, await readMarks(tx, key, touched));
  const outcomes = toggles.map((toggle) => apply(toggle, marksByTable.get(of[toggle.mark])!, counts));
  for (const [table, found] of marksByTable) await storeMarks(tx, key, table, found);
  await tx.execute(storeCounts, [counts.favorite_count, counts.like_count, counts.dislike_count, key]);
  return outcomes;
};

const outputsOf = async (tx: Transaction, toggles: readonly Toggle[]): Promise<{ output: unknown }[]> => {
  const outcomes = await toggleInOrder(tx, toggles);
  return toggles.map(({ view }, index) => ({ output: view(outcomes[index]!) }));
};

const isRepeatable = (toggle: Toggle): toggle is Toggle & { repeatable: Repeatable } => toggle.repeatable !== undefined;

/** The record was locked: of what a mark refers to, it can be but the user who was deleted meanwhile. */
const toCaller = (error: unknown): never => {
  throw error instanceof Orphaned ? new AppError('KEY_UNKNOWN', { cause: error }) : error;
};

/** What the caller is told of a favorite. */
export interface FavoriteState {
  favorited: boolean;
  favoriteCount: number;
}

/** What the caller is told of a reaction. */
export interface ReactionState {
  reaction: Reaction | null;
  likeCount: number;
  dislikeCount: number;
}

/** Favorites and reactions. Those of one record that meet are stored together. */
export class Toggles {
  readonly #writes: Writes;
  readonly #groups: GroupCommit<Toggle, Result>;

  constructor(db: Database, writes: Writes, now: () => Date) {
    this.#writes = writes;
    this.#groups = new GroupCommit((toggles, deadline) =>
      toggles.every(isRepeatable)
        ? db.transaction((tx) => doOnce(tx, toggles, now(), outputsOf), deadline, { isRepeatable: true })
        : db.transaction((tx): Promise<Result[]> => outputsOf(tx, toggles), deadline),
    );
  }

  /**
   * Makes the record a favorite of the user or, if it is one, takes that back; `view` makes the output of the state.
   * @throws AppError the kind's NOT_FOUND, KEY_UNKNOWN where the user was deleted meanwhile, and as `Writes.do`
   */
  favorite<Output>(
    kind: ContentKind,
    id: string,
    call: Call<Caller>,
    view: (state: FavoriteState) => Output,
  ): Promise<Output> {
    return this.#toggle({ kind, id, mark: 'favorite' }, call, ({ mark, favorite_count }) =>
      view({ favorited: mark !== null, favoriteCount: favorite_count }),
    );
  }

  /**
   * Sets the user's reaction to the record; the same one again removes it, the other one switches it. `view` makes the
   * output of the state.
   * @throws AppError the kind's NOT_FOUND, KEY_UNKNOWN where the user was deleted meanwhile, and as `Writes.do`
   */
  react<Output>(
    kind: ContentKind,
    id: string,
    type: Reaction,
    call: Call<Caller>,
    view: (state: ReactionState) => Output,
  ): Promise<Output> {
    return this.#toggle({ kind, id, mark: type }, call, ({ mark, like_count, dislike_count }) =>
      view({ reaction: mark as Reaction | null, likeCount: like_count, dislikeCount: dislike_count }),
    );
  }

  async #toggle<Output>(
    { kind, id, mark }: Pick<Toggle, 'kind' | 'id' | 'mark'>,
    { caller: { userId }, deadline, repeatable }: Call<Caller>,
    view: (outcome: Outcome) => Output,
  ): Promise<Output> {
    if (!idToBytes(id)) throw new AppError(kind.notFound);
    const toggle: Toggle = { kind, id, userId, mark, repeatable, view };
    // Those that may be repeated are done by themselves: whether all of a transaction is may decide what becomes of it.
    const toWhat = `${kind.table} ${id}`;
    const doIt = (among: string): Promise<Result> => this.#groups.do(among, toggle, deadline).catch(toCaller);
    const result = repeatable ? await this.#writes.alone(repeatable, () => doIt(`${toWhat} once`)) : await doIt(toWhat);
    if ('output' in result) return result.output as Output;
    throw result;
  }
}
