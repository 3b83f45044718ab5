import { createHash } from 'node:crypto';
import mysql from 'mysql2';
import { Statistics } from '../../../dist/src/content/read/list/statistics.js';
import { gameKind } from '../../../dist/src/game/kind.js';
import { addViews, countedTagsBySlug, keyByHash, tagsById } from './statements.mjs';
import { idBytes } from './wire.mjs';

const POOL_SIZE = 16;
const KEY_MS = 500;
const VIEWS_MS = 1000;
const VIEWS_ROWS = 200;

/**
 * A pool as the product's, by mysql2's callbacks, which cost less than its promises; its connections begin with these
 * settings.
 */
export const openPool = (url, settings = []) => {
  const pool = mysql.createPool({
    uri: url,
    connectionLimit: POOL_SIZE,
    charset: 'utf8mb4',
    timezone: 'Z',
    dateStrings: true,
    supportBigNumbers: true,
  });
  pool.on('connection', (connection) => {
    for (const setting of ['SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED', ...settings]) {
      connection.query(setting, () => undefined);
    }
  });
  return pool;
};

/** Runs a prepared statement on a pool or connection: the rows, or what a write did. */
export const execute = (connection, sql, parameters) =>
  new Promise((resolve, reject) => {
    connection.execute(sql, parameters, (error, result) => (error ? reject(error) : resolve(result)));
  });

const query = (connection, sql) =>
  new Promise((resolve, reject) => {
    connection.query(sql, (error, result) => (error ? reject(error) : resolve(result)));
  });

/** The setting of a pool for `transaction`, which then needs no trip to begin. */
export const WITHOUT_AUTOCOMMIT = 'SET SESSION autocommit = 0';

/** Runs `work` on a connection, then COMMIT. Again when it lost a deadlock or lock wait. */
export const transaction = async (pool, work) => {
  const connection = await new Promise((resolve, reject) => {
    pool.getConnection((error, found) => (error ? reject(error) : resolve(found)));
  });
  try {
    for (;;) {
      try {
        const result = await work(connection);
        await query(connection, 'COMMIT');
        return result;
      } catch (error) {
        await query(connection, 'ROLLBACK');
        if (![1205, 1213, 1020].includes(error.errno)) throw error;
      }
    }
  } finally {
    connection.release();
  }
};

/** What is remembered of tags, which never change. */
export const tagDictionary = (pool) => {
  const known = new Map();
  return async (rows) => {
    const ids = rows.map((row) => (row.tag_ids === '' ? [] : row.tag_ids.split(',').map(Number)));
    const missing = [...new Set(ids.flat().filter((id) => !known.has(id)))];
    if (missing.length > 0) {
      for (const tag of await execute(pool, tagsById(missing.length), missing)) known.set(tag.id, tag);
    }
    return ids.map((list) => list.map((id) => known.get(id)));
  };
};

/** Finds tags to filter by, the rarest first. That they exist, and about how many games have each, is remembered. */
export const countedTags = (pool) => {
  const known = new Map();
  return async (slugs) => {
    const missing = slugs.filter((slug) => !known.has(slug));
    if (missing.length > 0) {
      for (const tag of await execute(pool, countedTagsBySlug(missing.length), missing)) known.set(tag.slug, tag);
    }
    return slugs.map((slug) => known.get(slug)).toSorted((a, b) => a.n - b.n);
  };
};

/** The numbers that the plans of a list go by, as the product has them. */
export const planNumbers = (pool) => {
  const statistics = new Statistics({ read: (sql, parameters) => execute(pool, sql, parameters) });
  return async ({ gameType, tagSlugs = [], timeRange, sortBy = 'latest' }, since) => {
    const isPlanned = sortBy !== 'latest' && sortBy !== 'oldest';
    if (!isPlanned || (gameType === undefined && since === undefined && tagSlugs.length === 0)) {
      return { records: 1, ofType: 1, since: 1 };
    }
    const [records, ofType, sinceThen] = await Promise.all([
      statistics.counter('games'),
      gameType === undefined ? 0 : statistics.counter(`games:${gameType}`),
      since === undefined ? 0 : statistics.since(gameKind, timeRange, since),
    ]);
    return { records, ofType, since: sinceThen };
  };
};

/** Finds the user of an `Authorization` header, which is remembered for half a second, as the product does. */
export const keyVerifier = (pool) => {
  const known = new Map();
  return (authorization) => {
    const remembered = known.get(authorization);
    if (remembered && remembered.until > Date.now()) return remembered.user;
    const hash = createHash('sha256').update(authorization.slice('Bearer '.length)).digest();
    const user = execute(pool, keyByHash, [hash]).then(([row]) => row.user_id);
    known.set(authorization, { user, until: Date.now() + KEY_MS });
    return user;
  };
};

/** Counts views in memory and stores them each second, as the product does. */
export const viewCounter = (pool) => {
  let views = new Map();
  const store = async () => {
    const sorted = [...views].map(([id, n]) => [idBytes(id), n]).toSorted(([a], [b]) => Buffer.compare(a, b));
    views = new Map();
    for (let start = 0; start < sorted.length; start += VIEWS_ROWS) {
      const batch = sorted.slice(start, start + VIEWS_ROWS);
      await execute(pool, addViews(batch.length), [...batch.flat(), ...batch.map(([id]) => id)]);
    }
  };
  let timer;
  return (id) => {
    views.set(id, (views.get(id) ?? 0) + 1);
    timer ??= setTimeout(() => {
      timer = undefined;
      void store();
    }, VIEWS_MS);
  };
};
