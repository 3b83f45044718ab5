import type { Reader } from '../db/connection.ts';
import { Coalescer } from '../db/coalesce.ts';
import { inList } from '../db/in-list.ts';
import { idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';
import type { UserColumns } from './entity.ts';

const COLUMNS =
  'id, nickname, bio, pronouns, website, location, social_links, avatar, game_count, image_post_count, created_at, updated_at';

/** Reads profiles by id; those who wait share their queries. */
export type ProfileReads = Coalescer<string, UserColumns | undefined>;

export const profileReads = (reader: Reader): ProfileReads =>
  new Coalescer({
    run: async (ids) => {
      const users = await readUsers(reader, new Set(ids));
      return ids.map((id) => users.get(id));
    },
  });

const readUsers = async (reader: Reader, ids: Iterable<string>): Promise<Map<string, UserColumns>> => {
  const { sql, parameters } = inList([...ids].map(storedIdToBytes));
  const users = await reader.read<UserColumns>(`SELECT ${COLUMNS} FROM users WHERE id IN (${sql})`, parameters);
  return new Map(users.map((user) => [idFromBytes(user.id), user]));
};

/** As `getUser`, on its own. @throws AppError USER_NOT_FOUND */
export const readUser = async (reader: Reader, id: string): Promise<UserColumns> => {
  const user = idToBytes(id) && (await readUsers(reader, [id])).get(id);
  if (!user) throw new AppError('USER_NOT_FOUND');
  return user;
};
