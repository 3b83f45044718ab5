import type { MigrationInterface, QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';
import { onlineWords } from './online.ts';

const COLUMNS = ['revoked_at', 'expires_at', 'made_by'];

/** Finds the keys that ended long ago, and those that a key has made. */
export class KeyEndings1765500000021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { inPlace } = onlineWords(runner);
    for (const column of COLUMNS) {
      await runner.query(`CREATE INDEX api_keys_${column} ON api_keys (${column})${inPlace}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    const on = engineOf(runner) === 'sqlite' ? '' : ' ON api_keys';
    for (const column of COLUMNS.toReversed()) await runner.query(`DROP INDEX api_keys_${column}${on}`);
  }
}
