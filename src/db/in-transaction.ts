import type { Dialect } from './dialect.ts';

/**
 * Runs `work` between BEGIN and COMMIT, or ROLLBACK when it rejects, on one connection. Not by TypeORM's own calls, whose
 * state on SQLite outlives a transaction that the file refused.
 */
export const inTransaction = async <T>(
  connection: { query: (sql: string) => Promise<unknown> },
  { begin }: Dialect,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    await connection.query(begin);
    const result = await work();
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    // A broken connection cannot roll back, and need not; nor can what the engine has rolled back already.
    await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
};
