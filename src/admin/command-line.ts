import { Command, CommanderError } from 'commander';
import { errorOf } from '../../contract/index.ts';
import { auditCommand } from './commands/access/audit.ts';
import { backupCommand, restoreCommand } from './commands/database/backup.ts';
import { CommandError, PROGRAM } from './commands/shared/common.ts';
import { exportCommand } from './commands/database/export.ts';
import { mockServerCommand } from './commands/testing/mock-server.ts';
import { importCommand } from './commands/database/import.ts';
import { keysCommand } from './commands/access/keys.ts';
import { mcpCommand } from './commands/mcp.ts';
import { migrateCommand } from './commands/database/migrate.ts';
import { gamesCommand, imagesCommand } from './commands/content/records.ts';
import { reconcileCommand } from './commands/database/reconcile.ts';
import { reindexCommand } from './commands/database/reindex.ts';
import { seedCommand } from './commands/content/seed.ts';
import { serveCommand } from './commands/serve.ts';
import { tagsCommand } from './commands/content/tags.ts';
import { usersCommand } from './commands/access/users.ts';
import { verifyCleanupCommand } from './commands/testing/verify-cleanup.ts';
import { verifyCommand } from './commands/testing/verify.ts';
import { ConfigError } from '../config/config.ts';
import { AppError, DATABASE_FAULTS } from '../errors.ts';
import { release } from '../version.ts';

const FAILURE = 1;
const USAGE = 2;
/** And the number of the signal. */
const SIGNALLED = 128;

const createProgram = (): Command =>
  new Command(PROGRAM)
    .description('Runs and operates the content gateway. The database is DATABASE_URL, default sqlite:data/content.db.')
    .version(release, '-V, --version', 'print the version and, after a plus sign, the build')
    .addCommand(serveCommand())
    .addCommand(mcpCommand())
    .addCommand(migrateCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(usersCommand())
    .addCommand(keysCommand())
    .addCommand(gamesCommand())
    .addCommand(imagesCommand())
    .addCommand(tagsCommand())
    .addCommand(auditCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand())
    .addCommand(seedCommand())
    .addCommand(reconcileCommand())
    .addCommand(reindexCommand())
    .addCommand(verifyCommand())
    .addCommand(verifyCleanupCommand())
    .addCommand(mockServerCommand())
    .addCommand(mockServerCommand('fault-server'), { hidden: true });

/** The full name of a command, with the program. */
const callOf = (command: Command): string =>
  command.parent ? `${callOf(command.parent)} ${command.name()}` : command.name();

/** Makes a command and its subcommands throw instead of ending the process, and point to their help. */
const prepare = (command: Command): Command => {
  command.exitOverride().showHelpAfterError(`Help: ${callOf(command)} --help`);
  command.commands.forEach(prepare);
  return command;
};

/** The error messages for the operator, a line each. */
const faultsOf = (error: unknown): string[] => {
  if (error instanceof ConfigError || error instanceof CommandError) return error.message.split('\n');
  if (error instanceof AppError) {
    const { message } = errorOf(error.reason);
    const { fault, hint = fault && DATABASE_FAULTS[fault] } = error.details;
    return [hint === undefined ? message : `${message.replace(/\.$/, '')}: ${hint}`];
  }
  const { message = String(error) } = error as Partial<Error>;
  return [message.split('\n', 1).join('')];
};

/** Says what went wrong and returns the exit status. */
const report = (error: unknown): number => {
  // Commander has said it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  process.stderr.write(
    faultsOf(error)
      .map((fault) => `error: ${fault}\n`)
      .join(''),
  );
  return error instanceof CommandError ? error.exitStatus : FAILURE;
};

// The kernel keeps from the first process of a container the signals for which it has no handler.
if (process.pid === 1) {
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
  ] as const) {
    // A command that has its own stops by itself.
    process.on(signal, () => process.listenerCount(signal) === 1 && process.exit(SIGNALLED + number));
  }
}

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.exitCode = report(error);
});
// An error of the error stream has no place where it could be reported.
process.stderr.on('error', () => undefined);

try {
  await prepare(createProgram()).parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
