import type { MigrationInterface, QueryRunner } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';
import { onlineWords } from './online.ts';

/** The declaration of a column that may be null. */
const columnsOf = (runner: QueryRunner): readonly (readonly [table: string, column: string, type: string])[] => {
  const engine = engineOf(runner);
  const isSqlite = engine === 'sqlite';
  const { collation } = columnTypes(engine).text(500);
  return [
    ['hidden_records', 'hidden_at', isSqlite ? 'datetime' : 'datetime(3)'],
    ['hidden_records', 'reason', isSqlite ? 'varchar(500)' : `varchar(500) CHARACTER SET utf8mb4 COLLATE ${collation}`],
    ['idempotency_records', 'user_id', isSqlite ? 'blob' : 'binary(16)'],
  ];
};

/**
 * Records that are hidden by themselves: since when, and why; and whose the stored answers of writes are. The columns may be
 * null, so that instances of the previous version can still write.
 */
export class Takedowns1764200000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { instantly } = onlineWords(runner);
    for (const [table, column, type] of columnsOf(runner)) {
      await runner.query(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}${instantly}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table, column] of columnsOf(runner).toReversed()) {
      await runner.query(`ALTER TABLE ${table} DROP COLUMN ${column}`);
    }
  }
}
