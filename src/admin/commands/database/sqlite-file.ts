import { statSync } from 'node:fs';
import type { BackupOptions } from '../../backup/backup.ts';
import type { Config } from '../../../config/config.ts';
import { IN_MEMORY, sqliteFile } from '../../../db/address.ts';
import { CommandError } from '../shared/common.ts';
import { withProgress } from '../shared/progress.ts';

const MIB = 2 ** 20;

/** The file of an SQLite database. @throws CommandError when there is none */
export const databaseFile = ({ databaseUrl }: Config): string => {
  if (!databaseUrl.startsWith('sqlite:')) {
    throw new CommandError(
      'DATABASE_URL names a server, which has its own tools: use the client mariadb or mysql (see docs/backup.md).',
    );
  }
  const file = sqliteFile(databaseUrl);
  if (file === IN_MEMORY) throw new CommandError('The database is in memory only: there is no file.');
  return file;
};

/** The names of the migrations of this version. */
export const knownMigrations = async (): Promise<string[]> => {
  const { migrations } = await import('../../../../migrations/index.ts');
  return migrations.map(({ name }) => name);
};

/** Runs `work`, which copies the file `source`, and shows its progress. */
export const withCopyProgress = <T>(
  source: string,
  work: (onProgress: BackupOptions['onProgress']) => Promise<T>,
): Promise<T> => {
  const mebibytes = Math.ceil((statSync(source, { throwIfNoEntry: false })?.size ?? 0) / MIB);
  return withProgress(
    mebibytes,
    (advance) => {
      let shown = 0;
      return work((done, total) => {
        const copied = Math.floor((done / total) * mebibytes);
        advance(copied - shown);
        shown = copied;
      });
    },
    'MiB',
  );
};
