import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** The endpoints that get events, and what is to be delivered to each. */
export class Webhooks1764600000012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const engine = engineOf(runner);
    const { id, text, longText, time, small } = columnTypes(engine);
    const position = { type: engine === 'sqlite' ? 'integer' : 'bigint' };
    const primary = { isPrimary: true };
    const nullable = { isNullable: true };
    await runner.createTable(
      new Table({
        name: 'webhooks',
        columns: [
          { name: 'id', ...id, ...primary },
          { name: 'user_id', ...id },
          { name: 'url', ...text(2048) },
          { name: 'secret', ...text(100) },
          { name: 'old_secret', ...text(100), ...nullable },
          { name: 'old_secret_until', ...time, ...nullable },
          { name: 'types', ...longText, ...nullable },
          { name: 'record_id', ...text(200), ...nullable },
          { name: 'state', ...text(10) },
          { name: 'reason', ...text(300), ...nullable },
          { name: 'attempts', ...small },
          { name: 'failing_since', ...time, ...nullable },
          { name: 'position', ...position },
          { name: 'position_id', ...id },
          { name: 'next_at', ...time },
          { name: 'lease_until', ...time },
          { name: 'holder', ...id },
          { name: 'created_at', ...time },
          { name: 'updated_at', ...time },
        ],
        indices: [
          { name: 'webhooks_due', columnNames: ['state', 'next_at'] },
          { name: 'webhooks_user', columnNames: ['user_id'] },
        ],
        foreignKeys: [
          {
            name: 'fk_webhooks_user',
            columnNames: ['user_id'],
            referencedTableName: 'users',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
            onUpdate: 'NO ACTION',
          },
        ],
      }),
    );
    await runner.createTable(
      new Table({
        name: 'webhook_deliveries',
        columns: [
          { name: 'id', ...id, ...primary },
          { name: 'webhook_id', ...id },
          { name: 'position', ...position },
          { name: 'event_id', ...id },
          { name: 'type', ...small },
          { name: 'record_id', ...id },
          { name: 'slug', ...text(200), ...nullable },
          { name: 'actor_id', ...id, ...nullable },
          { name: 'happened_at', ...time },
          { name: 'state', ...text(10) },
          { name: 'attempts', ...small },
          { name: 'next_at', ...time },
          { name: 'answered_at', ...time, ...nullable },
          { name: 'status', ...small, ...nullable },
          { name: 'answer', ...text(200), ...nullable },
        ],
        indices: [
          { name: 'webhook_deliveries_due', columnNames: ['webhook_id', 'state', 'next_at'] },
          { name: 'webhook_deliveries_record', columnNames: ['webhook_id', 'record_id', 'state', 'position'] },
          { name: 'webhook_deliveries_swept', columnNames: ['state', 'happened_at'] },
        ],
        foreignKeys: [
          {
            name: 'fk_webhook_deliveries_webhook',
            columnNames: ['webhook_id'],
            referencedTableName: 'webhooks',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
            onUpdate: 'NO ACTION',
          },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['webhook_deliveries', 'webhooks']) await runner.dropTable(table);
  }
}
