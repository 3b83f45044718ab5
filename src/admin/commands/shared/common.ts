import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorOf } from '../../../../contract/index.ts';
import { actAs } from '../../../auth/audit/log.ts';
import { PROGRAM } from '../../../base/version.ts';
import { AppError, DATABASE_FAULTS, databaseFaultIn } from '../../../base/errors.ts';
import { type Config, ConfigError, readConfig } from '../../../config/config.ts';
import { describeAddress, IN_MEMORY, sqliteFile } from '../../../db/address.ts';
import type { DatabaseOptions } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { note } from './output.ts';

/** The error of a command that cannot do its task: the message says why, and how the operator can solve it. */
export class CommandError extends Error {
  readonly exitStatus: number;

  constructor(message: string, exitStatus = 1) {
    super(message);
    this.exitStatus = exitStatus;
  }
}

export { PROGRAM };

/** The exit status of a call that cannot be carried out as it was typed, and of a call that found no gateway. */
export const USAGE = 2;
export const NO_GATEWAY = 3;

/** Messages for operators, who can do other things than callers. */
const OPERATOR_MESSAGES: Partial<Record<string, string>> = {
  WEBHOOK_NOT_FOUND: 'There is no webhook with this id: `webhooks list` shows all.',
  DELIVERY_NOT_FOUND: 'There is no delivery with this id: `webhooks deliveries` shows those of a webhook.',
  WEBHOOK_SECRETS_OFF: 'Set WEBHOOK_SECRET_KEY, here and for the service: docs/operations.md tells how.',
};

/** The error messages for the operator, one per line. */
export const faultsOf = (error: unknown): string[] => {
  if (error instanceof ConfigError || error instanceof CommandError) return error.message.split('\n');
  if (error instanceof AppError) {
    const { reason, details } = error;
    const { fault, hint = fault && DATABASE_FAULTS[fault] } = details;
    const message = OPERATOR_MESSAGES[reason] ?? errorOf(reason).message;
    if (hint === undefined || reason in OPERATOR_MESSAGES) return [message];
    // The hints about webhooks are sentences.
    return [reason.startsWith('WEBHOOK_') ? `${message} ${hint}` : `${message.replace(/\.$/, '')}: ${hint}`];
  }
  const { message = String(error) } = error as Partial<Error>;
  return [message.split('\n', 1).join('')];
};

/** The same messages on one line. */
export const describeFault = (error: unknown): string => faultsOf(error).join('; ');

/** The options of the current call that all commands on the database have. */
export interface CommonOptions {
  /** The person that the audit log shall name. */
  as?: string;
  /** Whether the name of the database is not printed. */
  quiet?: true;
}

let common: CommonOptions = {};

/** Begins a call of the command line. */
export const beginCall = (options: CommonOptions): void => {
  common = options;
};

/**
 * Reads the settings and, unless the command logs them itself, warns of variables that look like misspelled settings.
 * @throws ConfigError
 */
export const readSettings = ({ logs = false } = {}): Config => {
  const config = readConfig();
  if (!logs) for (const { message } of config.strays) note(`warning: ${message}`);
  actAs(common.as ?? config.auditActor);
  return config;
};

/** Tells the operator which database a command uses: the settings of a shell and of a service may differ. */
export const tellDatabase = (url: string): void => {
  if (common.quiet !== true) note(`database: ${describeAddress(url)}`);
};

/**
 * Asserts that the file of an `sqlite:` address exists: a command that created an empty one would seem to succeed.
 * @throws CommandError that says where it looked, and by which setting
 */
export const assertThere = ({ databaseUrl, isDatabaseNamed }: Config, url = databaseUrl): void => {
  if (!url.startsWith('sqlite:')) return;
  const file = sqliteFile(url);
  if (file === IN_MEMORY || existsSync(file)) return;
  throw new CommandError(
    `There is no database at ${resolve(file)}, which ` +
      (isDatabaseNamed
        ? 'DATABASE_URL names.'
        : 'is the default, since DATABASE_URL is not set. A service may have it in settings of its own.') +
      ` To make a new one: ${PROGRAM} migrate`,
  );
};

/** Replaces an error about a damaged file by one that says where the damage is; returns any other error unchanged. */
const withDamage = async (db: Database, error: unknown): Promise<unknown> => {
  if (databaseFaultIn(error) !== 'corrupt') return error;
  const found = await db.pageFaults?.().catch(() => []);
  return new CommandError([`${DATABASE_FAULTS.corrupt}: restore a backup`, ...(found ?? [])].join('\n'));
};

/** Options of a connection in addition to the options of a database. */
interface ConnectOptions extends DatabaseOptions {
  /** The address, if it is not the one of the service. */
  url?: string;
  /** Whether the operator already knows which database is used. */
  isTold?: boolean;
  /** Whether a missing SQLite file is created. */
  creates?: boolean;
}

/**
 * Runs `work` on the database, whatever tables it has, and disconnects.
 * @throws CommandError when there is none, AppError DATABASE_UNAVAILABLE
 */
export const withConnection = async <T>(
  config: Config,
  work: (db: Database) => Promise<T>,
  { url = config.databaseUrl, creates = false, isTold = false, ...options }: ConnectOptions = {},
): Promise<T> => {
  if (!creates) assertThere(config, url);
  if (!isTold) tellDatabase(url);
  // These load slower than everything else, and help needs neither: they are loaded only here.
  const [opened, { schema }] = await Promise.all([import('../../../db/database.ts'), import('../../../app/schema.ts')]);
  const db = await opened.Database.open(url, schema, { recordsEvents: config.recordsEvents, ...options });
  try {
    return await work(db);
  } catch (error) {
    throw await withDamage(db, error);
  } finally {
    await db.close();
  }
};

/**
 * Runs `work` on a database that has all its tables, and disconnects. Migrates first if the settings say so.
 * @throws CommandError when there is none or migrations are due, AppError DATABASE_UNAVAILABLE
 */
export const withDatabase = <T>(
  config: Config,
  work: (db: Database) => Promise<T>,
  options?: DatabaseOptions,
): Promise<T> =>
  withConnection(
    config,
    async (db) => {
      if (config.autoMigrate) {
        const { migrateBy } = await import('../../../app/migrate.ts');
        await migrateBy(config, db);
      }
      const pending = await db.pendingMigrations();
      if (pending.length > 0) {
        throw new CommandError(`The database lacks the migrations ${pending.join(', ')}. Run: ${PROGRAM} migrate`);
      }
      return work(db);
    },
    options,
  );
