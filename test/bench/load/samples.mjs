import { randomBytes } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { displayPrefix, generateKey, hashKey } from '../../../dist/src/auth/format.js';
import { Random } from '../../../dist/src/sandbox/seed/random.js';
import { DATABASE } from '../machine/mariadb.mjs';

const MOST_IDS = 20_000;
/** Enough for as many connections of a crowd. */
const KEYS = 2000;

/** The id of 16 bytes. */
const idText = (bytes) => {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const shuffled = (items, random) =>
  items
    .map((item) => [random.nextUint32(), item])
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);

/** Keys of these users, with their rows as the command `keys create` stores them. */
const newKeys = (users) => {
  const keys = users.map(() => generateKey());
  const now = new Date().toISOString().slice(0, -1).replace('T', ' ');
  const rows = keys.map((key, index) => [
    randomBytes(16),
    users[index],
    hashKey(key),
    displayPrefix(key),
    'bench',
    'content:write,user:read,user:write',
    now,
  ]);
  return { keys, rows };
};

const KEY_COLUMNS = 'id, user_id, key_hash, prefix, name, scopes, created_at';

/**
 * What the requests are made of, the same for the same seeded database: `gameIds` and `userIds` in random order, `tags`
 * from the most frequent down as `{slug, name, n}`, `types`, and 2 000 `keys`, of as many users if
 * there are.
 */
const samplesOf = async (read, storeKeys, mostIds) => {
  const random = new Random('bench samples');
  const ids = async (table) => {
    const rows = await read(`SELECT id FROM ${table} ORDER BY id`);
    return shuffled(
      rows.map((row) => Buffer.from(row.id)),
      random,
    );
  };
  const userIds = await ids('users');
  const owners = Array.from({ length: KEYS }, (_, index) => userIds[index % userIds.length]);
  const { keys, rows } = newKeys(owners);
  await storeKeys(rows);
  const types = await read("SELECT SUBSTR(name, 7) AS type FROM counters WHERE name > 'games:' AND name < 'games;'");
  return {
    gameIds: (await ids('games')).slice(0, mostIds).map(idText),
    userIds: userIds.slice(0, mostIds).map(idText),
    tags: await read('SELECT slug, name, game_count AS n FROM tags ORDER BY game_count DESC, id'),
    types: types.map((row) => row.type),
    keys,
  };
};

/** The samples of a MariaDB. */
export const takeSamples = async (mariadb, mostIds = MOST_IDS) => {
  const connection = await mariadb.connect({ database: DATABASE });
  try {
    const read = async (sql) => (await connection.query(sql))[0];
    const store = (rows) => connection.query(`INSERT INTO api_keys (${KEY_COLUMNS}) VALUES ?`, [rows]);
    return await samplesOf(read, store, mostIds);
  } finally {
    await connection.end();
  }
};

/** The samples of a SQLite database, a file that nobody else has open. */
export const takeSqliteSamples = async (file, mostIds = MOST_IDS) => {
  const database = new DatabaseSync(file);
  try {
    const insert = database.prepare(`INSERT INTO api_keys (${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    const store = async (rows) => rows.map((row) => insert.run(...row));
    return await samplesOf(async (sql) => database.prepare(sql).all(), store, mostIds);
  } finally {
    database.close();
  }
};
