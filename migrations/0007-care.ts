import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';
import { onlineWords } from './online.ts';

/** The differences between the engines. */
const wordsOf = (runner: QueryRunner) =>
  engineOf(runner) === 'sqlite' ? { time: 'datetime', serial: 'integer' } : { time: 'datetime(3)', serial: 'int' };

/**
 * Moderation and audit: suspended users, hidden records, merged tags, the audit log, and the uses of keys. New columns may be
 * null, so that instances of the previous version can still write; MySQL and MariaDB add them without copying the table.
 */
export class Care1764100000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { id, text, longText, count } = columnTypes(engineOf(runner));
    const primary = { isPrimary: true };
    const words = wordsOf(runner);
    const { instantly } = onlineWords(runner);
    await runner.query(`ALTER TABLE users ADD COLUMN suspended_at ${words.time}${instantly}`);
    await runner.query(`ALTER TABLE users ADD COLUMN hidden_at ${words.time}${instantly}`);
    await runner.query(`ALTER TABLE tags ADD COLUMN merged_into ${words.serial}${instantly}`);
    const tables = [
      new Table({
        name: 'audit_entries',
        columns: [
          { name: 'id', ...id, ...primary },
          { name: 'actor', ...text(200) },
          { name: 'action', ...text(50) },
          { name: 'subject', ...text(300) },
          { name: 'before_act', ...longText, isNullable: true },
          { name: 'after_act', ...longText, isNullable: true },
        ],
      }),
      // The dependent rows have no foreign keys: they are deleted in several transactions.
      new Table({
        name: 'hidden_records',
        columns: [
          { name: 'author_id', ...id, ...primary },
          { name: 'record_id', ...id, ...primary },
          { name: 'kind', ...text(16) },
          { name: 'record', ...longText },
        ],
        indices: [{ name: 'hidden_records_record', columnNames: ['record_id'], isUnique: true }],
      }),
      new Table({
        name: 'hidden_marks',
        columns: [
          { name: 'record_id', ...id, ...primary },
          { name: 'user_id', ...id, ...primary },
          { name: 'mark', ...text(8), ...primary },
        ],
      }),
      new Table({
        name: 'key_uses',
        columns: [
          { name: 'key_id', ...id, ...primary },
          { name: 'day', ...text(10), ...primary },
          { name: 'operation', ...text(64), ...primary },
          { name: 'n', ...count },
        ],
        indices: [{ name: 'key_uses_day', columnNames: ['day'] }],
      }),
    ];
    for (const table of tables) await runner.createTable(table);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['key_uses', 'hidden_marks', 'hidden_records', 'audit_entries']) await runner.dropTable(table);
    await runner.query('ALTER TABLE tags DROP COLUMN merged_into');
    for (const column of ['hidden_at', 'suspended_at']) await runner.query(`ALTER TABLE users DROP COLUMN ${column}`);
  }
}
