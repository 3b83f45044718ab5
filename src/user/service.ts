import { currentDate, performance } from '../base/runtime.ts';
import type { Contract, InputOf } from '../../contract/index.ts';
import { type Actor, record } from '../auth/audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { inList } from '../db/sql/in-list.ts';
import { insertRows, updateRow } from '../db/sql/write-rows.ts';
import { type Bytes, idFromBytes, idToBytes, isId, newId, storedIdToBytes } from '../db/values.ts';
import type { Deadline } from '../base/deadline.ts';
import { AppError } from '../base/errors.ts';
import { type Document, type EnqueueDocuments, enqueueDocuments, idOfKey, keyOf } from '../search/document.ts';
import { START } from '../search/grams.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Writes } from '../auth/idempotency/writes.ts';
import type { Call } from '../auth/procedure.ts';
import { recordEvents } from '../event/outbox/record.ts';
import type { SearchIndex } from '../search/search-index.ts';
import { normalise } from '../search/text.ts';
import {
  SELECT_SUMMARIES,
  type StoredProfile,
  type StoredUserSummary,
  type UserRow,
  userSearch,
  usersIn,
} from './entity.ts';
import { type ProfileReads, readUsers } from './reads.ts';

/** The dependencies of the router `user`. */
export interface UserContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  profiles: ProfileReads;
  search: SearchIndex;
  writes: Writes;
}

export type NewUser = Pick<UserRow, 'id' | 'nickname'> & Partial<UserRow>;

/** The search document of a user. Users sort by their ids only. */
const userDocument = ({ id, nickname }: Pick<UserRow, 'id' | 'nickname'>): Document => ({
  key: keyOf(0, storedIdToBytes(id)),
  text: normalise(nickname),
  labels: [],
});

/** Stores users; `enqueue` adds them to the search index. */
export const insertUsers = async (
  tx: Transaction,
  users: readonly NewUser[],
  now: Date,
  enqueue: EnqueueDocuments = enqueueDocuments,
): Promise<void> => {
  await insertRows(
    tx,
    'User',
    users.map((user) => ({
      socialLinks: {},
      searchText: normalise(user.nickname),
      createdAt: now,
      updatedAt: now,
      ...user,
    })),
  );
  await enqueue(tx, userSearch, users.map(userDocument), false);
  await recordEvents(
    tx,
    users.map(({ id }) => ({ type: 'user.created' as const, record: storedIdToBytes(id) })),
    now,
  );
};

export const insertUser = (tx: Transaction, user: NewUser, now: Date): Promise<void> => insertUsers(tx, [user], now);

/** Creates a user and returns the id. */
export const createUser = (db: Database, nickname: string, now: Date, by?: Actor): Promise<string> =>
  db.transaction(async (tx) => {
    const id = newId(now);
    await insertUser(tx, { id, nickname }, now);
    await record(tx, by, { action: 'users create', subject: `user ${id}`, after: { nickname } });
    return id;
  });

/** Changes the nickname of a user. @throws AppError USER_NOT_FOUND */
export const renameUser = (db: Database, id: string, nickname: string, by: Actor): Promise<{ before: string }> =>
  db.transaction(async (tx) => {
    const { nickname: before } = await lockUser(tx, id);
    if (before === nickname) return { before };
    await updateRow<UserRow>(tx, 'User', id, { nickname, searchText: normalise(nickname), updatedAt: by.now });
    await enqueueDocuments(tx, userSearch, [userDocument({ id, nickname })], true);
    await recordEvents(tx, [{ type: 'user.updated', record: storedIdToBytes(id) }], by.now);
    const act = { action: 'users rename', subject: `user ${id}`, before: { nickname: before }, after: { nickname } };
    await record(tx, by, act);
    return { before };
  });

/** The members of a user that operators change. */
export type LockedUser = Pick<UserRow, 'nickname' | 'suspendedAt' | 'hiddenAt'>;

/** Locks a user. @throws AppError USER_NOT_FOUND */
export const lockUser = async (tx: Transaction, id: string): Promise<LockedUser> => {
  const select = { id: true, nickname: true, suspendedAt: true, hiddenAt: true };
  const user = isId(id) && (await usersIn(tx).findOne({ select, where: { id }, ...tx.dialect.lockingRows }));
  if (!user) throw new AppError('USER_NOT_FOUND');
  return user;
};

/** Deletes a user who has no records, favorites or reactions any more, and the user's keys. */
export const deleteUserRow = async (tx: Transaction, id: string): Promise<void> => {
  await usersIn(tx).delete({ id });
  await recordEvents(tx, [{ type: 'user.deleted', record: storedIdToBytes(id) }], currentDate());
  // An empty document, which is never found, replaces the user's document.
  await enqueueDocuments(tx, userSearch, [{ key: keyOf(0, storedIdToBytes(id)), text: '', labels: [] }], true);
};

/** Reads one profile, without batching. @throws AppError USER_NOT_FOUND */
export const readUser = async (reader: Reader, id: string): Promise<StoredProfile> => {
  const user = idToBytes(id) && (await readUsers(reader, [id])).get(id);
  if (!user) throw new AppError('USER_NOT_FOUND');
  return user;
};

/** The id of a user given by id, or by a nickname that only one user has. @throws AppError USER_NOT_FOUND */
export const idOfUser = async (reader: Reader, named: string): Promise<string> => {
  if (idToBytes(named)) {
    await readUser(reader, named);
    return named;
  }
  const select = { id: true };
  const [first, second] = await usersIn(reader).find({
    select,
    where: { nickname: named },
    order: { id: 'ASC' },
    take: 2,
  });
  if (first === undefined)
    throw new AppError('USER_NOT_FOUND', { hint: 'nor with this nickname; find the id in: users list' });
  if (second !== undefined) {
    throw new AppError('USER_NOT_FOUND', { hint: 'several have this nickname; find the id in: users list' });
  }
  return first.id;
};

/** The profile of a user. @throws AppError USER_NOT_FOUND */
export const getUser = async (
  { profiles }: Pick<UserContext, 'profiles'>,
  id: string,
  { deadline }: Pick<Call, 'deadline'>,
): Promise<StoredProfile> => {
  const user = idToBytes(id) && (await profiles.load(id, deadline));
  if (!user) throw new AppError('USER_NOT_FOUND');
  return user;
};

/** All users, oldest first, or only users whose nickname contains a text. */
export const listUsers = (reader: Reader, search = ''): Promise<Pick<UserRow, 'id' | 'nickname' | 'createdAt'>[]> =>
  usersIn(reader)
    .createQueryBuilder('u')
    .select(['u.id', 'u.nickname', 'u.createdAt'])
    .where('INSTR(u.searchText, :text) > 0', { text: normalise(search).trim() })
    .orderBy('u.id')
    .getMany();

type Changes = InputOf<Contract['user']['updateProfile']> & Partial<InputOf<Contract['user']['updateAvatar']>>;

/** Changes the given members of a profile; `view` builds the output from it. */
export const updateUser = <Output extends object>(
  { writes, now }: UserContext,
  changes: Changes,
  call: Call<Caller>,
  view: (user: StoredProfile) => Output,
): Promise<Output> => {
  const id = call.caller.userId;
  const look = async (tx: Transaction): Promise<Output> => view(await readUser(tx, id));
  const change = async (tx: Transaction): Promise<Output> => {
    const given: Partial<UserRow> = Object.fromEntries(
      Object.entries(changes).filter(([, value]) => value !== undefined),
    );
    if (Object.keys(given).length === 0) return look(tx);
    const at = now();
    const { nickname } = given;
    const update = { ...given, ...(nickname !== undefined && { searchText: normalise(nickname) }), updatedAt: at };
    if ((await updateRow<UserRow>(tx, 'User', id, update, { unlessSame: true })) > 0) {
      const key = storedIdToBytes(id);
      await recordEvents(tx, [{ type: 'user.updated', record: key, actor: key }], at);
      if (nickname !== undefined) await enqueueDocuments(tx, userSearch, [userDocument({ id, nickname })], true);
    }
    return look(tx);
  };
  return writes.do(call, change, { look });
};

/** The maximum charge to the meter for a search, in milliseconds. */
const MOST_BILLED_MS = 250;

/** The users whose nickname contains a text; nicknames that start with it first. */
export const searchUsers = async (
  { db, search }: UserContext,
  query: string,
  limit: number,
  { deadline }: Call,
): Promise<{ users: StoredUserSummary[]; hasMore: boolean }> => {
  const text = normalise(query).trim();
  const reader = db.within(deadline);
  const began = performance.now();
  const ids = await findUsers(search, text, limit + 1, deadline);
  deadline.chargeSince(began, MOST_BILLED_MS);
  const users = ids ? await readSummaries(reader, ids) : await scanUsers(reader, text, limit + 1);
  return { users: users.slice(0, limit), hasMore: users.length > limit };
};

/** The ids of the first users found by the index, in order. Returns undefined if the index cannot answer. */
const findUsers = async (
  index: SearchIndex,
  text: string,
  limit: number,
  deadline: Deadline,
): Promise<Bytes[] | undefined> => {
  const find = async (term: string): Promise<Bytes[] | undefined> => {
    const search = await index.search(userSearch, { terms: [term], labels: [] }, deadline);
    if (!search) return undefined;
    const { keys } = await search.find({ direction: 'ASC', limit }, 0);
    return search.isSound ? keys.map(idOfKey) : undefined;
  };
  const first = await find(START + text);
  if (!first || first.length === limit) return first;
  const all = await find(text);
  const known = new Set(first.map(idFromBytes));
  return all && [...first, ...all.filter((id) => !known.has(idFromBytes(id)))].slice(0, limit);
};

/** The users with these ids, in their order. SQL: each search of users runs it, or the one below. */
const readSummaries = async (reader: Reader, ids: readonly Bytes[]): Promise<StoredUserSummary[]> => {
  if (ids.length === 0) return [];
  const { sql, parameters } = inList(ids);
  const rows = await reader.read<StoredUserSummary>(`${SELECT_SUMMARIES} WHERE id IN (${sql})`, parameters);
  const byId = new Map(rows.map((row) => [idFromBytes(row.id), row]));
  return ids.map((id) => byId.get(idFromBytes(id))).filter((row) => row !== undefined);
};

/** Searches users without the index. */
const scanUsers = (reader: Reader, text: string, limit: number): Promise<StoredUserSummary[]> =>
  reader.read<StoredUserSummary>(
    `${SELECT_SUMMARIES} WHERE INSTR(search_text, ?) > 0
    ORDER BY INSTR(search_text, ?) = 1 DESC, id LIMIT ?`,
    [text, text, limit],
  );
