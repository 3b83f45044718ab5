import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** Facts about the deployment that a database belongs to, and about the pages of its file. */
export class Deployment1765600000022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { text, longText, time } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'deployment',
        columns: [
          { name: 'name', ...text(16), isPrimary: true },
          { name: 'value', ...longText },
          { name: 'changed_at', ...time },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('deployment');
  }
}
