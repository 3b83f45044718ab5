import { sleep } from '../../../base/runtime.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { beginMaintenance, endMaintenance, readMaintenance } from '../../../rpc/maintenance/maintenance.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { commandGroup, databaseCommand, defaulted, jsonObject, option } from '../shared/command.ts';
import { note, print, printObject } from '../shared/output.ts';

/** After this time, every instance knows of a change. */
const KNOWN_AFTER_MS = 1000;
const DAY_S = 86_400;
const DEFAULT_RETRY_AFTER_S = 60;

const on = databaseCommand({
  summary: 'take no writes',
  description:
    'Puts all instances into read-only mode: reads are answered, writes fail with 503 MAINTENANCE, and the service ' +
    'stores nothing by itself. When the command ends, every instance refuses new writes; those under way end within ' +
    'REQUEST_TIMEOUT_MS. Commands of this command line still write.',
  input: {
    retryAfter: defaulted('<seconds>', 'after how many seconds callers are told to try again', DEFAULT_RETRY_AFTER_S, {
      parse: wholeNumberUpTo(DAY_S),
    }),
    note: option('<text>', 'why, for other operators'),
  },
  examples: ['--retry-after 300 --note upgrade'],
  run: async (db, { retryAfter, note: reason }) => {
    await beginMaintenance(db, { retryAfter, note: reason ?? null }, systemActor());
    await sleep(KNOWN_AFTER_MS);
    print('on');
    note('No instance takes writes. Those under way end within REQUEST_TIMEOUT_MS.');
  },
});

const off = databaseCommand({
  summary: 'take writes again',
  description: 'Ends the read-only mode of all instances, which take writes within a second.',
  examples: [''],
  run: async (db) => {
    const wasOn = await endMaintenance(db, systemActor());
    print('off');
    if (!wasOn) note('It was off already.');
  },
});

const status = databaseCommand({
  summary: 'show whether writes are taken',
  description: 'Shows whether the read-only mode is on, since when, and why.',
  input: { json: jsonObject },
  examples: ['--json'],
  run: async (db, { json }) => {
    const state = await readMaintenance(db);
    printObject({ maintenance: state ? 'on' : 'off', ...state }, json);
  },
});

export const maintenanceCommand = commandGroup(
  'switch the read-only mode of all instances',
  'Switches the read-only mode of all instances on and off, for upgrades and moves of the database.',
  { on, off, status },
);
