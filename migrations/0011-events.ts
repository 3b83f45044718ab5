import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/**
 * Events: those that transactions wrote and that have no position yet, reactions that are to be told of, the feed with its
 * positions, and the row that says how far it goes.
 */
export class Events1764500000011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const engine = engineOf(runner);
    const { id, text, longText, time, small } = columnTypes(engine);
    const position = { type: engine === 'sqlite' ? 'integer' : 'bigint' };
    const primary = { isPrimary: true };
    const tables = [
      new Table({
        name: 'event_outbox',
        columns: [
          { name: 'seq', ...position, ...primary, isGenerated: true, generationStrategy: 'increment' },
          { name: 'happened_at', ...time },
          { name: 'events', ...longText },
        ],
      }),
      new Table({
        name: 'event_reactions',
        columns: [
          { name: 'record_id', ...id, ...primary },
          { name: 'type', ...small },
          { name: 'happened_at', ...time },
        ],
      }),
      new Table({
        name: 'event_feed',
        columns: [
          { name: 'name', ...text(16), ...primary },
          { name: 'last_position', ...position },
          { name: 'last_id', ...id },
          { name: 'removed_through', ...position },
          { name: 'removed_id', ...id },
          { name: 'holder', ...id },
        ],
      }),
      new Table({
        name: 'events',
        columns: [
          { name: 'position', ...position, ...primary },
          { name: 'id', ...id },
          { name: 'type', ...small },
          { name: 'record_id', ...id },
          { name: 'slug', ...text(200), isNullable: true },
          { name: 'actor_id', ...id, isNullable: true },
          { name: 'happened_at', ...time },
        ],
        indices: [
          { name: 'events_type', columnNames: ['type', 'position'] },
          { name: 'events_record', columnNames: ['record_id', 'type', 'position'] },
        ],
      }),
    ];
    for (const table of tables) await runner.createTable(table);
    const zero = `X'${'00'.repeat(16)}'`;
    await runner.query(
      `INSERT ${engine === 'sqlite' ? 'OR IGNORE' : 'IGNORE'} INTO event_feed (name, last_position, last_id, removed_through, removed_id, holder)
      VALUES ('events', 0, ${zero}, 0, ${zero}, ${zero})`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['events', 'event_feed', 'event_reactions', 'event_outbox']) await runner.dropTable(table);
  }
}
