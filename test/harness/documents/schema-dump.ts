import type { Database } from '../../../src/db/database.ts';

/** The migrations' own records, the second of which earlier releases made, are not part of the schema. */
const RECORD = 'migrations';
const PROGRESS = 'migration_progress';

/** What the engine says of each table and index, foreign keys included. */
export const dumpSchema = async (db: Database): Promise<Record<string, string>> => {
  if (db.dialect.engine === 'sqlite') {
    const rows = await db.read<{ name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name <> ?",
      [RECORD],
    );
    return Object.fromEntries(rows.map(({ name, sql }) => [name, sql]));
  }
  const tables = await db.read<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name NOT IN (?, ?)',
    [RECORD, PROGRESS],
  );
  const dumped: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await db.read<Record<string, string>>(`SHOW CREATE TABLE ${name}`);
    dumped[name] = row!['Create Table']!.replace(/ AUTO_INCREMENT=\d+/, '');
  }
  return dumped;
};
