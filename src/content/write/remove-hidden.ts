import { In } from 'typeorm';
import type { Transaction } from '../../db/connection.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';
import { hiddenMarksIn, hiddenRecordsIn } from '../entity.ts';

/** The marks of hidden records that one transaction restores or deletes. */
export const MARKS_AT_ONCE = 1000;

/** Deletes some of the marks of a hidden record. Returns whether there may be more. */
export const dropEngagement = async (tx: Transaction, id: Bytes): Promise<boolean> => {
  const recordId = idFromBytes(id);
  const marks = hiddenMarksIn(tx);
  const rows = await marks.find({ where: { recordId }, order: { userId: 'ASC' }, take: MARKS_AT_ONCE });
  if (rows.length === 0) return false;
  await marks.delete({ recordId, userId: In(rows.map(({ userId }) => userId)) });
  return rows.length === MARKS_AT_ONCE;
};

/** Deletes the stored data of hidden records. Returns how many. */
export const forget = async (tx: Transaction, ids: readonly Bytes[]): Promise<number> => {
  const { affected } = await hiddenRecordsIn(tx).delete({ recordId: In(ids.map(idFromBytes)) });
  return affected ?? 0;
};
