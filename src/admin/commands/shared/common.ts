import { recordMigrations, systemActor } from '../../../audit/log.ts';
import type { Config } from '../../../config/config.ts';
import type { DatabaseOptions } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { note } from './output.ts';

/** A command that cannot do what it was asked to: the message says why, and what to do about it. */
export class CommandError extends Error {
  readonly exitStatus: number;

  constructor(message: string, exitStatus = 1) {
    super(message);
    this.exitStatus = exitStatus;
  }
}

/** How the command line is called in the examples of the help. */
export const PROGRAM = 'npm run -s cli --';

/** The part of a command's help that shows calls which work; `calls` leave out the program. */
export const examples = (...calls: string[]): string =>
  ['', calls.length === 1 ? 'Example:' : 'Examples:', ...calls.map((call) => `  ${PROGRAM} ${call}`)].join('\n');

/** Runs `work` on the database, whatever tables it has, and disconnects. @throws AppError DATABASE_UNAVAILABLE */
export const withConnection = async <T>(
  { databaseUrl, strays }: Config,
  work: (db: Database) => Promise<T>,
  options: DatabaseOptions = {},
): Promise<T> => {
  // It may be another database than the one that was meant.
  for (const { message } of strays) note(`warning: ${message}`);
  // Not before they are needed: they take longer to load than all else, and help needs neither.
  const [opened, { schema }] = await Promise.all([import('../../../db/database.ts'), import('../../../app/schema.ts')]);
  const db = await opened.Database.open(databaseUrl, schema, options);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
};

/**
 * Runs `work` on a database that has all its tables, and disconnects. Migrates first where the settings say so.
 * @throws CommandError when migrations are due, AppError DATABASE_UNAVAILABLE
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
        const applied = await db.migrate();
        if (applied.length > 0) await recordMigrations(db, systemActor(), { applied });
      }
      const pending = await db.pendingMigrations();
      if (pending.length > 0) {
        throw new CommandError(`The database lacks the migrations ${pending.join(', ')}. Run: ${PROGRAM} migrate`);
      }
      return work(db);
    },
    options,
  );
