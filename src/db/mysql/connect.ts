import mysql, { type Connection } from 'mysql2';
import type { Socket } from 'node:net';
import { clearTimeout, setTimeout } from '../../base/runtime.ts';
import type { ServerAddress } from '../address.ts';
import { connectionError } from './errors.ts';
import { applySettings, type Setting } from './settings.ts';

/** The time limit for connecting and applying the settings. A live server answers much sooner, even from afar. */
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
 * never settles them, and waits for a server that may be gone.
 */
export const breakConnection = (connection: Connection, error: Error): void => {
  socketOf(connection).destroy(error);
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
    abort(fail);
    connection.connect((fault) => {
      if (fault) {
        fail(fault);
        return;
      }
      applySettings(connection, settings, (error) => {
        if (error) {
          fail(error);
          return;
        }
        clearTimeout(timer);
        resolve(connection);
      });
    });
  });
