import { In } from 'typeorm';
import { hiddenMarksIn } from '../../content/entity.ts';
import type { Reader } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { inList } from '../../db/sql/in-list.ts';
import { type Bytes, idFromBytes, timeToDb } from '../../db/values.ts';
import { SWEPT_AT_ONCE } from '../../call/idempotency/records.ts';

const HOUR_MS = 3_600_000;
/** Stored answers are kept for a day: one more hour for clocks that differ. */
const HOURS = 26;
const MARKS_AT_ONCE = 500;

/** The answers of a user's calls; instances of earlier versions stored them without the user, whose id is in them. */
const OWN = '(user_id = ? OR (user_id IS NULL AND INSTR(answer, ?) > 0))';

/** How many answers of a user's calls are stored for repetitions. */
export const countAnswers = async (reader: Reader, userId: Bytes): Promise<number> => {
  const [row] = await reader.read<{ n: number }>(`SELECT COUNT(*) AS n FROM idempotency_records WHERE ${OWN}`, [
    userId,
    idFromBytes(userId),
  ]);
  return row?.n ?? 0;
};

/** Deletes the answers of a user's calls that are stored for repetitions, some at once, hour by hour. @returns how many */
export const deleteAnswers = async (db: Database, userId: Bytes, now: Date): Promise<number> => {
  const hours = Array.from({ length: HOURS }, (_, hour) => timeToDb(new Date(now.getTime() - hour * HOUR_MS)));
  const bounds = ['9999-12-31 23:59:59.999', ...hours, '1970-01-01 00:00:00.000'];
  let deleted = 0;
  for (const [index, from] of bounds.slice(1).entries()) {
    for (;;) {
      const rows = await db.read<{ call_hash: Bytes }>(
        `SELECT call_hash FROM idempotency_records WHERE created_at >= ? AND created_at < ? AND ${OWN} LIMIT ${SWEPT_AT_ONCE}`,
        [from, bounds[index]!, userId, idFromBytes(userId)],
      );
      if (rows.length === 0) break;
      const { sql, parameters } = inList(rows.map(({ call_hash: hash }) => hash));
      deleted += await db.transaction((tx) =>
        tx.execute(`DELETE FROM idempotency_records WHERE call_hash IN (${sql})`, parameters),
      );
    }
  }
  return deleted;
};

/** Deletes a user's favorites and reactions to hidden records of others. @returns how many */
export const deleteHiddenMarks = async (db: Database, userId: string): Promise<number> => {
  let deleted = 0;
  for (;;) {
    const rows = await hiddenMarksIn(db).find({
      where: { userId },
      order: { recordId: 'ASC' },
      take: MARKS_AT_ONCE,
    });
    if (rows.length === 0) return deleted;
    const recordIds = rows.map(({ recordId }) => recordId);
    const { affected } = await db.transaction((tx) => hiddenMarksIn(tx).delete({ userId, recordId: In(recordIds) }));
    deleted += affected ?? 0;
  }
};
