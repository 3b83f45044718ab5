import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** The contracts that consumers have published. */
export class ConsumerContracts1765100000017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { id, text, longText, count, time } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'consumer_contracts',
        columns: [
          { name: 'user_id', ...id, isPrimary: true },
          { name: 'consumer', ...text(100), isPrimary: true },
          { name: 'tag', ...text(50), isPrimary: true },
          { name: 'contract', ...text(32) },
          { name: 'need_count', ...count },
          { name: 'needs', ...longText },
          { name: 'published_at', ...time },
        ],
        indices: [{ name: 'consumer_contracts_tag', columnNames: ['tag'] }],
        foreignKeys: [
          {
            name: 'fk_consumer_contracts_user',
            columnNames: ['user_id'],
            referencedTableName: 'users',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
            onUpdate: 'NO ACTION',
          },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('consumer_contracts');
  }
}
