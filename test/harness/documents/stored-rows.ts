import type { Database } from '../../../src/db/database.ts';

/** All rows of a table as JSON, in an order of their own: a database on shards has none that a `*` could be sorted by. */
export const storedRows = async (db: Database, table: string): Promise<string[]> =>
  (await db.read<object>(`SELECT * FROM ${table}`)).map((row) => JSON.stringify(row)).toSorted();
