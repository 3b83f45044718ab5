import type { Connection, RowDataPacket } from 'mysql2';
import { clearTimeout, setTimeout } from '../../base/runtime.ts';
import { connectionError, NO_WRITES } from './errors.ts';

/** Runs a statement and returns its rows. @throws Error of the driver */
export const query = (connection: Connection, sql: string): Promise<RowDataPacket[]> =>
  new Promise((resolve, reject) => {
    connection.query<RowDataPacket[]>(sql, (error, rows) => (error ? reject(error) : resolve(rows)));
  });

/** `makeshift`: the server takes writes, but may delay them. */
export type Fitness = 'fit' | 'makeshift';

/** Asks a server whether it takes writes. @throws Error NO_FIT_HOST if it takes none */
export const fitnessOf = async (connection: Connection): Promise<Fitness> => {
  // A Galera node without its cluster refuses all statements but SHOW and SET.
  const rows = [
    ...(await query(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')")),
    ...(await query(
      connection,
      "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')",
    )),
  ];
  const values = new Map(rows.map(({ Variable_name: name, Value: value }) => [String(name), String(value)]));
  if (!/^(OFF|0)$/i.test(values.get('read_only') ?? 'OFF')) {
    throw connectionError('NO_FIT_HOST', NO_WRITES);
  }
  if (values.get('wsrep_on') === 'ON' && values.get('wsrep_ready') !== 'ON') {
    throw connectionError('NO_FIT_HOST', 'is not synced with its cluster (wsrep_ready)');
  }
  // A donor copies its data to a joining node, and may lock its tables meanwhile.
  return /^Donor/i.test(values.get('wsrep_local_state_comment') ?? '') ? 'makeshift' : 'fit';
};

/** The result of `work`. @throws Error ETIMEDOUT after `ms`, or what `work` throws */
export const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(connectionError('ETIMEDOUT', `no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
