import type { MigrationInterface, QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';
import { onlineWords } from './online.ts';

/** The ids of the keys with which an instance decrypts the secrets of webhooks. It is null for an instance of the version before. */
export class InstanceWebhookKeys1765400000020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const type =
      engineOf(runner) === 'sqlite' ? 'varchar(200)' : 'varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
    await runner.query(`ALTER TABLE instances ADD COLUMN webhook_keys ${type}${onlineWords(runner).instantly}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE instances DROP COLUMN webhook_keys');
  }
}
