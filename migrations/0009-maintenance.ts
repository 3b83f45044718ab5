import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** The state of maintenance, which all instances read: a row while no writes are taken. */
export class Maintenance1764300000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { text, time, count } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'maintenance',
        columns: [
          { name: 'name', ...text(16), isPrimary: true },
          { name: 'since', ...time },
          { name: 'retry_after', ...count },
          { name: 'note', ...text(300), isNullable: true },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('maintenance');
  }
}
