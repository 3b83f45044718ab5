import { Argument, Command, Option } from 'commander';
import { IsNull, Not } from 'typeorm';
import { currentDate } from '../../../base/runtime.ts';
import { displayPrefix, isWellFormedKey } from '../../../auth/format.ts';
import { listKeys, readKey } from '../../../auth/service.ts';
import { FAILED_CALL_HOURS, MAX_FAILED_CALLS } from '../../../../contract/index.ts';
import { readFailedCalls } from '../../../consumers/use/failed-calls.ts';
import { KEPT_DAYS } from '../../../consumers/use/counts.ts';
import { type ConsumerUse, keyConsumer, readConsumerUses } from '../../../consumers/use/store.ts';
import type { Database } from '../../../db/database.ts';
import { usersIn } from '../../../user/entity.ts';
import { idOfUser } from '../../../user/service.ts';
import type { NamedUse } from '../../../../openapi/kit/consumers/uses.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { CommandError, examples, PROGRAM, readSettings, withDatabase } from '../shared/common.ts';
import { printJsonLines, printTable } from '../shared/output.ts';

const EXAMPLE_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

/** Refuses a key in place of its id: an operator with a leaked key at hand may paste it. */
export const refuseKey = (id: string): void => {
  if (!isWellFormedKey(id)) return;
  throw new CommandError(`This is a key, not its id. Find the id beside ${displayPrefix(id)} in: ${PROGRAM} keys list`);
};

/** The argument of commands for one key. */
export const keyIdArgument = (): Argument =>
  new Argument('<id>', 'the id of the key, from `keys list`; not the key itself');

interface UseOptions {
  key?: string;
  user?: string;
  days: number;
  json?: true;
}

/** The consumers that are asked for; undefined for all. @throws AppError KEY_UNKNOWN, and as `idOfUser` does */
const chosenConsumers = async (db: Database, { key, user }: UseOptions): Promise<string[] | undefined> => {
  if (key !== undefined) {
    refuseKey(key);
    return [keyConsumer((await readKey(db, key)).id)];
  }
  if (user === undefined) return undefined;
  const keys = await listKeys(db, await idOfUser(db, user));
  return keys.map(({ id }) => keyConsumer(id));
};

/** Uses with what is known of the keys: their names and users, and whether these are suspended. */
export const withKeys = async (db: Database, uses: readonly ConsumerUse[]): Promise<NamedUse[]> => {
  const keys = new Map((await listKeys(db)).map((key) => [keyConsumer(key.id), key]));
  const suspended = await usersIn(db).find({ select: { id: true }, where: { suspendedAt: Not(IsNull()) } });
  const isSuspended = new Set(suspended.map(({ id }) => id));
  return uses.map((use) => {
    const key = keys.get(use.consumer);
    if (!key) return use;
    const { id, name, userId } = key;
    return { ...use, key: { id, name, userId, ...(isSuspended.has(userId) && { isSuspended: true }) } };
  });
};

const told = ({ name, deprecated }: { name: string; deprecated?: true | undefined }): string =>
  deprecated ? `${name} (deprecated)` : name;

const printUses = (uses: readonly ConsumerUse[]): void =>
  printTable(
    ['CONSUMER', 'OPERATION', 'LAST DAY', 'CLIENTS OR PARTS'],
    uses.flatMap(({ consumer, clients, operations }) => [
      ...(clients.length > 0 ? [[consumer, '', '', clients.map(({ name }) => name).join(', ')]] : []),
      ...operations.map(({ operation, lastDay, parts, deprecated }) => [
        consumer,
        told({ name: operation, deprecated }),
        lastDay,
        parts.map(told).join(' '),
      ]),
    ]),
  );

/** `keys use` */
export const useCommand = (): Command =>
  new Command('use')
    .summary('show who uses what')
    .description(
      'Shows for each key, and for anonymous callers by their client, which operations they called, which members of the ' +
        'input they sent and which words of the contract in them, whether they sent an Idempotency-Key, by which client, ' +
        'and on which day (UTC) last. No other value is recorded. A running service stores what it has recorded within ' +
        `ten seconds; it is kept for ${KEPT_DAYS} days.`,
    )
    .addOption(new Option('--key <id>', 'only this key, by its id from `keys list`').conflicts('user'))
    .option('--user <id>', 'only the keys of this user, by id or by a nickname that no other user has')
    .addOption(
      new Option('--days <number>', 'the uses of so many days, today included')
        .argParser(wholeNumberUpTo(KEPT_DAYS))
        .default(30),
    )
    .option('--json', 'print one JSON object per consumer and line instead of a table, with the day of each part')
    .addHelpText('after', examples('keys use', `keys use --key ${EXAMPLE_ID} --json`, 'keys use --days 90 --json'))
    .action((options: UseOptions) =>
      withDatabase(readSettings(), async (db) => {
        const uses = await readConsumerUses(db, {
          now: currentDate(),
          days: options.days,
          consumers: await chosenConsumers(db, options),
        });
        if (options.json) printJsonLines(await withKeys(db, uses));
        else printUses(uses);
      }),
    );

/** `keys calls` */
export const callsCommand = (): Command =>
  new Command('calls')
    .summary('show why calls with a key failed')
    .description(
      `Shows the last ${MAX_FAILED_CALLS} calls with a key that failed within ${FAILED_CALL_HOURS} hours, the latest first: when ` +
        '(UTC), with which status and reason, which operation, the id of the request, and where the input was at fault. ' +
        'Neither bodies nor values are recorded. A running service stores what it has recorded within ten seconds.',
    )
    .addArgument(keyIdArgument())
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples(`keys calls ${EXAMPLE_ID}`))
    .action((id: string, { json }: { json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        refuseKey(id);
        const calls = await readFailedCalls(db, (await readKey(db, id)).id, currentDate());
        if (json) printJsonLines(calls);
        else
          printTable(
            ['TIME', 'STATUS', 'REASON', 'OPERATION', 'REQUEST', 'FAULTS'],
            calls.map(({ at, status, reason, operation, requestId, issues }) => [
              at,
              String(status),
              reason,
              operation,
              requestId,
              issues.map(({ path, code }) => `${path} ${code}`).join(', '),
            ]),
          );
      }),
    );
