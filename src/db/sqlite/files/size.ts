import { stat, statfs } from 'node:fs/promises';
import type { DatabaseSize } from '../../connection.ts';

/** The bytes of a file; 0 for one that does not exist. */
const bytesOf = async (path: string): Promise<number> => {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  return stats?.size ?? 0;
};

/** The size of a database with its log, and of the file system that holds both. */
export const sizeOfFile = async (file: string): Promise<DatabaseSize> => {
  const [{ size }, log, { bsize, blocks, bavail }] = await Promise.all([
    stat(file),
    bytesOf(`${file}-wal`),
    statfs(file),
  ]);
  return { bytes: size + log, disk: { bytes: blocks * bsize, freeBytes: bavail * bsize } };
};
