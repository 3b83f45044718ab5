import { styleText } from 'node:util';
import { type Diagnosis, type Health, worstOf } from '../../doctor/check.ts';
import { examine, PoolLimits } from '../../doctor/doctor.ts';
import { command, flag } from '../shared/command.ts';
import { describeFault as describe, readSettings, withConnection } from '../shared/common.ts';
import { print, printable, printJsonLines } from '../shared/output.ts';

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red', skipped: 'gray' } as const satisfies Record<
  Health,
  Parameters<typeof styleText>[0]
>;
const HEALTH_WIDTH = 'failure'.length;
const CHECK_WIDTH = 'connections'.length;

const lineOf = ({ check, health, message, cure }: Diagnosis): string => {
  const word = styleText(COLORS[health], health.padEnd(HEALTH_WIDTH), { stream: process.stdout });
  const indent = ' '.repeat(HEALTH_WIDTH + CHECK_WIDTH + 4);
  const line = `${word}  ${check.padEnd(CHECK_WIDTH)}  ${printable(message)}`;
  return cure === undefined ? line : `${line}\n${indent}→ ${printable(cure)}`;
};

export const doctorCommand = command({
  summary: 'check the deployment, and say how to mend it',
  description:
    'Checks settings, database, TLS, clocks, durability, connections, disk, Redis, migrations, the versions of all ' +
    'instances that run, and what is stored twice in the newest rows. Prints a line for each, and the cure where one is ' +
    'needed. Changes nothing. The exit status is 1 if a check failed; warnings leave it at 0.',
  input: {
    deep: flag('also look at all pages of an SQLite file, which reads all of it'),
    json: flag('print one JSON object per line instead of sentences'),
  },
  examples: ['', '--deep', '--json'],
  run: ({ deep: isDeep, json }) => {
    const limits = new PoolLimits();
    const config = readSettings();
    return withConnection(
      config,
      async (db) => {
        const found: Diagnosis[] = [];
        for await (const diagnosis of examine(config, db, { perProcess: limits.total, describe, isDeep })) {
          found.push(diagnosis);
          if (json) printJsonLines([diagnosis]);
          else print(lineOf(diagnosis));
        }
        if (worstOf(found) === 'failure') process.exitCode = 1;
      },
      { observer: limits.observer },
    );
  },
});
