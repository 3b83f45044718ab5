import { recordMigrations, systemActor } from '../auth/audit/log.ts';
import type { Config } from '../config/config.ts';
import { Database } from '../db/database.ts';
import { schema } from './schema.ts';

/**
 * Applies the due migrations with the account that may change tables, and records them. Returns their names. `db` is
 * the database as the service uses it.
 */
export const migrateBy = async (
  { databaseUrl, migrateDatabaseUrl }: Pick<Config, 'databaseUrl' | 'migrateDatabaseUrl'>,
  db: Database,
): Promise<string[]> => {
  if ((await db.pendingMigrations()).length === 0) return [];
  const isSame = migrateDatabaseUrl === databaseUrl;
  const migrating = isSame ? db : await Database.open(migrateDatabaseUrl, schema);
  try {
    const applied = await migrating.migrate();
    await recordMigrations(migrating, systemActor(), { applied });
    return applied;
  } finally {
    if (!isSame) await migrating.close();
  }
};
