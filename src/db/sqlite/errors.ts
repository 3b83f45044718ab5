/** Classifies the errors of SQLite by their primary result codes: https://sqlite.org/rescode.html */
import { accessSync, constants, statfsSync } from 'node:fs';
import type { DatabaseFault } from '../../base/errors.ts';

const SQLITE_PERM = 3;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_PROTOCOL = 15;
const SQLITE_NOTADB = 26;

/** An extended result code: most constraints share the primary one. */
const SQLITE_CONSTRAINT_FOREIGNKEY = 787;

const BUSY = [SQLITE_BUSY, SQLITE_LOCKED];
/** The codes of a file that is unusable at present. */
const UNUSABLE = [
  SQLITE_PERM,
  SQLITE_READONLY,
  SQLITE_IOERR,
  SQLITE_CORRUPT,
  SQLITE_FULL,
  SQLITE_CANTOPEN,
  SQLITE_PROTOCOL,
  SQLITE_NOTADB,
];

/** The codes by message: for an error in preparing a statement, the driver keeps the message only. */
const CODES = new Map([
  ['access permission denied', SQLITE_PERM],
  ['database is locked', SQLITE_BUSY],
  ['attempt to write a readonly database', SQLITE_READONLY],
  ['disk I/O error', SQLITE_IOERR],
  ['database disk image is malformed', SQLITE_CORRUPT],
  ['database or disk is full', SQLITE_FULL],
  ['unable to open database file', SQLITE_CANTOPEN],
  ['locking protocol', SQLITE_PROTOCOL],
  ['file is not a database', SQLITE_NOTADB],
]);

/** A fault of the file that SQLite itself does not see, or sees too late. */
export class FileFault extends Error {
  override name = 'FileFault';
}

interface SqliteDriverError {
  errcode?: number;
  message?: string;
}

const driverError = (error: unknown): SqliteDriverError =>
  (error as { driverError?: SqliteDriverError } | null)?.driverError ?? error ?? {};

const primaryCode = (error: unknown): number | undefined => {
  const { errcode, message = '' } = driverError(error);
  return errcode === undefined ? CODES.get(message) : errcode & 0xff;
};

/** Whether another connection has locked what a statement needs. */
export const isBusy = (error: unknown): boolean => BUSY.includes(primaryCode(error) ?? 0);

/** Whether a foreign key refers to a missing row. */
export const isForeignKeyError = (error: unknown): boolean =>
  driverError(error).errcode === SQLITE_CONSTRAINT_FOREIGNKEY;

/** Whether the file is unusable: missing, replaced, corrupt or not writable, or its disk is full or fails. */
export const isUnusable = (error: unknown): boolean =>
  error instanceof FileFault || UNUSABLE.includes(primaryCode(error) ?? 0);

/** Whether the file system of a file is read-only or full, as far as it says so. */
const diskFaultOf = (file: string): DatabaseFault | undefined => {
  try {
    accessSync(file, constants.W_OK);
    return statfsSync(file).bavail === 0 ? 'disk_full' : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS' ? 'read_only' : undefined;
  }
};

/** Why a file is unusable, if this error means that. SQLite reports some disk faults only as a general failure. */
export const faultOf = (error: unknown, file: string): DatabaseFault | undefined => {
  if (!isUnusable(error)) return undefined;
  switch (primaryCode(error)) {
    case SQLITE_FULL:
      return 'disk_full';
    case SQLITE_READONLY:
      return 'read_only';
    case SQLITE_PERM:
      return 'access_denied';
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return 'corrupt';
    case SQLITE_IOERR:
      return diskFaultOf(file) ?? 'disk_failure';
    case SQLITE_CANTOPEN:
      return diskFaultOf(file) ?? 'unreachable';
    case undefined:
    default:
      return 'unreachable';
  }
};

/** Whether the disk failed, so that the outcome of the last write is unknown. */
export const isDiskFailure = (error: unknown): boolean => primaryCode(error) === SQLITE_IOERR;

/** Whether the disk is full. */
export const isFull = (error: unknown): boolean => primaryCode(error) === SQLITE_FULL;

/** Whether the file is corrupt, or no database. */
export const isCorrupt = (error: unknown): boolean => [SQLITE_CORRUPT, SQLITE_NOTADB].includes(primaryCode(error) ?? 0);
