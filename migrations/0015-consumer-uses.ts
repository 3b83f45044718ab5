import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** Which parts of an operation a consumer used on a day. */
export class ConsumerUses1764900000015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { text, longText } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'consumer_uses',
        columns: [
          { name: 'consumer', ...text(100), isPrimary: true },
          { name: 'day', ...text(10), isPrimary: true },
          { name: 'operation', ...text(64), isPrimary: true },
          { name: 'parts', ...longText },
        ],
        indices: [{ name: 'consumer_uses_day', columnNames: ['day'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('consumer_uses');
  }
}
