import { And, type FindOptionsWhere, In, IsNull, LessThan, Like, MoreThanOrEqual } from 'typeorm';
import { idempotencyRecordsIn, type IdempotencyRow, SWEPT_AT_ONCE } from '../../auth/idempotency/records.ts';
import { hiddenMarksIn } from '../../content/entity.ts';
import type { Reader } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';

const HOUR_MS = 3_600_000;
/** Stored answers are kept for a day: one more hour for clocks that differ. */
const HOURS = 26;
const MARKS_AT_ONCE = 500;

/** The answers of a user's calls; earlier versions stored them without the user, but with the id in the text. */
const ownOf = (userId: string): FindOptionsWhere<IdempotencyRow>[] => [
  { userId },
  { userId: IsNull(), answer: Like(`%${userId}%`) },
];

/** How many answers of a user's calls are stored for repetitions. */
export const countAnswers = (reader: Reader, userId: string): Promise<number> =>
  idempotencyRecordsIn(reader).countBy(ownOf(userId));

/** Deletes the stored answers of a user's calls in small batches, hour by hour. @returns how many */
export const deleteAnswers = async (db: Database, userId: string, now: Date): Promise<number> => {
  const hours = Array.from({ length: HOURS }, (_, hour) => new Date(now.getTime() - hour * HOUR_MS));
  const bounds = [new Date('9999-12-31T23:59:59.999Z'), ...hours, new Date(0)];
  let deleted = 0;
  for (const [index, from] of bounds.slice(1).entries()) {
    for (;;) {
      const rows = await idempotencyRecordsIn(db).find({
        select: { createdAt: true, callHash: true },
        where: ownOf(userId).map((own) => ({
          ...own,
          createdAt: And(MoreThanOrEqual(from), LessThan(bounds[index]!)),
        })),
        take: SWEPT_AT_ONCE,
      });
      if (rows.length === 0) break;
      const hashes = rows.map(({ callHash }) => callHash);
      const { affected } = await db.transaction((tx) => idempotencyRecordsIn(tx).delete({ callHash: In(hashes) }));
      deleted += affected ?? 0;
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
