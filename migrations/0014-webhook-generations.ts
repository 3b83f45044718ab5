import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';
import { inParts, onlineWords } from './online.ts';

/**
 * Which address of a webhook an answer was asked of, and the challenges without an answer. Webhooks whose holder ended without a
 * word get due.
 */
export class WebhookGenerations1764800000014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const engine = engineOf(runner);
    const { id, time, count } = columnTypes(engine);
    const type = engine === 'sqlite' ? 'integer' : 'int unsigned';
    const { instantly } = onlineWords(runner);
    await runner.query(`ALTER TABLE webhooks ADD COLUMN generation ${type} NOT NULL DEFAULT 0${instantly}`);
    await inParts(runner, 'webhooks', (between) => [
      `UPDATE webhooks SET next_at = lease_until WHERE ${between('id')} AND state = 'active' AND next_at > lease_until`,
    ]);
    await runner.createTable(
      new Table({
        name: 'webhook_challenges',
        columns: [
          { name: 'id', ...id, isPrimary: true },
          { name: 'unanswered', ...count },
          { name: 'free_at', ...time },
        ],
        indices: [{ name: 'webhook_challenges_swept', columnNames: ['free_at'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('webhook_challenges');
    await runner.query('ALTER TABLE webhooks DROP COLUMN generation');
  }
}
