import { In, LessThan, MoreThan } from 'typeorm';
import { type Operation, operations, pointerOf, MAX_USE_DAYS } from '../../../contract/index.ts';
import { grouped } from '../../base/tally.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import { padded, partsOf } from '../../db/sql/in-list.ts';
import { insertInto, insertMissing, insertValues } from '../../db/sql/write-rows.ts';
import { sweepRows } from '../../db/sweep.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type ConsumerUseRow, consumerUsesIn, failedCallsIn, keyUsesIn, type KeyUseRow } from '../entity.ts';
import type { Dialect } from '../../db/dialect.ts';
import { memoize } from '../../base/cache.ts';
import { storedIdToBytes } from '../../db/values.ts';
import { keysIn } from '../../auth/entity.ts';

/** The days for which uses are stored. */
export const KEPT_DAYS = MAX_USE_DAYS;
const DAY_MS = 86_400_000;
const DATE_LENGTH = '2026-04-01'.length;

/** The day of a time, in UTC: `2026-04-01`. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, DATE_LENGTH);

/** The day that is a number of days before a time, in UTC. */
export const dayBefore = (time: Date, days: number): string => dayOf(new Date(time.getTime() - days * DAY_MS));

const addition = memoize((dialect: Dialect) =>
  insertInto(
    'key_uses',
    ['key_id', 'day', 'operation', 'n'],
    `${dialect.onConflict('key_id, day, operation')} n = n + ${dialect.inserted('n')}`,
  ),
);

/** Returns the keys that exist: others were deleted meanwhile, with their uses. */
export const existingKeyIds = async (tx: Transaction, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const known = new Set<string>();
  for (const part of partsOf(ids)) {
    const found = await keysIn(tx).find({ select: { id: true }, where: { id: In(padded(part)) } });
    for (const { id } of found) known.add(id);
  }
  return known;
};

/** Stores counts by `<key id> <day> <operation>`. */
export const storeCounts = async (tx: Transaction, uses: ReadonlyMap<string, number>): Promise<void> => {
  // In the order of the primary key, so that transactions do not deadlock.
  const inOrder = [...uses].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rows = inOrder.map(([name, n]) => {
    const [keyId = '', day = '', operation = ''] = name.split(' ');
    return [keyId, day, operation, n] as const;
  });
  const known = await existingKeyIds(tx, [...new Set(rows.map(([keyId]) => keyId))]);
  await insertValues(
    tx,
    addition(tx.dialect),
    rows.filter(([keyId]) => known.has(keyId)).map(([keyId, ...count]) => [storedIdToBytes(keyId), ...count]),
  );
};

/** The uses of a key in the last `days` days, today included, the latest day first. */
export const readUses = (reader: Reader, keyId: string, now: Date, days: number): Promise<Omit<KeyUseRow, 'keyId'>[]> =>
  keyUsesIn(reader).find({
    select: { day: true, operation: true, n: true },
    where: { keyId, day: MoreThan(dayBefore(now, days)) },
    order: { day: 'DESC', n: 'DESC', operation: 'ASC' },
  });

/** Deletes some counts of days that ended more than KEPT_DAYS ago. Returns whether more counts may remain. */
export const sweepUses = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> =>
  sweepRows(db, keyUsesIn, () => ({ day: LessThan(dayBefore(now, KEPT_DAYS)) }), { day: 'ASC' });

const KEY = 'key ';
/** Replaces the operation in rows for all operations. Their parts are the clients of a key. */
export const SHARED = '';

/** The name of the consumer that holds a key. */
export const keyConsumer = (keyId: string): string => `${KEY}${keyId}`;
/** The name of the consumer that stands for all anonymous callers with a client. */
export const anonymousConsumer = (client: string): string => `client ${client}`;

/** The consumers whose key exists, and those without a key. */
const withExistingKeys = async (tx: Transaction, consumers: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = new Set(consumers.filter((consumer) => !consumer.startsWith(KEY)));
  const ids = consumers.filter((consumer) => !found.has(consumer)).map((consumer) => consumer.slice(KEY.length));
  for (const id of await existingKeyIds(tx, ids)) found.add(keyConsumer(id));
  return found;
};

/** The name of a row: its primary key. */
export const nameOf = ({ consumer, day, operation }: Omit<ConsumerUseRow, 'parts'>): string =>
  `${consumer}\n${day}\n${operation}`;

/** Adds parts to the stored parts of the day. Skips keys that were deleted meanwhile. */
export const addParts = async (tx: Transaction, uses: readonly ConsumerUseRow[]): Promise<void> => {
  const consumers = await withExistingKeys(tx, [...new Set(uses.map(({ consumer }) => consumer))]);
  const rows = uses.filter(({ consumer }) => consumers.has(consumer));
  // An existing row is locked before it is read: two instances may add to it at once.
  await insertMissing(
    tx,
    'consumer_uses',
    ['consumer', 'day', 'operation', 'parts'],
    rows.map(({ consumer, day, operation, parts }) => [consumer, day, operation, JSON.stringify(parts)]),
  );
  const days = [...new Set(rows.map(({ day }) => day))];
  const used = new Map(rows.map((row) => [nameOf(row), row.parts]));
  for (const part of partsOf([...consumers])) {
    const where = { consumer: In(padded(part)), day: In(days) };
    for (const stored of await consumerUsesIn(tx).find({ where, ...tx.dialect.lockingRows })) {
      const all = [...new Set([...stored.parts, ...(used.get(nameOf(stored)) ?? [])])];
      if (all.length === stored.parts.length) continue;
      const { consumer, day, operation } = stored;
      await consumerUsesIn(tx).update({ consumer, day, operation }, { parts: all });
    }
  }
};

/** Deletes all stored uses of keys. */
export const deleteUsesOf = async (tx: Transaction, keyIds: readonly string[]): Promise<void> => {
  await keyUsesIn(tx).delete({ keyId: In(keyIds) });
  await consumerUsesIn(tx).delete({ consumer: In(keyIds.map(keyConsumer)) });
  await failedCallsIn(tx).delete({ keyId: In(keyIds) });
};

/** A part of an operation, and the last day on which it was used. */
export interface PartUse {
  name: string;
  lastDay: string;
  /** Set if the part will be removed. */
  deprecated?: true;
}

/** The parts of an operation that a consumer used. */
export interface OperationUse {
  operation: string;
  lastDay: string;
  /** Set if the operation will be removed. */
  deprecated?: true;
  parts: PartUse[];
}

/** The uses of a consumer: `key <id>`, or `client <name>` for anonymous callers. */
export interface ConsumerUse {
  consumer: string;
  /** The clients of the key's holder. */
  clients: PartUse[];
  operations: OperationUse[];
}

const latest = (rows: readonly ConsumerUseRow[]): PartUse[] => {
  const days = new Map<string, string>();
  for (const { day, parts } of rows) {
    for (const name of parts) if ((days.get(name) ?? '') < day) days.set(name, day);
  }
  return Array.from(days, ([name, lastDay]) => ({ name, lastDay })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
};

/** The uses of an operation, which is undefined if the contract no longer has it. */
const operationUse = (id: string, operation: Operation | undefined, rows: readonly ConsumerUseRow[]): OperationUse => {
  const going = new Set(
    operation?.deprecatedParts.input.map(
      ({ path, value }) => `${pointerOf(path)}${value === undefined ? '' : `=${value}`}`,
    ),
  );
  return {
    operation: id,
    lastDay:
      rows
        .map(({ day }) => day)
        .toSorted()
        .at(-1) ?? '',
    ...(operation?.deprecated && { deprecated: true }),
    parts: latest(rows).map((part) => ({ ...part, ...(going.has(part.name) && { deprecated: true }) })),
  };
};

/** The uses to read: of the last `days` days with today; by some or all consumers; of a contract's operations. */
interface Wanted {
  now: Date;
  days: number;
  consumers?: readonly string[] | undefined;
  contract?: readonly Operation[];
}

/** The uses of consumers, by their names. */
export const readConsumerUses = async (
  reader: Pick<Reader, 'manager'>,
  { now, days, consumers, contract = operations }: Wanted,
): Promise<ConsumerUse[]> => {
  const rows = await consumerUsesIn(reader).find({
    where: { day: MoreThan(dayBefore(now, days)), ...(consumers && { consumer: In(consumers) }) },
    order: { consumer: 'ASC', operation: 'ASC', day: 'ASC' },
  });
  return Array.from(
    grouped(rows, ({ consumer }) => consumer),
    ([consumer, own]) => ({
      consumer,
      clients: latest(own.filter(({ operation }) => operation === SHARED)),
      operations: Array.from(
        grouped(
          own.filter(({ operation }) => operation !== SHARED),
          ({ operation }) => operation,
        ),
        ([id, used]) =>
          operationUse(
            id,
            contract.find((one) => one.id === id),
            used,
          ),
      ),
    }),
  );
};

/** Deletes some rows of days that ended more than KEPT_DAYS ago. Returns whether more rows may remain. */
export const sweepConsumerUses = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> =>
  sweepRows(db, consumerUsesIn, () => ({ day: LessThan(dayBefore(now, KEPT_DAYS)) }), { day: 'ASC' });
