import { BatchLoader } from '../db/batching/batch-loader.ts';
import type { Reader } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { inList } from '../db/sql/in-list.ts';
import { idFromBytes, storedIdToBytes } from '../db/values.ts';
import { SELECT_PROFILES, type StoredProfile } from './entity.ts';

/** Loads profiles by id. Waiting calls share their queries. */
export type ProfileReads = BatchLoader<string, StoredProfile | undefined>;

export const profileReads = (db: Database): ProfileReads =>
  new BatchLoader({
    note: db.observer?.coalesced('profiles'),
    run: async (ids, deadline) => {
      const users = await readUsers(db.within(deadline), new Set(ids));
      return ids.map((id) => users.get(id));
    },
  });

/** The profiles of users, by id. SQL: each read of a profile runs it. */
export const readUsers = async (reader: Reader, ids: Iterable<string>): Promise<Map<string, StoredProfile>> => {
  const { sql, parameters } = inList([...ids].map(storedIdToBytes));
  const users = await reader.read<StoredProfile>(`${SELECT_PROFILES} WHERE id IN (${sql})`, parameters);
  return new Map(users.map((user) => [idFromBytes(user.id), user]));
};
