import type { Database } from '../../../src/db/database.ts';
import { runCommand } from './command.ts';
import type { Outcome } from './program.ts';

/** The command line on a database, whose address is known when a command runs. */
export const operatorOf = (url: () => string) => {
  const cli = (...args: string[]): Promise<Outcome> => runCommand(args, { env: { DATABASE_URL: url() } });
  /** The output of a command. @throws Error unless it succeeds */
  const ran = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cli(...args);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  /** The objects that a command prints with `--json`, a line each. @throws Error unless it succeeds */
  const json = async <T = unknown>(...args: string[]): Promise<T[]> =>
    (await ran(...args, '--json'))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T);
  return { cli, ran, json };
};

/** Runs work that is killed after a number of transactions. Returns whether it came to its end before. */
export const killedAfter = async (
  db: Database,
  transactions: number,
  work: () => Promise<unknown>,
): Promise<boolean> => {
  const original = db.transaction;
  let left = transactions;
  db.transaction = (...args) => {
    if ((left -= 1) < 0) throw new Error('killed');
    return original.apply(db, args) as never;
  };
  try {
    await work();
    return true;
  } catch (error) {
    if (left >= 0) throw error;
    return false;
  } finally {
    db.transaction = original;
  }
};
