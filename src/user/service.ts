import type { Contract, InputOf } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { insertRows } from '../db/insert.ts';
import { updateRow } from '../db/update.ts';
import { idFromBytes, idToBytes, newId, timeFromDb } from '../db/values.ts';
import { AppError } from '../errors.ts';
import { normalise } from '../search/text.ts';
import type { UserColumns, UserRow, UserSummaryColumns } from './entity.ts';
import { readUsers } from './reads.ts';

type NewUser = Pick<UserRow, 'id' | 'nickname'> & Partial<UserRow>;

export const insertUser = (tx: Transaction, user: NewUser, now: Date): Promise<void> =>
  insertRows(tx, 'User', [
    { socialLinks: {}, searchText: normalise(user.nickname), createdAt: now, updatedAt: now, ...user },
  ]);

/** Makes a user and returns the id. */
export const createUser = (db: Database, nickname: string, now: Date): Promise<string> =>
  db.transaction(async (tx) => {
    const id = newId(now);
    await insertUser(tx, { id, nickname }, now);
    return id;
  });

/** As `getUser`, on its own. @throws AppError USER_NOT_FOUND */
export const readUser = async (reader: Reader, id: string): Promise<UserColumns> => {
  const user = idToBytes(id) && (await readUsers(reader, [id])).get(id);
  if (!user) throw new AppError('USER_NOT_FOUND');
  return user;
};

/** The profile of a user. @throws AppError USER_NOT_FOUND */
export const getUser = async ({ reads }: Pick<Context, 'reads'>, id: string): Promise<UserColumns> => {
  const user = idToBytes(id) && (await reads.profiles.load(id));
  if (!user) throw new AppError('USER_NOT_FOUND');
  return user;
};

/** All users, oldest first. */
export const listUsers = async (reader: Reader): Promise<Pick<UserRow, 'id' | 'nickname' | 'createdAt'>[]> => {
  const users = await reader.read<Pick<UserColumns, 'id' | 'nickname' | 'created_at'>>(
    'SELECT id, nickname, created_at FROM users ORDER BY id',
  );
  return users.map(({ id, nickname, created_at: createdAt }) => ({
    id: idFromBytes(id),
    nickname,
    createdAt: new Date(timeFromDb(createdAt)),
  }));
};

type Changes = InputOf<Contract['user']['updateProfile']> & Partial<InputOf<Contract['user']['updateAvatar']>>;

/** Changes the given members of a profile and returns it. */
export const updateUser = ({ db, now }: Context, id: string, changes: Changes): Promise<UserColumns> =>
  db.transaction(async (tx) => {
    const given: Partial<UserRow> = Object.fromEntries(
      Object.entries(changes).filter(([, value]) => value !== undefined),
    );
    if (Object.keys(given).length > 0) {
      await updateRow<UserRow>(tx, 'User', id, {
        ...given,
        ...(given.nickname !== undefined && { searchText: normalise(given.nickname) }),
        updatedAt: now(),
      });
    }
    return readUser(tx, id);
  });

/** Users whose nickname holds a text; those whose nickname starts with it first. */
export const searchUsers = async (
  { db }: Context,
  query: string,
  limit: number,
): Promise<{ users: UserSummaryColumns[]; hasMore: boolean }> => {
  const text = normalise(query).trim();
  const users = await db.read<UserSummaryColumns>(
    `SELECT id, nickname, avatar FROM users WHERE INSTR(search_text, ?) > 0
    ORDER BY INSTR(search_text, ?) = 1 DESC, id LIMIT ?`,
    [text, text, limit + 1],
  );
  return { users: users.slice(0, limit), hasMore: users.length > limit };
};
