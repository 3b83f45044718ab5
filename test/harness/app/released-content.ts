import type { Parameter } from '../../../src/db/connection.ts';
import type { Database } from '../../../src/db/database.ts';
import { newId, storedIdToBytes } from '../../../src/db/values.ts';

/** Stores so many games, with links to tags, and as many image posts, as the first version did. */
export const fillAsReleased = async (db: Database, count: number): Promise<void> => {
  const author = storedIdToBytes(newId(new Date()));
  const time = '2026-04-01 00:00:00.000';
  const images = JSON.stringify(Array.from({ length: 6 }, (_, index) => `https://a.example/${index}`));
  const sixteen = (n: number): Buffer => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32BE(n, 0);
    return bytes;
  };
  await db.transaction(async (tx) => {
    const insert = async (into: string, columns: number, rows: Parameter[][]): Promise<void> => {
      for (let start = 0; start < rows.length; start += 500) {
        const part = rows.slice(start, start + 500);
        const row = `(${Array(columns).fill('?').join(', ')})`;
        await tx.execute(`INSERT INTO ${into} VALUES ${part.map(() => row).join(', ')}`, part.flat());
      }
    };
    await insert('users (id, nickname, social_links, search_text, created_at, updated_at)', 6, [
      [author, 'x', '{}', 'x', time, time],
    ]);
    await insert('tags (id, slug, name)', 3, [
      [1, 'a', 'a'],
      [2, 'b', 'b'],
    ]);
    const ids = Array.from({ length: count }, (_, n) => sixteen(n));
    const games = '(id, author_id, title, search_text, created_at, updated_at, is_free, extra_info, game_type)';
    await insert(
      `games ${games}`,
      9,
      ids.map((id, n) => [id, author, `game ${n}`, 'x', time, time, 1, '{}', n % 2 === 0 ? 'RPG' : null]),
    );
    const links = ids.flatMap((id) => [
      [id, 1, 1],
      [id, 2, 0],
    ]);
    await insert('game_tags (game_id, tag_id, position)', 3, links);
    const posts = '(id, author_id, title, search_text, created_at, updated_at, images)';
    await insert(
      `image_posts ${posts}`,
      7,
      ids.map((id, n) => [id, author, `post ${n}`, 'x', time, time, n % 3 === 0 ? images : '["https://a.example/"]']),
    );
  });
};
