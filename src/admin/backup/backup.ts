import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { copyDatabase, inspect } from '../../db/sqlite/files/copy.ts';
import { checkInspection, schemaFaultsIn } from './check.ts';
import { BackupError, faultOf } from './errors.ts';
import { companionsOf, isSame, withPartial } from './partial.ts';
import { checkPlace } from './target.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs a shell command on a new backup. It gets the path as `$BACKUP_FILE` and `$1`; its output is passed on.
 * @throws BackupError when it fails
 */
export const runHook = async (command: string, file: string, onOutput: (text: string) => void): Promise<void> => {
  const script = `BACKUP_FILE=$1; export BACKUP_FILE; ${command}`;
  const child = spawn('sh', ['-c', script, 'sh', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', onOutput);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return;
  throw new BackupError(
    `${file} is a good backup, but the command after it failed (${signal ?? `status ${code}`}): ${command}`,
  );
};

export interface BackupOptions {
  /** The file of the database. */
  database: string;
  /** The path of the backup. */
  file: string;
  /** Whether the backup may replace an existing file. */
  isForced: boolean;
  /** The migrations that this version knows. */
  known: readonly string[];
  onProgress: (done: number, total: number) => void;
  /** Called with a description of each schema object that no migration makes: `restore` refuses a backup with one. */
  onSchemaFaults: (schemaFaults: readonly string[]) => void;
}

export interface BackupResult {
  file: string;
  bytes: number;
  /** The last migration that its tables have. */
  migration: string;
}

/** @throws BackupError when no backup can be put there */
const checkTarget = ({ database, file, isForced }: BackupOptions): void => {
  const isDatabase = [database, ...companionsOf(database)].some((path) => isSame(path, file));
  if (isDatabase) throw new BackupError(`${file} is the database itself: choose another name.`);
  checkPlace(file, isForced);
  const [beside] = companionsOf(file);
  if (beside !== undefined) {
    throw new BackupError(
      `${beside} exists, which belongs to a database of the name ${file}: SQLite would take it for a part of the backup. ` +
        'Choose another name.',
    );
  }
};

/**
 * Copies a database, as of one moment, into a file. The file is checked and synced before it gets its name. Other
 * processes may read and write the database meanwhile. @throws BackupError
 */
export const backUp = async (options: BackupOptions): Promise<BackupResult> => {
  const { isForced, known, onProgress, onSchemaFaults } = options;
  const [database, file] = [resolve(options.database), resolve(options.file)];
  const source = statSync(database, { throwIfNoEntry: false });
  if (!source) throw new BackupError(`There is no database at ${database}.`);
  checkTarget({ ...options, database, file });
  try {
    accessSync(database, constants.R_OK);
    return await withPartial(file, async (partial) => {
      await copyDatabase(database, partial.path, onProgress);
      const inspection = await inspect(partial.path);
      checkInspection(inspection, database, known);
      const schemaFaults = await schemaFaultsIn(inspection);
      partial.publish(isForced);
      if (schemaFaults.length > 0) onSchemaFaults(schemaFaults);
      return { file, bytes: statSync(file).size, migration: inspection.migrations.at(-1) ?? '' };
    });
  } catch (error) {
    throw faultOf(error, { read: database, written: file, bytes: source.size });
  }
};
