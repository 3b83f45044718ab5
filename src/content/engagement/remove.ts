import { currentDate } from '../../base/runtime.ts';
import { inParts } from '../../db/manager.ts';
import { In } from 'typeorm';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { type Bytes, idFromBytes, NIL_ID, storedIdToBytes } from '../../db/values.ts';
import { engagementIn } from '../entity.ts';
import type { ContentKind } from '../kind.ts';
import { countColumnOf } from '../write/remove.ts';
import { grouped } from '../../base/tally.ts';
import { recordReactions } from '../../event/outbox/record.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';

/** Small, since calls that change these records wait for the locks. */
const RECORDS_AT_ONCE = 100;

const tablesOf = ({ favoriteTable, reactionTable }: ContentKind): string[] => [favoriteTable, reactionTable];

/** Removes a user's favorites or reactions on some records. */
const removeSome = async (
  tx: Transaction,
  kind: ContentKind,
  table: string,
  userId: string,
  recordIds: readonly string[],
): Promise<number> => {
  await lockRows(tx, kind.table, recordIds.map(storedIdToBytes));
  // Read again under the lock.
  const rows = await engagementIn(tx, table).findBy({ userId, recordId: In(recordIds) });
  if (rows.length === 0) return 0;
  for (const [column, counted] of grouped(rows, countColumnOf)) {
    const additions = counted.map(({ recordId }) => [storedIdToBytes(recordId), -1] as const);
    await incrementAll(tx, [{ table: kind.table, column, additions }]);
  }
  await recordReactions(
    tx,
    `${kind.router}.reactionsChanged`,
    rows.map(({ recordId }) => storedIdToBytes(recordId)),
    currentDate(),
  );
  const { affected } = await engagementIn(tx, table).delete({ userId, recordId: In(recordIds) });
  return affected ?? 0;
};

/** Removes all favorites and reactions of a user on records of a kind, some at once. @returns how many */
export const removeEngagementOf = async (db: Database, kind: ContentKind, user: Bytes): Promise<number> => {
  const userId = idFromBytes(user);
  let removed = 0;
  for (const table of tablesOf(kind)) {
    const by = { key: 'recordId', first: NIL_ID, take: RECORDS_AT_ONCE } as const;
    const parts = inParts(engagementIn(db, table), by, (later) => ({ where: { userId, recordId: later() } }));
    for await (const rows of parts) {
      const ids = rows.map(({ recordId }) => recordId);
      removed += await db.transaction((tx) => removeSome(tx, kind, table, userId, ids));
    }
  }
  return removed;
};

/** The number of favorites and reactions that a user has given to records of a kind. */
export const countEngagementOf = async (reader: Reader, kind: ContentKind, user: Bytes): Promise<number> => {
  const userId = idFromBytes(user);
  let n = 0;
  for (const table of tablesOf(kind)) n += await engagementIn(reader, table).countBy({ userId });
  return n;
};
