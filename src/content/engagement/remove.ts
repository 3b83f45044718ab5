import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { inList } from '../../db/sql/in-list.ts';
import type { Bytes } from '../../db/values.ts';
import type { ContentKind } from '../kind.ts';
import { reactionColumns } from '../write/remove.ts';
import { grouped } from '../write/tally.ts';
import { recordReactions } from '../../event/outbox/record.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';

/** Few at once, since calls that change these records wait for the locks. */
const RECORDS_AT_ONCE = 100;

const tablesOf = ({ favoriteTable, reactionTable }: ContentKind): string[] => [favoriteTable, reactionTable];

/** Takes a user's favorites, or reactions, of some records back. */
const removeSome = async (
  tx: Transaction,
  kind: ContentKind,
  table: string,
  userId: Bytes,
  ids: readonly Bytes[],
): Promise<number> => {
  const { foreignKey, reactionTable } = kind;
  const { sql, parameters } = inList(ids);
  await lockRows(tx, kind.table, ids);
  // Read again under the lock.
  const rows = await tx.read<{ id: Bytes; type: keyof typeof reactionColumns | null }>(
    `SELECT ${foreignKey} AS id, ${table === reactionTable ? 'type' : 'NULL AS type'} FROM ${table}
    WHERE user_id = ? AND ${foreignKey} IN (${sql})`,
    [userId, ...parameters],
  );
  if (rows.length === 0) return 0;
  const columns = grouped(rows, ({ type }) => (type === null ? 'favorite_count' : reactionColumns[type]));
  for (const [column, counted] of columns) {
    await incrementAll(tx, [{ table: kind.table, column, additions: counted.map(({ id }) => [id, -1] as const) }]);
  }
  await recordReactions(
    tx,
    `${kind.router}.reactionsChanged`,
    rows.map(({ id }) => id),
    new Date(),
  );
  return tx.execute(`DELETE FROM ${table} WHERE user_id = ? AND ${foreignKey} IN (${sql})`, [userId, ...parameters]);
};

/** Takes all favorites and reactions of a user to records of a kind back, some at once. @returns how many */
export const removeEngagementOf = async (db: Database, kind: ContentKind, userId: Bytes): Promise<number> => {
  let removed = 0;
  for (const table of tablesOf(kind)) {
    for (let after: Bytes = Buffer.alloc(0); ;) {
      const rows = await db.read<{ id: Bytes }>(
        `SELECT ${kind.foreignKey} AS id FROM ${table} WHERE user_id = ? AND ${kind.foreignKey} > ?
        ORDER BY ${kind.foreignKey} LIMIT ${RECORDS_AT_ONCE}`,
        [userId, after],
      );
      const last = rows.at(-1);
      if (!last) break;
      after = last.id;
      const ids = rows.map(({ id }) => id);
      removed += await db.transaction((tx) => removeSome(tx, kind, table, userId, ids));
    }
  }
  return removed;
};

/** How many favorites and reactions a user has given to records of a kind. */
export const countEngagementOf = async (reader: Reader, kind: ContentKind, userId: Bytes): Promise<number> => {
  const counts = tablesOf(kind).map((table) => `(SELECT COUNT(*) FROM ${table} WHERE user_id = ?)`);
  const [row] = await reader.read<{ n: number | string }>(`SELECT ${counts.join(' + ')} AS n`, [userId, userId]);
  return Number(row?.n ?? 0);
};
