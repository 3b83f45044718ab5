import { statSync } from 'node:fs';
import { Command, Option } from 'commander';
import type { BackupOptions, BackupResult } from '../../backup/backup.ts';
import type { CheckResult, RestoreResult } from '../../backup/restore.ts';
import { recordBackup, systemActor } from '../../../audit/log.ts';
import type { Config } from '../../../config/config.ts';
import { sqliteFile } from '../../../db/address.ts';
import {
  assertThere,
  CommandError,
  examples,
  PROGRAM,
  readSettings,
  tellDatabase,
  withConnection,
} from '../shared/common.ts';
import { note, print, printJsonLines } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';

const IN_MEMORY = ':memory:';
const MIB = 2 ** 20;

/** The file of the database. @throws CommandError when there is none; `instead` says what to use for one on a server */
const databaseFile = ({ databaseUrl }: Config, instead: string): string => {
  if (!databaseUrl.startsWith('sqlite:')) {
    throw new CommandError(
      `DATABASE_URL names a server, which has its own tools: use ${instead} (see docs/backup.md).`,
    );
  }
  const file = sqliteFile(databaseUrl);
  if (file === IN_MEMORY) throw new CommandError('The database is in memory only: there is no file.');
  return file;
};

/** Loads the modules of the backup on demand: they take longer to load than the rest of the command line. */
const load = async () => {
  const { backUp } = await import('../../backup/backup.ts');
  const { checkBackup, restore } = await import('../../backup/restore.ts');
  const { sizeOf } = await import('../../backup/errors.ts');
  const { migrations } = await import('../../../../migrations/index.ts');
  return { backUp, checkBackup, restore, sizeOf, known: migrations.map(({ name }) => name) };
};

/** Runs `work`, which copies the file `source`, and shows how far it is. */
const withCopyProgress = <T>(
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

const printBackup = ({ file, bytes, migration }: BackupResult, sizeOf: (bytes: number) => string): void => {
  print(file);
  note(`Backed up and checked: ${sizeOf(bytes)}, tables as of ${migration}.`);
};

/**
 * Records a backup in the audit log of the database, from which a metric reads its time. A database that takes no writes
 * can be backed up all the same.
 */
const recordIn = async (config: Config, result: BackupResult): Promise<void> => {
  try {
    await withConnection(config, (db) => recordBackup(db, systemActor(), result), { isTold: true });
  } catch {
    note('warning: the backup could not be recorded in the audit log, so last_backup_timestamp_seconds leaves it out.');
  }
};

const warnOfSchemaFaults = (schemaFaults: readonly string[]): void =>
  note(`warning: restore will refuse this backup, for what is in the database: ${schemaFaults.join('; ')}.`);

export const backupCommand = (): Command =>
  new Command('backup')
    .summary('write a checked copy of the SQLite database into a file')
    .description(
      'Copies the SQLite database of DATABASE_URL, as it is at one moment, into a file that only its owner can read, and ' +
        'prints its path. Safe while the service runs and writes. The file appears under its name when all of it is on ' +
        'the disk and has passed the checks: every page, every reference between rows, and that this version knows its ' +
        'tables. For MySQL and MariaDB see docs/backup.md.',
    )
    .argument('<file>', 'the file to write')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('backup content-backup.db', 'backup content-backup.db --force --json'))
    .action(async (file: string, { force = false, json }: { force?: boolean; json?: true }) => {
      const config = readSettings();
      const database = databaseFile(config, 'mariadb-dump --single-transaction or mysqldump --single-transaction');
      assertThere(config);
      tellDatabase(config.databaseUrl);
      const { backUp, sizeOf, known } = await load();
      const result = await withCopyProgress(database, (onProgress) =>
        backUp({ database, file, isForced: force, known, onProgress, onSchemaFaults: warnOfSchemaFaults }),
      );
      await recordIn(config, result);
      if (json) printJsonLines([result]);
      else printBackup(result, sizeOf);
    });

const nextStep = ({ pending }: CheckResult, { autoMigrate }: Config): string => {
  if (pending.length === 0) return 'Its tables are those of this version.';
  const lacks = `It is of an older version and lacks ${pending.join(', ')}`;
  return autoMigrate ? `${lacks}: the next start migrates it.` : `${lacks}. Run: ${PROGRAM} migrate`;
};

const printRestore = (result: RestoreResult, config: Config): void => {
  print(result.database);
  note(result.kept === null ? 'There was no database before.' : `The database that was there is now ${result.kept}`);
  note(nextStep(result, config));
};

const printCheck = (result: CheckResult, config: Config): void => {
  print(result.file);
  note(`It is whole. ${nextStep(result, config)}`);
};

export const restoreCommand = (): Command =>
  new Command('restore')
    .summary('put a backup in the place of the SQLite database')
    .description(
      'Checks a backup and puts a copy of it in the place of the SQLite database of DATABASE_URL, whose service must be ' +
        'stopped: it refuses while any process has the database open. The database that was there is kept beside it, ' +
        'under a name that it prints. Backups of older versions are migrated afterwards as any database is. For MySQL ' +
        'and MariaDB see docs/backup.md.',
    )
    .argument('<file>', 'the backup')
    .addOption(new Option('--check', 'change nothing: only check the backup'))
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('restore content-backup.db', 'restore content-backup.db --check'))
    .action(async (file: string, { check, json }: { check?: true; json?: true }) => {
      const config = readSettings();
      const database = databaseFile(config, 'the client mariadb or mysql');
      const { checkBackup, restore, known } = await load();
      if (check) {
        const result = await checkBackup(file, known);
        if (json) printJsonLines([result]);
        else printCheck(result, config);
        return;
      }
      tellDatabase(config.databaseUrl);
      const result = await withCopyProgress(file, (onProgress) => restore({ database, file, known, onProgress }));
      if (json) printJsonLines([result]);
      else printRestore(result, config);
    });
