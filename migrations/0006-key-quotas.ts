import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** Counters that are there from the beginning, so that a counter that is made is that of a new type. */
const COUNTERS = ['games', 'games:', 'image_posts'];

/** Counts what each key makes in a day that never goes away. */
export class KeyQuotas1764000000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const engine = engineOf(runner);
    const { id, text, count } = columnTypes(engine);
    await runner.createTable(
      new Table({
        name: 'key_quotas',
        columns: [
          { name: 'key_id', ...id, isPrimary: true },
          { name: 'day', ...text(10), isPrimary: true },
          { name: 'what', ...text(16), isPrimary: true },
          { name: 'n', ...count },
        ],
      }),
    );
    const insert = engine === 'sqlite' ? 'INSERT OR IGNORE' : 'INSERT IGNORE';
    for (const name of COUNTERS) await runner.query(`${insert} INTO counters (name, n) VALUES ('${name}', 0)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('key_quotas');
  }
}
