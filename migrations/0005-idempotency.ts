import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** Remembers what writes answered that may be repeated, in the order of time, so that the oldest go away together. */
export class Idempotency1763900000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { hash, longText, time } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'idempotency_records',
        columns: [
          { name: 'created_at', ...time, isPrimary: true },
          { name: 'call_hash', ...hash, isPrimary: true },
          { name: 'input_hash', ...hash },
          { name: 'answer', ...longText },
        ],
        indices: [{ name: 'idempotency_records_call', columnNames: ['call_hash'], isUnique: true }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('idempotency_records');
  }
}
