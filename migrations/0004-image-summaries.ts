import type { MigrationInterface, QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';
import { inParts, onlineWords } from './online.ts';

/** Images that stay where lists read them. */
const SHOWN = [0, 1, 2, 3];

/** The differences between the engines. */
const wordsOf = (runner: QueryRunner) =>
  engineOf(runner) === 'sqlite'
    ? { count: 'integer', longText: 'text', elements: 'json_array_length', characters: 'LENGTH' }
    : {
        count: 'int unsigned',
        longText: 'mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
        elements: 'JSON_LENGTH',
        characters: 'CHAR_LENGTH',
      };

/**
 * Leaves the first images of a post in `images`, which lists read, and puts the others into a column after all others: so
 * a list reads next to nothing of a post with many.
 */
export class ImageSummaries1763800000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { count, longText, elements } = wordsOf(runner);
    const { instantly } = onlineWords(runner);
    await runner.query(`ALTER TABLE image_posts ADD COLUMN image_count ${count} NOT NULL DEFAULT 0${instantly}`);
    await runner.query(`ALTER TABLE image_posts ADD COLUMN more_images ${longText}${instantly}`);
    const shown = SHOWN.map((index) => `'$[${index}]'`).join(', ');
    // Each removal moves the later elements up. MySQL assigns from left to right, and later expressions see assigned values.
    const first = SHOWN.map(() => "'$[0]'").join(', ');
    await inParts(runner, 'image_posts', (between) => [
      `UPDATE image_posts SET image_count = ${elements}(images)
      WHERE (more_images IS NULL OR ${elements}(images) > ${SHOWN.length}) AND ${between('id')}`,
      `UPDATE image_posts SET more_images = JSON_REMOVE(images, ${first}), images = JSON_EXTRACT(images, ${shown})
      WHERE ${elements}(images) > ${SHOWN.length} AND ${between('id')}`,
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    const { characters } = wordsOf(runner);
    // An earlier run may have dropped the column.
    if (await runner.hasColumn('image_posts', 'more_images')) {
      await runner.query(
        `UPDATE image_posts
        SET images = CONCAT(SUBSTR(images, 1, ${characters}(images) - 1), ', ', SUBSTR(more_images, 2)), more_images = NULL
        WHERE more_images IS NOT NULL`,
      );
    }
    for (const column of ['more_images', 'image_count']) {
      await runner.query(`ALTER TABLE image_posts DROP COLUMN ${column}`);
    }
  }
}
