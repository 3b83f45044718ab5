import type { MigrationInterface, QueryRunner } from 'typeorm';
import { inParts, onlineWords } from './online.ts';

/** Where records keep their tags' ids, so that a list need not gather them. */
const records = [
  { table: 'games', links: 'game_tags', foreignKey: 'game_id' },
  { table: 'image_posts', links: 'image_post_tags', foreignKey: 'image_post_id' },
];

type Indexes = Record<string, string>;

/**
 * Walked in the order of a sort, with all that filters look at, so that only the records of the page are read. The one
 * of the latest also serves time ranges, whatever the sort.
 */
const covering: Indexes = {
  games_latest: 'created_at, id, view_count, like_count, favorite_count, game_type',
  games_views: 'view_count, created_at, id, game_type',
  games_likes: 'like_count, created_at, id, game_type',
  games_favorites: 'favorite_count, created_at, id, game_type',
};
const earlier: Indexes = {
  games_latest: 'created_at, id',
  games_views: 'view_count, created_at, id',
  games_likes: 'like_count, created_at, id',
  games_favorites: 'favorite_count, created_at, id',
};
/** A tag's games of one type. */
const TYPE_INDEX = 'game_tags_type';

const isSqlite = (runner: QueryRunner): boolean => runner.connection.options.type === 'better-sqlite3';

/** A text column. SQLite compares by code point without being told. */
const text = (runner: QueryRunner, length: number): string =>
  `varchar(${length})${isSqlite(runner) ? '' : ' CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'}`;

const dropIndex = async (runner: QueryRunner, name: string, table: string): Promise<void> => {
  await runner.query(`DROP INDEX ${name}${isSqlite(runner) ? '' : ` ON ${table}`}`);
};

const replaceIndexes = async (runner: QueryRunner, indexes: Indexes): Promise<void> => {
  if (!isSqlite(runner)) {
    // In one statement: a query that names a missing index fails.
    const changes = Object.entries(indexes).map(
      ([name, columns]) => `DROP INDEX ${name}, ADD INDEX ${name} (${columns})`,
    );
    await runner.query(`ALTER TABLE games ${changes.join(', ')}, ALGORITHM=INPLACE, LOCK=NONE`);
    return;
  }
  for (const [name, columns] of Object.entries(indexes)) {
    await dropIndex(runner, name, 'games');
    await runner.query(`CREATE INDEX ${name} ON games (${columns})`);
  }
};

/** The tags of a record in the record, its type in the rows of its tags, and indexes that cover what lists filter by. */
export class TagIds1763700000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { instantly, inPlace } = onlineWords(runner);
    for (const { table, links, foreignKey } of records) {
      await runner.query(
        `ALTER TABLE ${table} ADD COLUMN tag_ids ${text(runner, 220)} NOT NULL DEFAULT ''${instantly}`,
      );
      await inParts(runner, table, (between) => [
        `UPDATE ${table} SET tag_ids = COALESCE(
          (SELECT GROUP_CONCAT(t.tag_id ORDER BY t.position) FROM ${links} t WHERE t.${foreignKey} = ${table}.id), '')
          WHERE ${between('id')}`,
      ]);
    }
    await runner.query(`ALTER TABLE game_tags ADD COLUMN game_type ${text(runner, 32)}${instantly}`);
    await inParts(runner, 'games', (between) => [
      `UPDATE game_tags SET game_type = (SELECT g.game_type FROM games g WHERE g.id = game_tags.game_id)
        WHERE ${between('game_id')}`,
    ]);
    await runner.query(`CREATE INDEX ${TYPE_INDEX} ON game_tags (tag_id, game_type, game_id)${inPlace}`);
    await replaceIndexes(runner, covering);
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, earlier);
    await dropIndex(runner, TYPE_INDEX, 'game_tags');
    await runner.query('ALTER TABLE game_tags DROP COLUMN game_type');
    for (const { table } of records) await runner.query(`ALTER TABLE ${table} DROP COLUMN tag_ids`);
  }
}
