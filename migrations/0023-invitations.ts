import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { columnTypes, engineOf } from './columns.ts';

/** The addresses that operators give out, each for one new user with a key. */
export class Invitations1765700000023 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { id, hash, text, time } = columnTypes(engineOf(runner));
    await runner.createTable(
      new Table({
        name: 'invitations',
        columns: [
          { name: 'id', ...id, isPrimary: true },
          { name: 'token_hash', ...hash },
          { name: 'scopes', ...text(200) },
          { name: 'created_at', ...time },
          { name: 'expires_at', ...time },
          { name: 'revoked_at', ...time, isNullable: true },
          { name: 'user_id', ...id, isNullable: true },
        ],
        indices: [
          { name: 'invitations_token_hash', columnNames: ['token_hash'], isUnique: true },
          { name: 'invitations_expires_at', columnNames: ['expires_at'] },
          // MySQL makes one for a foreign key that has none.
          { name: 'invitations_user', columnNames: ['user_id'] },
        ],
        foreignKeys: [
          {
            name: 'fk_invitations_user',
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
    await runner.dropTable('invitations');
  }
}
