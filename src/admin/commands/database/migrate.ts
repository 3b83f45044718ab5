import { InvalidArgumentError } from 'commander';
import { recordMigrations, systemActor } from '../../../auth/audit/log.ts';
import type { Database } from '../../../db/database.ts';
import { schema } from '../../../app/schema.ts';
import { command, flag, type Given, option } from '../shared/command.ts';
import { CommandError, readSettings, withConnection } from '../shared/common.ts';
import { note, print, printTable } from '../shared/output.ts';

const parseName = (text: string): string => {
  const names = schema.migrations.map(({ name }) => name);
  if (names.includes(text)) return text;
  throw new InvalidArgumentError(`It must be one of ${names.join(', ')}.`);
};

const input = {
  status: flag('change nothing: list which migrations are applied and which are pending', {
    conflicts: ['to', 'dryRun'],
  }),
  dryRun: flag('change nothing: print the SQL'),
  to: option('<migration>', 'stop after this migration, or with --down before reverting it', parseName),
  down: flag(
    'revert the latest migration instead; the data in its tables is lost. Without --yes it only says what would be lost',
    { conflicts: ['status'] },
  ),
  yes: flag('with --down: revert'),
};
type MigrateOptions = Given<typeof input>;

const apply = async (db: Database, to?: string): Promise<void> => {
  const applied = await db.migrate(to);
  await recordMigrations(db, systemActor(), { applied });
  print(...applied);
  if (applied.length === 0) note('Nothing to migrate.');
};

const revert = async (db: Database, to?: string): Promise<void> => {
  const reverted = await db.revert(to);
  await recordMigrations(db, systemActor(), { reverted });
  print(...reverted);
  if (reverted.length === 0) note('Nothing to revert.');
};

/** Prints what `--down` would do, and fails. */
const refuseToRevert = async (db: Database, to?: string): Promise<void> => {
  const plans = await db.planMigrations('down', to);
  if (plans.length === 0) {
    note('Nothing to revert.');
    return;
  }
  const losses = plans.flatMap(({ statements }) => statements.filter((sql) => /\bDROP (?:TABLE|COLUMN)\b/i.test(sql)));
  note(`It would revert ${plans.map(({ name }) => name).join(', ')}, and lose what only these hold:`);
  for (const sql of losses) note(`  ${sql}`);
  throw new CommandError('Nothing was reverted. Back up first, then add --yes.');
};

/** Prints the SQL of a migration, for execution by hand. */
const showPlan = async (db: Database, { down, to }: MigrateOptions): Promise<void> => {
  const plans = await db.planMigrations(down ? 'down' : 'up', to);
  for (const { name, statements } of plans) print(`-- ${down ? 'Take back ' : ''}${name}`, ...statements, '');
  if (plans.length === 0) note(down ? 'Nothing to revert.' : 'Nothing to migrate.');
};

/** Interrupted migrations are pending, too. */
const STATES = { applied: 'applied', up: 'half done', down: 'half reverted' } as const;

const showStatus = async (db: Database): Promise<void> => {
  const states = await db.migrationStates();
  const others = db.migrationNames.filter((name) => !states.has(name));
  printTable(
    ['STATE', 'MIGRATION'],
    [...Array.from(states, ([name, state]) => [STATES[state], name]), ...others.map((name) => ['pending', name])],
  );
};

const run = (db: Database, options: MigrateOptions): Promise<void> => {
  if (options.status) return showStatus(db);
  if (options.dryRun) return showPlan(db, options);
  if (!options.down) return apply(db, options.to);
  return options.yes ? revert(db, options.to) : refuseToRevert(db, options.to);
};

export const migrateCommand = command({
  summary: 'create or change the tables of the database',
  description:
    'Applies the pending migrations to the database of MIGRATE_DATABASE_URL, or else of DATABASE_URL, and prints the name of each. Safe to run twice, ' +
    'or from several machines at once. If it was interrupted, run it again: it passes over what is done.',
  input,
  examples: ['', '--status', '--dry-run'],
  run: (options) => {
    const config = readSettings();
    const creates = !options.status && !options.dryRun && !options.down;
    return withConnection(config, (db) => run(db, options), { url: config.migrateDatabaseUrl, creates });
  },
});
