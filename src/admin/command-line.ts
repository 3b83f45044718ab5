import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { callOf, type MakeCommand } from './commands/shared/command.ts';
import { beginCall, CommandError, type CommonOptions, faultsOf, PROGRAM, USAGE } from './commands/shared/common.ts';
import { auditActor } from '../config/variables.ts';
import { release } from '../base/version.ts';

const FAILURE = 1;
/** The exit status of a process that a signal ended, less the number of the signal. */
const SIGNALLED = 128;

/**
 * The commands, in the order of the help. Only the called one is loaded: with all, `serve` would start a third of a
 * second later.
 */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommand,
  migrate: async () => (await import('./commands/database/migrate.ts')).migrateCommand,
  maintenance: async () => (await import('./commands/database/maintenance.ts')).maintenanceCommand,
  doctor: async () => (await import('./commands/database/doctor.ts')).doctorCommand,
  status: async () => (await import('./commands/database/status.ts')).statusCommand,
  backup: async () => (await import('./commands/database/backup.ts')).backupCommand,
  restore: async () => (await import('./commands/database/restore.ts')).restoreCommand,
  users: async () => (await import('./commands/access/users.ts')).usersCommand,
  keys: async () => (await import('./commands/access/keys.ts')).keysCommand,
  webhooks: async () => (await import('./commands/access/webhooks.ts')).webhooksCommand,
  games: async () => (await import('./commands/content/records.ts')).gamesCommand,
  images: async () => (await import('./commands/content/records.ts')).imagesCommand,
  tags: async () => (await import('./commands/content/tags.ts')).tagsCommand,
  audit: async () => (await import('./commands/access/audit.ts')).auditCommand,
  export: async () => (await import('./commands/database/export.ts')).exportCommand,
  import: async () => (await import('./commands/database/import.ts')).importCommand,
  seed: async () => (await import('./commands/content/seed.ts')).seedCommand,
  reconcile: async () => (await import('./commands/database/reconcile.ts')).reconcileCommand,
  reindex: async () => (await import('./commands/database/reindex.ts')).reindexCommand,
  verify: async () => (await import('./commands/testing/verify.ts')).verifyCommand,
  'verify-cleanup': async () => (await import('./commands/testing/verify-cleanup.ts')).verifyCleanupCommand,
  impact: async () => (await import('./commands/testing/impact.ts')).impactCommand,
  'can-i-deploy': async () => (await import('./commands/testing/impact.ts')).canIDeployCommand,
  record: async () => (await import('./commands/testing/record.ts')).recordCommand,
  contract: async () => (await import('./commands/testing/contract.ts')).contractCommand,
  'mock-server': async () => (await import('./commands/testing/mock-server.ts')).mockServerCommand,
  'fault-server': async () => (await import('./commands/testing/mock-server.ts')).mockServerCommand,
};
/** A former name of a command, which the help does not list. */
const HIDDEN = 'fault-server';

/** Makes the program with the command of that name, or with all commands if none has it. */
const createProgram = async (name = ''): Promise<Command> => {
  const program = new Command(PROGRAM)
    .description('Runs and operates the content gateway. The database is DATABASE_URL, default sqlite:data/content.db.')
    .version(release, '-V, --version', 'print the version and, after a plus sign, the build')
    .hook('preAction', (_, command) => beginCall(command.opts<CommonOptions>()));
  const named = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  const loaded = await Promise.all(
    (named ? [[name, named] as const] : Object.entries(COMMANDS)).map(async ([called, load]) => (await load())(called)),
  );
  for (const command of loaded) program.addCommand(command, { hidden: command.name() === HIDDEN });
  return program;
};

/** Commands that use no database, or that log which one they use. */
const APART = ['serve', 'mcp', 'verify', 'mock-server', 'fault-server'];
/** Commands that the audit log never holds. */
const UNRECORDED = ['list', 'invitations', 'show', 'calls', 'export', 'backup', 'restore', 'import'];

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

/** Makes a command and its subcommands throw instead of ending the process, and refer to their help. */
const prepare = (command: Command): Command => {
  command.exitOverride().showHelpAfterError(`Help: ${callOf(command)} --help`);
  command.commands.forEach(prepare);
  return command;
};

/** Prints the error and returns the exit status. */
const report = (error: unknown): number => {
  // Commander has printed it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  process.stderr.write(
    faultsOf(error)
      .map((fault) => `error: ${fault}\n`)
      .join(''),
  );
  return error instanceof CommandError ? error.exitStatus : FAILURE;
};

// The kernel withholds signals without a handler from the first process of a container.
if (process.pid === 1) {
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
  ] as const) {
    // A command with a handler of its own stops by itself.
    process.on(signal, () => process.listenerCount(signal) === 1 && process.exit(SIGNALLED + number));
  }
}

// A reader that closes the pipe early, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.exitCode = report(error);
});
// An error of the error stream cannot be reported anywhere.
process.stderr.on('error', () => undefined);

try {
  const program = await createProgram(process.argv[2]);
  addCommonOptions(program);
  await prepare(program).parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
