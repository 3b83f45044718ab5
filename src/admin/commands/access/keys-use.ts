import { IsNull, Not } from 'typeorm';
import { currentDate } from '../../../base/runtime.ts';
import { displayPrefix, isWellFormedKey } from '../../../auth/format.ts';
import { listKeys, readKey } from '../../../auth/service.ts';
import { FAILED_CALL_HOURS, MAX_FAILED_CALLS } from '../../../../contract/index.ts';
import { readFailedCalls } from '../../../consumers/use/failed-calls.ts';
import { KEPT_DAYS, type ConsumerUse, keyConsumer, readConsumerUses } from '../../../consumers/use/store.ts';
import type { Database } from '../../../db/database.ts';
import { usersIn } from '../../../user/entity.ts';
import { idOfUser } from '../../../user/service.ts';
import type { NamedUse } from '../../../../openapi/kit/consumers/uses.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import {
  argument,
  databaseCommand,
  defaulted,
  EXAMPLE_ID,
  flag,
  type Given,
  jsonLines,
  option,
} from '../shared/command.ts';
import { CommandError, PROGRAM } from '../shared/common.ts';
import { printJsonLines, printRows, printTable } from '../shared/output.ts';

/** Refuses a key in place of its id: an operator who handles a leaked key may paste it. */
export const refuseKey = (id: string): void => {
  if (!isWellFormedKey(id)) return;
  throw new CommandError(`This is a key, not its id. Find the id beside ${displayPrefix(id)} in: ${PROGRAM} keys list`);
};

/** The argument of commands for one key. */
export const keyId = argument('<id>', 'the id of the key, from `keys list`; not the key itself');
export const usedDays = defaulted('<number>', 'the uses of so many days, today included', 30, {
  parse: wholeNumberUpTo(KEPT_DAYS),
});

const useInput = {
  key: option('<id>', 'only this key, by its id from `keys list`', { conflicts: ['user'] }),
  user: option('<id>', 'only the keys of this user, by id or by a nickname that no other user has'),
  days: usedDays,
  json: flag('print one JSON object per consumer and line instead of a table, with the day of each part'),
};

/** The chosen consumers; undefined for all. @throws AppError KEY_UNKNOWN, and as `idOfUser` does */
const chosenConsumers = async (db: Database, { key, user }: Given<typeof useInput>): Promise<string[] | undefined> => {
  if (key !== undefined) {
    refuseKey(key);
    return [keyConsumer((await readKey(db, key)).id)];
  }
  if (user === undefined) return undefined;
  const keys = await listKeys(db, await idOfUser(db, user));
  return keys.map(({ id }) => keyConsumer(id));
};

/** Adds the names and users of known keys to uses, and whether these users are suspended. */
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

export const use = databaseCommand({
  summary: 'show who uses what',
  description:
    'Shows for each key, and for anonymous callers by their client, which operations they called, which members of the ' +
    'input they sent and which words of the contract in them, whether they sent an Idempotency-Key, by which client, ' +
    'and on which day (UTC) last. No other value is recorded. A running service stores what it has recorded within ' +
    `ten seconds; it is kept for ${KEPT_DAYS} days.`,
  input: useInput,
  examples: ['', `--key ${EXAMPLE_ID} --json`, '--days 90 --json'],
  run: async (db, given) => {
    const consumers = await chosenConsumers(db, given);
    const uses = await readConsumerUses(db, { now: currentDate(), days: given.days, consumers });
    if (given.json) printJsonLines(await withKeys(db, uses));
    else printUses(uses);
  },
});

export const calls = databaseCommand({
  summary: 'show why calls with a key failed',
  description:
    `Shows the last ${MAX_FAILED_CALLS} calls with a key that failed within ${FAILED_CALL_HOURS} hours, the latest first: when ` +
    '(UTC), with which status and reason, which operation, the id of the request, and where the input was at fault. ' +
    'Neither bodies nor values are recorded. A running service stores what it has recorded within ten seconds.',
  input: { id: keyId, json: jsonLines },
  examples: [EXAMPLE_ID],
  run: async (db, { id, json }) => {
    refuseKey(id);
    const failed = await readFailedCalls(db, (await readKey(db, id)).id, currentDate());
    const columns = {
      TIME: 'at',
      STATUS: 'status',
      REASON: 'reason',
      OPERATION: 'operation',
      REQUEST: 'requestId',
    } as const;
    printRows(
      failed,
      { ...columns, FAULTS: ({ issues }) => issues.map(({ path, code }) => `${path} ${code}`).join(', ') },
      json,
    );
  },
});
