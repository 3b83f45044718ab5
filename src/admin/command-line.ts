import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { auditCommand } from './commands/access/audit.ts';
import { backupCommand } from './commands/database/backup.ts';
import { beginCall, CommandError, type CommonOptions, PROGRAM } from './commands/shared/common.ts';
import { doctorCommand } from './commands/database/doctor.ts';
import { faultsOf } from './commands/shared/faults.ts';
import { exportCommand } from './commands/database/export.ts';
import { mockServerCommand } from './commands/testing/mock-server.ts';
import { importCommand } from './commands/database/import.ts';
import { keysCommand } from './commands/access/keys.ts';
import { webhooksCommand } from './commands/access/webhooks.ts';
import { maintenanceCommand } from './commands/database/maintenance.ts';
import { mcpCommand } from './commands/mcp.ts';
import { migrateCommand } from './commands/database/migrate.ts';
import { gamesCommand, imagesCommand } from './commands/content/records.ts';
import { reconcileCommand } from './commands/database/reconcile.ts';
import { reindexCommand } from './commands/database/reindex.ts';
import { seedCommand } from './commands/content/seed.ts';
import { restoreCommand } from './commands/database/restore.ts';
import { serveCommand } from './commands/serve.ts';
import { statusCommand } from './commands/database/status.ts';
import { tagsCommand } from './commands/content/tags.ts';
import { usersCommand } from './commands/access/users.ts';
import { verifyCleanupCommand } from './commands/testing/verify-cleanup.ts';
import { contractCommand } from './commands/testing/contract.ts';
import { canIDeployCommand, impactCommand } from './commands/testing/impact.ts';
import { recordCommand } from './commands/testing/record.ts';
import { verifyCommand } from './commands/testing/verify.ts';
import { auditActor } from '../config/variables.ts';
import { release } from '../base/version.ts';

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
    .addCommand(maintenanceCommand())
    .addCommand(doctorCommand())
    .addCommand(statusCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(usersCommand())
    .addCommand(keysCommand())
    .addCommand(webhooksCommand())
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
    .addCommand(impactCommand())
    .addCommand(canIDeployCommand())
    .addCommand(recordCommand())
    .addCommand(contractCommand())
    .addCommand(mockServerCommand())
    .addCommand(mockServerCommand('fault-server'), { hidden: true })
    .hook('preAction', (_, command) => beginCall(command.opts<CommonOptions>()));

/** The full name of a command, with the program. */
const callOf = (command: Command): string =>
  command.parent ? `${callOf(command.parent)} ${command.name()}` : command.name();

/** Commands that do not work on a database, or log which one it is. */
const APART = ['serve', 'mcp', 'verify', 'mock-server', 'fault-server'];
/** Commands that the audit log never holds. */
const UNRECORDED = ['list', 'show', 'calls', 'export', 'backup', 'restore', 'import'];

const parseActor = (text: string): string => {
  const { success, data, error } = auditActor.safeParse(text);
  if (success) return data;
  throw new InvalidArgumentError(`It ${error.issues.map(({ message }) => message).join('; it ')}.`);
};

/** Adds the options that every command on the database has. */
const addCommonOptions = (command: Command): void => {
  if (command.commands.length > 0) {
    command.commands.forEach(addCommonOptions);
    return;
  }
  if (APART.includes(command.name())) return;
  command.option('--quiet', 'do not tell on the standard error which database it is');
  if (UNRECORDED.includes(command.name())) return;
  command.addOption(
    new Option(
      '--as <person>',
      'who does this, for the audit log, beside the system user (default: AUDIT_ACTOR)',
    ).argParser(parseActor),
  );
};

/** Makes a command and its subcommands throw instead of ending the process, and point to their help. */
const prepare = (command: Command): Command => {
  command.exitOverride().showHelpAfterError(`Help: ${callOf(command)} --help`);
  command.commands.forEach(prepare);
  return command;
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
  const program = createProgram();
  addCommonOptions(program);
  await prepare(program).parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
