import type { MigrationInterface, QueryRunner } from 'typeorm';

const DUE = 'renewal:names';

/**
 * Has the service bring slugs of tags and search texts into a form that folds case in full and leaves out what is not to be
 * seen: it does so in the background when it starts. A database without users has none.
 */
export class Names1764700000013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const isThere = await runner.hasTable('users');
    const users = isThere ? ((await runner.query('SELECT id FROM users LIMIT 1')) as unknown[]) : [];
    if (users.length > 0) await runner.query(`INSERT INTO counters (name, n) VALUES ('${DUE}', 1)`);
  }

  /** The names stay as they are: the version before reads them, too. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM counters WHERE name = '${DUE}'`);
  }
}
