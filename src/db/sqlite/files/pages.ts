import { isCorrupt } from '../errors.ts';

/** Faults of a file that are told at most. */
export const MOST_FAULTS = 3;

/**
 * The lines in which SQLite says what is wrong with the pages of a file, or of a table with its indexes, and where. `quick_check`
 * does not compare indexes with their tables. `read` runs a SELECT.
 */
export const pageFaultsBy = async (
  read: (sql: string) => Promise<unknown[]>,
  check: 'quick_check' | 'integrity_check',
  of: string | number = MOST_FAULTS,
): Promise<string[]> => {
  try {
    const argument = typeof of === 'number' ? of : `'${of.replaceAll("'", "''")}'`;
    const rows = (await read(`PRAGMA ${check}(${argument})`)) as Record<string, string>[];
    const lines = rows.flatMap((row) => (row[check] ?? '').split('\n'));
    return lines.filter((line) => line !== 'ok' && line !== '' && !line.startsWith('*** in database'));
  } catch (error) {
    // Of the page that holds the schema.
    if (isCorrupt(error)) return [(error as Error).message];
    throw error;
  }
};
