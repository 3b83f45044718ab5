import type { MigrationInterface, QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';
import { onlineWords } from './online.ts';

/**
 * For how long a key is to work, and which key made it. Both are null for keys of the version before, which also makes keys
 * meanwhile: their lifetime is their end less their making. Only a key that had been rotated has less than it was to have, until its
 * overlap ends.
 */
export class KeyLineage1765200000018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const isSqlite = engineOf(runner) === 'sqlite';
    const { instantly } = onlineWords(runner);
    await runner.query(`ALTER TABLE api_keys ADD COLUMN lifetime_ms ${isSqlite ? 'integer' : 'bigint'}${instantly}`);
    await runner.query(`ALTER TABLE api_keys ADD COLUMN made_by ${isSqlite ? 'blob' : 'binary(16)'}${instantly}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const column of ['made_by', 'lifetime_ms']) await runner.query(`ALTER TABLE api_keys DROP COLUMN ${column}`);
  }
}
