import { Command } from 'commander';
import { sleep } from '../../../base/runtime.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { beginMaintenance, endMaintenance, readMaintenance } from '../../../rpc/maintenance/state.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { examples, readSettings, withDatabase } from '../shared/common.ts';
import { note, print, printObject } from '../shared/output.ts';

/** Every instance has learned of a change by then. */
const KNOWN_AFTER_MS = 1000;
const DAY_S = 86_400;
const DEFAULT_RETRY_AFTER_S = 60;

const on = (): Command =>
  new Command('on')
    .summary('take no writes')
    .description(
      'Puts all instances into read-only mode: reads are answered, writes fail with 503 MAINTENANCE, and the service ' +
        'stores nothing by itself. When the command ends, every instance refuses new writes; those under way end within ' +
        'REQUEST_TIMEOUT_MS. Commands of this command line still write.',
    )
    .option(
      '--retry-after <seconds>',
      'after how many seconds callers are told to try again',
      wholeNumberUpTo(DAY_S),
      DEFAULT_RETRY_AFTER_S,
    )
    .option('--note <text>', 'why, for other operators')
    .addHelpText('after', examples('maintenance on --retry-after 300 --note upgrade'))
    .action(({ retryAfter, note: reason }: { retryAfter: number; note?: string }) =>
      withDatabase(readSettings(), async (db) => {
        await beginMaintenance(db, { retryAfter, note: reason ?? null }, systemActor());
        await sleep(KNOWN_AFTER_MS);
        print('on');
        note('No instance takes writes. Those under way end within REQUEST_TIMEOUT_MS.');
      }),
    );

const off = (): Command =>
  new Command('off')
    .summary('take writes again')
    .description('Ends the read-only mode of all instances, which take writes within a second.')
    .addHelpText('after', examples('maintenance off'))
    .action(() =>
      withDatabase(readSettings(), async (db) => {
        const wasOn = await endMaintenance(db, systemActor());
        print('off');
        if (!wasOn) note('It was off already.');
      }),
    );

const status = (): Command =>
  new Command('status')
    .summary('show whether writes are taken')
    .description('Shows whether the read-only mode is on, since when, and why.')
    .option('--json', 'print a JSON object instead of a table')
    .addHelpText('after', examples('maintenance status --json'))
    .action(({ json }: { json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const state = await readMaintenance(db);
        printObject({ maintenance: state ? 'on' : 'off', ...state }, json);
      }),
    );

export const maintenanceCommand = (): Command =>
  new Command('maintenance')
    .summary('switch the read-only mode of all instances')
    .description('Switches the read-only mode of all instances on and off, for upgrades and moves of the database.')
    .addCommand(on())
    .addCommand(off())
    .addCommand(status());
