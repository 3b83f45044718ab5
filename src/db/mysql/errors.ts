/** Classifies the errors of MySQL, MariaDB, Galera, Vitess and the network. */
import type { DatabaseFault } from '../../base/errors.ts';

/** The server's limit of prepared statements is reached. This is transient: others close theirs in time. */
export const TOO_MANY_STATEMENTS = 1461;
/** Lock wait timeout, deadlock, snapshot conflict (MariaDB 11.8), and the limit above. */
const TRANSIENT = new Set([1205, 1213, 1020, TOO_MANY_STATEMENTS]);

/** The server interrupted the statement: at its time limit (MariaDB, MySQL), or by `KILL QUERY`. */
export const INTERRUPTED = 1317;
const OUT_OF_TIME = new Set([1969, 3024, INTERRUPTED]);

/** The server accepts no more connections: in total, or from this user. */
const CROWDED = new Set([1040, 1203, 1226]);

/** The server refuses the user, the password, the user's host, or an operation of the user. */
const DENIED = new Set([1044, 1045, 1130, 1142, 1143, 1698, 1820, 1862, 3118, 4151]);

/** The disk is full: for a table, its file, or the server as a whole. */
const FULL = new Set([1021, 1114, 3675]);
/** All errors of a file or a storage engine. The message has the system's error number: no space, or over quota. */
const FILE_ERRORS = new Set([1026, 1030]);
const NO_SPACE = /\b(?:errno:|error) (?:28|122)\b/;

/** The server is read-only: by an option (Aurora sends this, too, after a failover), or as a whole. */
const READ_ONLY = new Set([1290, 1836]);
/** InnoDB alone, or one database, is read-only. */
const READ_ONLY_PART = new Set([1874, 3989]);
/** The text of `connect.ts` for a server that takes no writes. */
export const NO_WRITES = 'takes no writes (read_only)';
/** A Galera node outside its cluster, or that lost it at COMMIT; a server that stops, or closed the connection. */
const LEAVING = new Set([1047, 1180, 1053, 1927, 3169, 4031]);
/** The errors of `LEAVING` that concern one connection, not its server. */
const CLOSED_ONE = new Set([1927, 3169, 4031]);

/**
 * Vitess sends these when its MySQL is unreachable, or fails in the middle of a statement. They are errors of MySQL's
 * clients, which no MySQL server sends.
 */
const GONE_BEHIND = new Set([2002, 2003, 2006, 2013]);
/**
 * Vitess sends these while no tablet serves the database or a table: the table may be moving to another keyspace, or a
 * tablet starts, stops or vanishes. They share one number.
 */
const UNKNOWN_ERROR = 1105;
const NOT_SERVED =
  /\bVT1400[1-5]\b|rpc error: code = Unavailable\b|enforce denied tables|is either down or nonexistent|no healthy tablet available|initially found no available tablet|primary is not serving|vttablet: Connection Closed|state (?:NOT_SERVING|SHUTTING_DOWN)\b|tx engine can't accept/;

/** Vitess has rolled back a transaction of several shards, since one of them failed. */
const VITESS_ROLLED_BACK = /^VT15001\b/;

const UNREACHABLE = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'HANDSHAKE_NO_SSL_SUPPORT',
  'HANDSHAKE_SSL_ERROR',
  'NO_FIT_HOST',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
]);

/** A foreign key refers to a missing row: the error for accounts that may see the table, and the one for others. */
const ORPHANED = new Set([1452, 1216]);

interface MysqlDriverError {
  code?: string;
  errno?: number;
  message?: string;
  /** Whether the connection is unusable. */
  fatal?: boolean;
}

/** The driver's own error, which TypeORM may have wrapped. */
export const driverError = (error: unknown): MysqlDriverError =>
  (error as { driverError?: object } | null)?.driverError ?? error ?? {};

const numberOf = (error: unknown): number => driverError(error).errno ?? 0;

/** Whether the transaction that met this error can succeed when run again. */
export const isTransient = (error: unknown): boolean =>
  TRANSIENT.has(numberOf(error)) || VITESS_ROLLED_BACK.test(driverError(error).message ?? '');

/** Whether vtgate does not know yet of a column that a tablet has. */
export const isColumnUnknown = (error: unknown): boolean =>
  /column '[^']+' not found in table/.test(driverError(error).message ?? '');

/** Whether the server interrupted the statement. */
export const isInterrupted = (error: unknown): boolean => OUT_OF_TIME.has(numberOf(error));

/** Whether a foreign key refers to a missing row. */
export const isForeignKeyError = (error: unknown): boolean => ORPHANED.has(numberOf(error));

/** Whether a table is missing: the number of MySQL and MariaDB, and one of Vitess. */
export const isTableMissing = (error: unknown): boolean => [1146, 1109].includes(numberOf(error));

/** Whether the server is at its limit of connections. */
export const isCrowded = (error: unknown): boolean => CROWDED.has(numberOf(error));

/** Whether the connection is unusable. */
export const isBroken = (error: unknown): boolean => {
  const { code, message, fatal } = driverError(error);
  return (
    fatal === true ||
    UNREACHABLE.has(code ?? '') ||
    /closed state/.test(message ?? '') ||
    CLOSED_ONE.has(numberOf(error))
  );
};

/** Whether the server is read-only or leaving, so that another one should be used. */
export const isUnfit = (error: unknown): boolean => {
  const errno = numberOf(error);
  return READ_ONLY.has(errno) || (LEAVING.has(errno) && !CLOSED_ONE.has(errno));
};

/** Whether the proxy (Vitess) answers, but the database behind it does not. */
const isAwayBehind = (error: unknown): boolean => {
  const errno = numberOf(error);
  return GONE_BEHIND.has(errno) || (errno === UNKNOWN_ERROR && NOT_SERVED.test(driverError(error).message ?? ''));
};

const isFull = (error: unknown): boolean =>
  FULL.has(numberOf(error)) || (FILE_ERRORS.has(numberOf(error)) && NO_SPACE.test(driverError(error).message ?? ''));

const isReadOnly = (error: unknown): boolean => {
  const { code, message = '' } = driverError(error);
  const errno = numberOf(error);
  // One server that is read-only while another is away means a failover that has not ended.
  const areAll = code === 'NO_FIT_HOST' && message.split('; ').every((one) => one.includes(NO_WRITES));
  return READ_ONLY.has(errno) || READ_ONLY_PART.has(errno) || areAll;
};

/** Why the database is unavailable, at least by this connection, if this error means that. */
export const faultOf = (error: unknown): DatabaseFault | undefined => {
  // The driver calls every error of a connection attempt fatal.
  if (isCrowded(error)) return 'too_many_connections';
  if (DENIED.has(numberOf(error))) return 'access_denied';
  if (isReadOnly(error)) return 'read_only';
  if (isFull(error)) return 'disk_full';
  return isBroken(error) || isUnfit(error) || isAwayBehind(error) ? 'unreachable' : undefined;
};

/**
 * Whether a COMMIT with this error has certainly stored nothing: it lost a conflict, or the server takes no writes.
 * With any other error it may have stored: a Galera node that loses its cluster cannot know whether the other nodes got
 * the transaction, and Vitess has one number for all that it cannot finish on several shards, but may finish later.
 */
export const isRefusedCommit = (error: unknown): boolean =>
  !isBroken(error) &&
  !isInterrupted(error) &&
  !isAwayBehind(error) &&
  !LEAVING.has(numberOf(error)) &&
  numberOf(error) !== UNKNOWN_ERROR;

/** Makes an error for an unusable connection, in the driver's form. */
export const connectionError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code, fatal: true });
