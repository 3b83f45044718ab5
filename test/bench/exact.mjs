import { DATABASE } from './machine/mariadb.mjs';

/** What must be 0 while nobody writes: the places where a stored count is not the number of rows. */
const CHECKS = {
  'favorites of games': `SELECT COUNT(*) AS n FROM games g
    WHERE g.favorite_count <> (SELECT COUNT(*) FROM game_favorites f WHERE f.game_id = g.id)`,
  'games of tags': `SELECT COUNT(*) AS n FROM tags t
    WHERE t.game_count <> (SELECT COUNT(*) FROM game_tags l WHERE l.tag_id = t.id)`,
  'games of authors': `SELECT COUNT(*) AS n FROM users u
    WHERE u.game_count <> (SELECT COUNT(*) FROM games g WHERE g.author_id = u.id)`,
  'all games': "SELECT (SELECT COUNT(*) FROM games) <> (SELECT n FROM counters WHERE name = 'games') AS n",
};

/**
 * Demands that every count is exact after what was written.
 * @throws Error that names the counts which are not
 */
export const demandExactCounts = async (database) => {
  const connection = await database.connect({ database: DATABASE });
  try {
    for (const [what, sql] of Object.entries(CHECKS)) {
      const [[{ n }]] = await connection.query(sql);
      if (Number(n) > 0) throw new Error(`The counts of ${what} are wrong in ${n} places.`);
    }
  } finally {
    await connection.end();
  }
};
