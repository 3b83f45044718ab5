import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isBusy, isCorrupt, isFull, isUnusable } from '../../db/sqlite/errors.ts';

/** The error of a failed backup or restore: the message says what to do, and whether anything was changed. */
export class BackupError extends Error {
  override name = 'BackupError';
}

const MIB = 2 ** 20;

/** `1.5 GiB`, `12.3 MiB` or `0.1 MiB`. */
export const sizeOf = (bytes: number): string =>
  bytes < 1024 * MIB ? `${(bytes / MIB).toFixed(1)} MiB` : `${(bytes / MIB / 1024).toFixed(1)} GiB`;

const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

/**
 * Explains an error of reading or writing a file to the operator. `bytes` is the space that the file needs, if known.
 * Returns other errors unchanged.
 */
export const faultOf = (
  error: unknown,
  { read, written, bytes }: { read: string; written: string; bytes?: number },
): unknown => {
  const { code, message } = error as NodeJS.ErrnoException;
  const folder = dirname(written);
  if (isFull(error) || code === 'ENOSPC' || code === 'EDQUOT') {
    const needed = bytes === undefined ? '' : `${sizeOf(bytes)} are needed, `;
    return new BackupError(
      `No room in ${folder}: ${needed}${sizeOf(freeBytes(folder))} are free. Nothing was changed.`,
    );
  }
  if (isCorrupt(error)) return new BackupError(`${read} is damaged, or no SQLite database: ${message}.`);
  if (isUnusable(error) || isBusy(error)) {
    return new BackupError(`Cannot copy ${read} to ${folder}: ${message}. Nothing was changed.`);
  }
  return error;
};
