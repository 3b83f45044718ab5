import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** The instances that run, and their versions. */
export class Instances1764400000010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { id, text, time, count } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'instances',
        columns: [
          { name: 'id', ...id, isPrimary: true },
          { name: 'host', ...text(200) },
          { name: 'version', ...text(100) },
          { name: 'workers', ...count },
          { name: 'seen_at', ...time },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('instances');
  }
}
