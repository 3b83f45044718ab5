import { Command, Option } from 'commander';
import { readConfig } from '../config.ts';
import type { Database } from '../db/database.ts';
import { examples, withConnection } from './common.ts';
import { note, print, printTable } from './output.ts';

const apply = async (db: Database): Promise<void> => {
  const applied = await db.migrate();
  print(...applied);
  if (applied.length === 0) note('Nothing to migrate.');
};

const revert = async (db: Database): Promise<void> => {
  const reverted = await db.revert();
  if (reverted === undefined) note('Nothing to revert.');
  else print(reverted);
};

const showStatus = async (db: Database): Promise<void> => {
  const applied = await db.appliedMigrations();
  const pending = await db.pendingMigrations();
  printTable(
    ['STATE', 'MIGRATION'],
    [...applied.map((name) => ['applied', name]), ...pending.map((name) => ['pending', name])],
  );
};

export const migrateCommand = (): Command =>
  new Command('migrate')
    .summary('create or change the tables of the database')
    .description(
      'Applies the migrations that are due to the database of DATABASE_URL, and prints the name of each. ' +
        'Safe to run twice, or from several machines at once.',
    )
    .addOption(new Option('--status', 'change nothing: list which migrations are applied and which are pending'))
    .addOption(
      new Option('--down', 'revert the migration applied last instead; its tables lose their data').conflicts('status'),
    )
    .addHelpText('after', examples('migrate', 'migrate --status'))
    .action(({ status, down }: { status?: true; down?: true }) =>
      withConnection(readConfig(), status ? showStatus : down ? revert : apply),
    );
