// The SQL of the bare limit: what the product sends, with the total of a list in the same round trip. To see what the
// product sends now: npm run bench -- --log-sql

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
const countedTagsBySlug = (n) => `SELECT id, slug, game_count AS n,
    COALESCE((SELECT n FROM counters WHERE name = ?), 0) AS total
  FROM tags WHERE slug IN (${placeholders(n)})`;

export const profile = `SELECT id, nickname, bio, pronouns, website, location, social_links, avatar, game_count,
  image_post_count, created_at, updated_at FROM users WHERE id IN (?)`;

export const keyByHash = `SELECT id, user_id, prefix, name, scopes, expires_at, revoked_at, last_used_at, created_at
  FROM api_keys WHERE key_hash = ?`;

const MOST_COUNTED = 10_000;
const DAY_MS = 86_400_000;
const rangeDays = { day: 1, week: 7, month: 30, year: 365 };
const orders = {
  latest: { counter: null, direction: 'DESC' },
  oldest: { counter: null, direction: 'ASC' },
  views: { counter: 'view_count', direction: 'DESC' },
  likes: { counter: 'like_count', direction: 'DESC' },
  favorites: { counter: 'favorite_count', direction: 'DESC' },
};

/** The number of all games, which decides between two plans, and how many have each of these tags. */
export const tagQuery = (slugs) => ({ sql: countedTagsBySlug(slugs.length), parameters: ['games', ...slugs] });

/** The index that has the records in the order of a sort, or of a type or time range. */
const indexFor = ({ gameType, timeRange, sortBy }) => {
  if (timeRange !== 'all') return 'games_latest';
  if (gameType !== undefined) return sortBy === 'views' ? 'games_type_views' : 'games_type_latest';
  return sortBy === 'oldest' ? 'games_latest' : `games_${sortBy}`;
};

/** The tables of a list, and what its tags demand. `tags` as `tagQuery` finds them, the rarest first. */
const tagJoins = (input, [rarest, ...others], rows) => {
  if (!rarest) return { from: `games r FORCE INDEX (${indexFor(input)})`, conditions: [], parameters: [] };
  const walk = (rows * rarest.total) / Math.max(rarest.n, 1) < rarest.n;
  return {
    from: walk
      ? `games r FORCE INDEX (${indexFor(input)}) STRAIGHT_JOIN game_tags t ON t.game_id = r.id`
      : 'game_tags t FORCE INDEX (game_tags_tag) STRAIGHT_JOIN games r ON t.game_id = r.id',
    conditions: [
      't.tag_id = ?',
      ...others.map(() => 'EXISTS (SELECT 1 FROM game_tags o WHERE o.tag_id = ? AND o.game_id = r.id)'),
    ],
    parameters: [rarest, ...others].map((tag) => tag.id),
  };
};

/** How the matches of a list are counted: by a counter, or one by one up to a bound. */
const total = ({ gameType }, tags, from, conditions, parameters) => {
  const counter = { sql: '(SELECT n FROM counters WHERE name = ?)' };
  if (conditions.length === 0) return { ...counter, parameters: ['games'] };
  if (conditions.length === 1 && gameType !== undefined) return { ...counter, parameters: [`games:${gameType}`] };
  if (conditions.length === 1 && tags.length === 1) return { sql: '?', parameters: [tags[0].n] };
  const matches = `SELECT 1 FROM ${from} WHERE ${conditions.join(' AND ')} LIMIT ${MOST_COUNTED + 1}`;
  return { sql: `(SELECT COUNT(*) FROM (${matches}) matches)`, parameters, isBounded: true };
};

/** A page of games and, in each row, the total. `tags` are those asked for, the rarest first. */
export const list = ({ gameType, timeRange = 'all', sortBy = 'latest', page, limit }, tags, now = Date.now()) => {
  const offset = (page - 1) * limit;
  const joins = tagJoins({ gameType, timeRange, sortBy }, tags, offset + limit);
  const conditions = [...joins.conditions];
  const parameters = [...joins.parameters];
  if (gameType !== undefined) {
    conditions.push('r.game_type = ?');
    parameters.push(gameType);
  }
  if (timeRange !== 'all') {
    conditions.push('r.created_at >= ?');
    const since = new Date(now - rangeDays[timeRange] * DAY_MS);
    parameters.push(since.toISOString().slice(0, -1).replace('T', ' '));
  }
  const { counter, direction } = orders[sortBy];
  const columns = [...(counter ? [counter] : []), 'created_at', 'id'];
  const order = (alias) => columns.map((column) => `${alias}.${column} ${direction}`).join(', ');
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const counted = total({ gameType }, tags, joins.from, conditions, parameters);
  return {
    sql: `SELECT ${counted.sql} AS total, ${columnsOf(summaryColumns)}
      FROM (SELECT ${columns.map((column) => `r.${column} AS ${column}`).join(', ')} FROM ${joins.from} ${where}
        ORDER BY ${order('r')} LIMIT ? OFFSET ?) p
      STRAIGHT_JOIN games r ON r.id = p.id STRAIGHT_JOIN users u ON u.id = r.author_id
      ORDER BY ${order('p')}`,
    parameters: [...counted.parameters, ...parameters, limit + 1, offset],
    isBounded: counted.isBounded === true,
  };
};

const cases = (n) => Array.from({ length: n }, () => 'WHEN ? THEN ?').join(' ');
const rows = (n, width) => Array.from({ length: n }, () => `(${placeholders(width)})`).join(', ');

/** Adds to the views of games. Parameters: id and addition of each, then all ids. */
export const addViews = (n) =>
  `UPDATE games SET view_count = view_count + CASE id ${cases(n)} ELSE 0 END WHERE id IN (${placeholders(n)})`;

export const toggle = {
  lock: `SELECT r.favorite_count, r.like_count, r.dislike_count, m.user_id, 'favorite' AS mark
    FROM games r LEFT JOIN game_favorites m ON m.game_id = r.id AND m.user_id IN (?) WHERE r.id = ? FOR UPDATE`,
  remove: 'DELETE FROM game_favorites WHERE game_id = ? AND user_id IN (?)',
  add: 'INSERT INTO game_favorites (user_id, game_id) VALUES (?, ?)',
  store: 'UPDATE games SET favorite_count = ?, like_count = ?, dislike_count = ? WHERE id = ?',
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
