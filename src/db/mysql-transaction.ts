import type { ResultSetHeader } from 'mysql2';
import type { Parameter, Statements } from './connection.ts';
import type { Session } from './mysql-session.ts';
import type { SessionPool } from './mysql-pool.ts';

const rowsOf = <Row>(result: unknown): Row[] => result as Row[];
const affectedRows = (result: unknown): number => (result as ResultSetHeader).affectedRows;

/** Runs a statement that must not come after the end of its transaction, where it would begin another one. */
const statementsOn = (session: Session, isOpen: () => boolean): Statements => {
  const run = <T>(sql: string, parameters: readonly Parameter[], take: (result: unknown) => T): Promise<T> =>
    new Promise((resolve, reject) => {
      if (!isOpen()) throw new Error('the transaction has ended');
      session.run(sql, parameters, (error, result) => (error ? reject(error) : resolve(take(result))));
    });
  return {
    read: <Row>(sql: string, parameters: readonly Parameter[] = []) => run(sql, parameters, rowsOf<Row>),
    execute: (sql, parameters = []) => run(sql, parameters, affectedRows),
  };
};

const rollBack = (session: Session): Promise<void> =>
  new Promise((resolve) => {
    session.connection.query('ROLLBACK', (error) => {
      // Nobody else may get what is left of the transaction.
      if (error) session.destroy();
      resolve();
    });
  });

const commit = (session: Session): Promise<void> =>
  new Promise((resolve, reject) => {
    session.run('COMMIT', [], (error) => (error ? reject(error) : resolve()));
  });

/** Runs `work` as one transaction on a session of a pool without autocommit, where the first statement begins one. */
export const transactionOn = async <T>(pool: SessionPool, work: (statements: Statements) => Promise<T>): Promise<T> => {
  const session = await pool.acquire();
  let isOpen = true;
  try {
    const result = await work(statementsOn(session, () => isOpen));
    isOpen = false;
    await commit(session);
    return result;
  } catch (error) {
    isOpen = false;
    await rollBack(session);
    throw error;
  } finally {
    session.release();
  }
};
