import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** The last failed calls with each key. */
export class FailedCalls1765000000016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { id, time, longText } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'failed_calls',
        columns: [
          { name: 'key_id', ...id, isPrimary: true },
          { name: 'updated_at', ...time },
          { name: 'calls', ...longText },
        ],
        indices: [{ name: 'failed_calls_updated', columnNames: ['updated_at'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('failed_calls');
  }
}
