import mysql, { type Connection, type RowDataPacket } from 'mysql2';
import type { Socket } from 'node:net';
import { clearTimeout, setTimeout } from '../../base/runtime.ts';
import type { ServerAddress } from '../address.ts';
import { connectionError, NO_WRITES } from './errors.ts';
import type { Setting } from './settings.ts';

/** The time limit for connecting and applying the settings. A live server answers much sooner, even from far away. */
export const CONNECT_TIMEOUT_MS = 2000;

/** The driver's formats of values: texts in UTF-8, instants as texts in UTC, whole numbers as numbers. */
export const FORMAT = {
  charset: 'utf8mb4_bin',
  timezone: 'Z',
  dateStrings: true,
  supportBigNumbers: true,
  bigNumberStrings: false,
} as const;

/** The socket of a connection, which the driver's types leave out. */
export const socketOf = (connection: object): Socket => (connection as { stream: Socket }).stream;

/**
 * Closes a connection without telling the server. Pending statements fail with this error; the driver's own `destroy`
 * never settles them, and waits for a server that may be unreachable.
 */
export const breakConnection = (connection: Connection, error: Error): void => {
  socketOf(connection).destroy(error);
};

/** ER_UNKNOWN_SYSTEM_VARIABLE: an older Vitess lacks some of Vitess's variables. */
const UNKNOWN_VARIABLE = 1193;

/** Whether the handshake names Vitess; the driver's types leave the handshake out. */
const isVitess = (connection: object): boolean =>
  /vitess/i.test(
    // oxlint-disable-next-line no-underscore-dangle -- the driver shows it nowhere else
    (connection as { _handshakePacket?: { serverVersion?: string } })._handshakePacket?.serverVersion ?? '',
  );

/** Applies settings before all later statements; closes a connection that refuses one. @throws Error of the driver */
export const applySettings = async (connection: Connection, settings: readonly Setting[]): Promise<void> => {
  const isForVitess = isVitess(connection);
  const statements = settings.flatMap((setting) =>
    typeof setting === 'string' ? setting : (setting[isForVitess ? 'vitess' : 'others'] ?? []),
  );
  const run = (sql: string): Promise<void> =>
    new Promise((resolve, reject) => {
      connection.query(sql, (error) => {
        if (!error || (isForVitess && error.errno === UNKNOWN_VARIABLE)) {
          resolve();
          return;
        }
        // This closes the connection before the driver sends the next statement.
        breakConnection(connection, error);
        reject(error);
      });
    });
  await Promise.all(statements.map(run));
};

/**
 * Connects, and applies the settings. `abort` is called with a function that cancels this.
 * @throws Error of the driver, or ETIMEDOUT after `CONNECT_TIMEOUT_MS`
 */
export const connect = (
  address: ServerAddress,
  settings: readonly Setting[],
  abort: (fail: (error: Error) => void) => void,
): Promise<Connection> =>
  new Promise((resolve, reject) => {
    const connection = mysql.createConnection({ ...address, ...FORMAT, connectTimeout: 0, enableKeepAlive: true });
    // Without a listener, an error would end the process. Running statements get it anyway.
    connection.on('error', () => undefined);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      breakConnection(connection, error);
      reject(error);
    };
    const timer = setTimeout(() => fail(connectionError('ETIMEDOUT', 'connect ETIMEDOUT')), CONNECT_TIMEOUT_MS);
    const setUp = async (): Promise<void> => {
      await applySettings(connection, settings);
      clearTimeout(timer);
      resolve(connection);
    };
    abort(fail);
    connection.connect((fault) => {
      if (fault) {
        fail(fault);
        return;
      }
      setUp().catch(fail);
    });
  });

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

/** The result of `work`. @throws Error ETIMEDOUT after `ms`, or the error of `work` */
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
