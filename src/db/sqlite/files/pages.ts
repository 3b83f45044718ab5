import { isCorrupt } from '../errors.ts';

/** The maximum number of faults that are reported for a file. */
export const MOST_FAULTS = 3;

/**
 * The lines in which SQLite describes and locates faults in the pages of a file, or of a table with its indexes.
 * `quick_check` does not compare indexes with their tables. `read` runs a SELECT.
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
    if (!isCorrupt(error)) throw error;
    // The check also reads the rows, and fails at a damaged page. It ends earlier if it may report one fault only.
    return of === 1 ? [(error as Error).message] : pageFaultsBy(read, check, 1);
  }
};
