import type { MigrationInterface, QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';
import { onlineWords } from './online.ts';

/** The secrets of a webhook before the old one, while they sign. */
export class OlderSecrets1765300000019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const type = engineOf(runner) === 'sqlite' ? 'text' : 'mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
    await runner.query(`ALTER TABLE webhooks ADD COLUMN older_secrets ${type}${onlineWords(runner).instantly}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhooks DROP COLUMN older_secrets');
  }
}
