// The SQL of the bare limit: what the product sends, with the total of a list in the same round trip. To see what the
// product sends now: npm run bench -- --log-sql
import { matches, orders, sortedMatches, whereOf } from '../../../dist/src/content/read/list/plan.js';
import { asTotal, Totals } from '../../../dist/src/content/read/list/totals.js';
import { dialectOf } from '../../../dist/src/db/dialect.js';
import { gameKind } from '../../../dist/src/game/kind.js';

const placeholders = (n) => Array.from({ length: n }, () => '?').join(', ');

const summaryColumns = [
  'id',
  'title',
  'view_count',
  'like_count',
  'dislike_count',
  'favorite_count',
  'created_at',
  'updated_at',
  'tag_ids',
  'cover_url',
  'game_type',
  'is_free',
  'version',
];
const detailColumns = ['description', 'original_author', 'extra_info'];

const columnsOf = (columns) =>
  [
    ...columns.map((column) => `r.${column}`),
    'u.id AS author_id',
    'u.nickname AS author_nickname',
    'u.avatar AS author_avatar',
  ].join(', ');

/** Whole games by their ids. */
export const gamesById = (n) => `SELECT ${columnsOf([...summaryColumns, ...detailColumns])}
  FROM games r STRAIGHT_JOIN users u ON u.id = r.author_id WHERE r.id IN (${placeholders(n)})`;

export const tagsById = (n) => `SELECT id, name, slug FROM tags WHERE id IN (${placeholders(n)})`;
export const countedTagsBySlug = (n) => `SELECT id, slug, game_count AS n FROM tags WHERE slug IN (${placeholders(n)})`;

export const profile = `SELECT id, nickname, bio, pronouns, website, location, social_links, avatar, game_count,
  image_post_count, created_at, updated_at FROM users WHERE id IN (?)`;

export const keyByHash = `SELECT key_hash, id, user_id, name, scopes, expires_at, revoked_at
  FROM api_keys WHERE key_hash = ?`;

const DAY_MS = 86_400_000;
const rangeDays = { day: 1, week: 7, month: 30, year: 365 };
const dialect = dialectOf('mariadb');
const totals = new Totals(dialect, gameKind);

/** Where a time range begins; undefined for all time. */
export const sinceOf = (timeRange) => {
  const days = rangeDays[timeRange];
  return days === undefined ? undefined : new Date(Date.now() - days * DAY_MS);
};

/**
 * A page of games and, in each row, the total, by the product's own plans. `tags` are those asked for, the rarest first;
 * `numbers` are what plans go by.
 */
export const list = ({ gameType, sortBy = 'latest', page, limit }, since, tags, numbers) => {
  const offset = (page - 1) * limit;
  const filter = { type: gameType, since, tags, terms: [] };
  const { counter, direction } = orders[sortBy];
  const source = counter
    ? sortedMatches(dialect, gameKind, filter, sortBy, offset + limit + 1, numbers)
    : matches(dialect, gameKind, filter);
  // The rows of a tag know the id alone.
  const columns = [...(counter ? [counter] : []), ...(counter || source.id === 'r.id' ? ['created_at'] : []), 'id'];
  const places = columns.map((column) => (column === 'id' ? source.id : `r.${column}`));
  const total = totals.expression(filter, gameType === undefined ? 'games' : `games:${gameType}`);
  const counts = [{ ...total, sql: `${total.sql} AS total` }, ...totals.columns(filter)];
  const order = (names) => names.map((name) => `${name} ${direction}`).join(', ');
  return {
    filter,
    sql: `SELECT ${counts.map(({ sql }) => sql).join(', ')}, ${columnsOf(summaryColumns)}
      FROM (SELECT ${columns.map((column, index) => `${places[index]} AS ${column}`).join(', ')}
        FROM ${source.from} ${whereOf(source.where)} ORDER BY ${order(places)} LIMIT ? OFFSET ?) p
      STRAIGHT_JOIN games r ON r.id = p.id STRAIGHT_JOIN users u ON u.id = r.author_id
      ORDER BY ${order(columns.map((column) => `p.${column}`))}`,
    parameters: [...counts.flatMap(({ parameters }) => parameters), ...source.parameters, limit + 1, offset],
  };
};

/** The total as a reply has it; remembered as the product does, which demands in the next statement that it still holds. */
export const totalOf = (filter, row) => {
  const n = row?.total ?? 0;
  if (row) totals.remember(filter, n, row);
  return asTotal(filter, n);
};

const cases = (n) => Array.from({ length: n }, () => 'WHEN ? THEN ?').join(' ');
const rows = (n, width) => Array.from({ length: n }, () => `(${placeholders(width)})`).join(', ');

/** Adds to the views of games. Parameters: id and addition of each, then all ids. */
export const addViews = (n) =>
  `UPDATE games SET view_count = view_count + CASE id ${cases(n)} ELSE 0 END WHERE id IN (${placeholders(n)})`;

export const toggle = {
  lock: `SELECT r.id, r.favorite_count, r.like_count, r.dislike_count, m.user_id, 'favorite' AS mark
    FROM games r LEFT JOIN game_favorites m ON m.game_id = r.id AND m.user_id IN (?) WHERE r.id = ? FOR UPDATE`,
  remove: 'DELETE FROM game_favorites WHERE (user_id = ? AND game_id = ?)',
  add: 'INSERT INTO game_favorites (user_id, game_id) VALUES (?, ?)',
  store: 'UPDATE games SET favorite_count = ? WHERE id IN (?)',
};

export const create = {
  /** Parameters: the slugs, the author. */
  authorAndTags: (n) => `SELECT u.nickname, u.avatar, t.id, t.name, t.slug
    FROM users u LEFT JOIN tags t ON t.slug IN (${placeholders(n)}) WHERE u.id = ?`,
  /** For n tags that all count as many games. Parameters: how many games, how many for each tag, the author, the tags. */
  countEqually: (n) => `UPDATE users, tags SET users.game_count = users.game_count + ?,
      tags.game_count = tags.game_count + ? WHERE users.id IN (?) AND tags.id IN (${placeholders(n)})`,
  /** Parameters: how many games, then tag and number of each tag, the author, then all tags. */
  countAll: (n) => `UPDATE users, tags SET users.game_count = users.game_count + ?,
      tags.game_count = tags.game_count + CASE tags.id ${cases(n)} ELSE 0 END
    WHERE users.id IN (?) AND tags.id IN (${placeholders(n)})`,
  games: (n) => `INSERT INTO games (id, author_id, title, view_count, like_count, dislike_count, favorite_count,
    search_text, tag_ids, created_at, updated_at, description, cover_url, game_type, is_free, version, original_author,
    extra_info) VALUES ${rows(n, 18)}`,
  links: (n) => `INSERT INTO game_tags (game_id, tag_id, position, game_type) VALUES ${rows(n, 4)}`,
  tail: (n) => `INSERT INTO search_tail (kind, replaces, doc_key, text, labels) VALUES ${rows(n, 5)}`,
  counters: (n) => `INSERT INTO counters (name, n) VALUES ${rows(n, 2)} ON DUPLICATE KEY UPDATE n = n + VALUES(n)`,
};
