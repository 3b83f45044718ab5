import { basename } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { currentDate } from '../../../base/runtime.ts';
import type { BackupResult } from '../../backup/backup.ts';
import type { DumpResult } from '../../backup/dump/dump.ts';
import type { Series } from '../../backup/target.ts';
import { recordBackup, systemActor } from '../../../auth/audit/log.ts';
import { type Config, ConfigError } from '../../../config/config.ts';
import { serverAddresses } from '../../../db/address.ts';
import type { Database } from '../../../db/database.ts';
import { argument, command, flag, type Given, option } from '../shared/command.ts';
import { assertThere, CommandError, readSettings, tellDatabase, USAGE, withConnection } from '../shared/common.ts';
import { note, print, printJsonLines } from '../shared/output.ts';
import { databaseFile, knownMigrations, withCopyProgress } from './sqlite-file.ts';

type Result = BackupResult | DumpResult;

const readKeep = (text: string): number => {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1) throw new InvalidArgumentError('It must be a whole number from 1 on.');
  return number;
};

const isServer = ({ databaseUrl }: Config): boolean => !databaseUrl.startsWith('sqlite:');

/** The name and the ending of backups that this command names. */
const namingOf = (config: Config): Omit<Series, 'folder'> =>
  isServer(config)
    ? { name: serverAddresses(config.databaseUrl)[0]?.database ?? '', ending: '.sql.gz' }
    : { name: basename(databaseFile(config)).replace(/\.(?:db|sqlite3?)$/, ''), ending: '.db' };

const warnOfSchemaFaults = (schemaFaults: readonly string[]): void =>
  note(`warning: restore will refuse this backup, for what is in the database: ${schemaFaults.join('; ')}.`);

const copy = async (config: Config, file: string, isForced: boolean): Promise<BackupResult> => {
  const database = databaseFile(config);
  const [{ backUp }, known] = await Promise.all([import('../../backup/backup.ts'), knownMigrations()]);
  return withCopyProgress(database, (onProgress) =>
    backUp({ database, file, isForced, known, onProgress, onSchemaFaults: warnOfSchemaFaults }),
  );
};

const dumpInto = async (config: Config, file: string, isForced: boolean): Promise<DumpResult> => {
  const { dump } = await import('../../backup/dump/dump.ts');
  const { result, lacksPosition } = await withConnection(
    config,
    (db) => dump(db, { url: config.databaseUrl, file, isForced }),
    { isTold: true },
  );
  if (lacksPosition !== undefined) note(`warning: the dump names no position in the binary log: ${lacksPosition}.`);
  return result;
};

/** If the database has webhooks, tells the operator that no backup contains the key of their secrets. Never rejects. */
const tellOfKey = async (config: Config, db: Database): Promise<void> => {
  try {
    const { examineSecrets, WebhookSecrets } = await import('../../../event/webhook/secrets.ts');
    const secrets = new WebhookSecrets(config);
    const { total } = await examineSecrets(db, secrets);
    if (total === 0 && config.webhookKeys.length === 0) return;
    note(
      `The key of webhooks' secrets is not in it: keep ${secrets.place} as well, apart from the backups. ` +
        'Without it, nothing is sent to webhooks after a restore.',
    );
  } catch (error) {
    // For example, tables of an earlier version have no webhooks.
    if (error instanceof ConfigError) note(`warning: ${error.message}`);
  }
};

/**
 * Records a backup in the audit log of the database; a metric reads its time there. A read-only database can be backed
 * up, too.
 */
const recordIn = async (config: Config, result: Result): Promise<void> => {
  try {
    await withConnection(
      config,
      async (db) => {
        await tellOfKey(config, db);
        await recordBackup(db, systemActor(), result);
      },
      { isTold: true },
    );
  } catch {
    note('warning: the backup could not be recorded in the audit log, so last_backup_timestamp_seconds leaves it out.');
  }
};

const pruneIn = async (series: Series, file: string, keep: number): Promise<void> => {
  const { prune } = await import('../../backup/target.ts');
  for (const old of prune(series, file, keep)) note(`Deleted ${old}`);
};

/** Runs the shell command that follows a backup. @throws BackupError when that fails */
const follow = async (hook: string, { file }: Result): Promise<void> => {
  const { runHook } = await import('../../backup/backup.ts');
  await runHook(hook, file, (text) => process.stderr.write(text));
};

const printBackup = async ({ file, bytes, migration }: Result): Promise<void> => {
  const { sizeOf } = await import('../../backup/errors.ts');
  print(file);
  note(`Backed up and checked: ${sizeOf(bytes)}, tables as of ${migration}.`);
};

const input = {
  place: argument(
    '<place>',
    'the file to write, or a folder, in which the file gets the name and the time of the database',
  ),
  force: flag('replace the file if it exists'),
  keep: option('<number>', 'delete the oldest backups of that name in the folder, so that so many are left', readKeep),
  // oxlint-disable-next-line unicorn/no-thenable -- the name of the option
  then: option(
    '<command>',
    'have the shell run this afterwards, with the path of the file in $BACKUP_FILE; if it fails, so does the backup',
  ),
  json: flag('print one JSON object'),
};

const backUpTo = async ({ place, force, keep, then, json }: Given<typeof input>): Promise<void> => {
  const config = readSettings();
  const { targetOf } = await import('../../backup/target.ts');
  const { file, series } = targetOf(place, namingOf(config), currentDate());
  if (keep !== undefined && !series) {
    throw new CommandError('--keep needs a folder, in which this command names the files.', USAGE);
  }
  assertThere(config);
  tellDatabase(config.databaseUrl);
  const result = await (isServer(config) ? dumpInto(config, file, force) : copy(config, file, force));
  // Old backups are deleted before the command runs: the disk must not fill up while that command keeps failing.
  if (series && keep !== undefined) await pruneIn(series, result.file, keep);
  if (then) await follow(then, result);
  await recordIn(config, result);
  if (json) printJsonLines([result]);
  else await printBackup(result);
};

export const backupCommand = command({
  summary: 'write a checked copy of the database into a file',
  description:
    'Copies the database of DATABASE_URL, as it is at one moment, into a file that only its owner can read, and prints ' +
    'its path. Safe while the service runs and writes. An SQLite database is copied by itself; a MySQL or MariaDB is ' +
    'dumped by mysqldump or mariadb-dump, compressed if the name ends in .gz. The file appears under its name when ' +
    'all of it is on the disk and has passed the checks. The audit log records it, and metrics tell its age.',
  input,
  examples: [
    'content-backup.db',
    '/var/backups/content --keep 14',
    '/var/backups/content --keep 14 --then ./copy-elsewhere',
  ],
  run: backUpTo,
});
