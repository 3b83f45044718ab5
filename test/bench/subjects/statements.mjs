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
  'cover_url',
  'game_type',
  'is_free',
  'version',
];
const detailColumns = ['description', 'original_author', 'extra_info'];

/** Records with their authors and the ids of their tags; `ids` is a SELECT that yields their ids. */
const records = ({ ids, columns, more = [], viewer = false, orderBy }) => `
  SELECT ${[...columns.map((column) => `r.${column}`), ...more].join(', ')},
    u.id AS author_id, u.nickname AS author_nickname, u.avatar AS author_avatar,
    (SELECT GROUP_CONCAT(t.tag_id ORDER BY t.position) FROM game_tags t WHERE t.game_id = r.id) AS tag_ids
    ${viewer ? ', f.user_id IS NOT NULL AS favorited, x.type AS reaction' : ''}
  FROM (${ids}) p
  JOIN games r ON r.id = p.id
  JOIN users u ON u.id = r.author_id
  ${
    viewer
      ? `LEFT JOIN game_favorites f ON f.user_id = ? AND f.game_id = r.id
  LEFT JOIN game_reactions x ON x.user_id = ? AND x.game_id = r.id`
      : ''
  }
  ${orderBy ? `ORDER BY ${orderBy}` : ''}`;

const wholeRecord = (ids, viewer) => records({ ids, columns: [...summaryColumns, ...detailColumns], viewer });

/** Whole games by their ids. Parameters: the ids, then twice the viewer if there is one. */
export const gamesById = (n, viewer) => wholeRecord(`SELECT id FROM games WHERE id IN (${placeholders(n)})`, viewer);

export const tagsById = (n) => `SELECT id, name, slug FROM tags WHERE id IN (${placeholders(n)})`;
export const tagsBySlug = (n) => `SELECT id, name, slug FROM tags WHERE slug IN (${placeholders(n)})`;
const countedTagsBySlug = (n) => `SELECT id, slug, game_count AS n,
    COALESCE((SELECT n FROM counters WHERE name = ?), 0) AS total
  FROM tags WHERE slug IN (${placeholders(n)})`;

export const profile = `SELECT id, nickname, bio, pronouns, website, location, social_links, avatar, game_count,
  image_post_count, created_at, updated_at FROM users WHERE id = ?`;

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

/** The tables of a list, and what its tags demand. `tags` as `tagQuery` finds them, the rarest first. */
const tagJoins = ([rarest, ...others], rows) => {
  if (!rarest) return { from: 'games r', conditions: [], parameters: [] };
  const walk = (rows * rarest.total) / Math.max(rarest.n, 1) < rarest.n;
  return {
    from: walk
      ? 'games r STRAIGHT_JOIN game_tags t ON t.game_id = r.id'
      : 'game_tags t STRAIGHT_JOIN games r ON t.game_id = r.id',
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
  const joins = tagJoins(tags, offset + limit);
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
    sql: records({
      ids: `SELECT ${columns.map((column) => `r.${column}`).join(', ')} FROM ${joins.from} ${where}
        ORDER BY ${order('r')} LIMIT ? OFFSET ?`,
      columns: summaryColumns,
      more: [`${counted.sql} AS total`],
      orderBy: order('p'),
    }),
    parameters: [...counted.parameters, ...parameters, limit + 1, offset],
    isBounded: counted.isBounded === true,
  };
};

const cases = (n) => Array.from({ length: n }, () => 'WHEN ? THEN ?').join(' ');

/** Adds to a count of rows. Parameters: id and addition of each, then all ids. */
const increment = (table, column) => (n) =>
  `UPDATE ${table} SET ${column} = ${column} + CASE id ${cases(n)} ELSE 0 END WHERE id IN (${placeholders(n)})`;

const rows = (n, width) => Array.from({ length: n }, () => `(${placeholders(width)})`).join(', ');

export const addViews = increment('games', 'view_count');

export const toggle = {
  lock: 'SELECT favorite_count, like_count, dislike_count FROM games WHERE id = ? FOR UPDATE',
  remove: 'DELETE FROM game_favorites WHERE user_id = ? AND game_id = ?',
  add: 'INSERT INTO game_favorites (user_id, game_id) VALUES (?, ?)',
  store: 'UPDATE games SET favorite_count = ? WHERE id = ?',
};

export const create = {
  addTags: (n) => `INSERT IGNORE INTO tags (slug, name) VALUES ${rows(n, 2)}`,
  countTags: increment('tags', 'game_count'),
  countAuthors: increment('users', 'game_count'),
  count: 'UPDATE counters SET n = n + ? WHERE name = ?',
  games: (n) => `INSERT INTO games (id, author_id, title, description, search_text, created_at, updated_at, cover_url,
    game_type, is_free, version, original_author, extra_info) VALUES ${rows(n, 13)}`,
  links: (n) => `INSERT INTO game_tags (game_id, tag_id, position) VALUES ${rows(n, 3)}`,
};
