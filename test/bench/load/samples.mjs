import { randomBytes } from 'node:crypto';
import { displayPrefix, generateKey, hashKey } from '../../../dist/src/key/format.js';
import { Random } from '../../../dist/src/seed/random.js';
import { DATABASE } from '../machine/mariadb.mjs';
import { idText, storedTime } from '../subjects/wire.mjs';

const MOST_IDS = 20_000;
const KEYS = 64;

const shuffled = (items, random) =>
  items
    .map((item) => [random.nextUint32(), item])
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);

/** Keys of this many users, stored as the command `keys create` stores them. */
const issueKeys = async (connection, users) => {
  const keys = users.map(() => generateKey());
  const now = storedTime(new Date());
  const rows = keys.map((key, index) => [
    randomBytes(16),
    users[index],
    hashKey(key),
    displayPrefix(key),
    'bench',
    'content:write,user:read,user:write',
    now,
  ]);
  await connection.query('INSERT INTO api_keys (id, user_id, key_hash, prefix, name, scopes, created_at) VALUES ?', [
    rows,
  ]);
  return keys;
};

/**
 * What the requests are made of, the same for the same seeded database: `gameIds` and `userIds` in random order, `tags`
 * from the most frequent down as `{slug, name, n}`, `types`, and `keys` of 64 users.
 */
export const takeSamples = async (mariadb, mostIds = MOST_IDS) => {
  const connection = await mariadb.connect({ database: DATABASE });
  try {
    const random = new Random('bench samples');
    const read = async (sql) => (await connection.query(sql))[0];
    const ids = async (table) => {
      const rows = await read(`SELECT id FROM ${table} ORDER BY id`);
      return shuffled(
        rows.map((row) => row.id),
        random,
      );
    };
    const userIds = await ids('users');
    return {
      gameIds: (await ids('games')).slice(0, mostIds).map(idText),
      userIds: userIds.slice(0, mostIds).map(idText),
      tags: await read('SELECT slug, name, game_count AS n FROM tags ORDER BY game_count DESC, id'),
      types: (await read("SELECT SUBSTR(name, 7) AS type FROM counters WHERE name > 'games:' AND name < 'games;'")).map(
        (row) => row.type,
      ),
      keys: await issueKeys(connection, userIds.slice(0, KEYS)),
    };
  } finally {
    await connection.end();
  }
};
