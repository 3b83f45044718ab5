import { inParts } from '../../../db/manager.ts';
import {
  And,
  type FindOptionsSelect,
  type FindOptionsWhere,
  In,
  LessThanOrEqual,
  MoreThan,
  MoreThanOrEqual,
} from 'typeorm';
import type { Reader } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { partsOf } from '../../../db/sql/in-list.ts';
import { type Bytes, NIL_ID, storedIdToBytes } from '../../../db/values.ts';
import { hiddenMarksIn, type HiddenRecordRow, hiddenRecordsIn } from '../../../content/entity.ts';
import type { ContentKind } from '../../../content/kind.ts';
import type { StoredRecord } from '../../../content/records.ts';
import { usersIn } from '../../../user/entity.ts';
import { type HiddenSnapshot, snapshotOf } from './snapshot.ts';

/** Few enough that one transaction may change them. */
const AT_ONCE = 100;

/**
 * The hidden records that a condition selects, in the order of their ids, in batches; `select` limits the members. The
 * condition is created anew for each statement, since transformers change operators.
 */
export const hiddenParts = (
  reader: Reader,
  condition: () => FindOptionsWhere<HiddenRecordRow>,
  select?: FindOptionsSelect<HiddenRecordRow>,
): AsyncGenerator<HiddenRecordRow[]> =>
  inParts(hiddenRecordsIn(reader), { key: 'recordId', first: NIL_ID, take: AT_ONCE }, (later) => ({
    ...(select && { select }),
    where: { ...condition(), recordId: later() },
  }));

/** The ids of the hidden records that a condition selects, in batches. */
export async function* hiddenIds(
  reader: Reader,
  condition: () => FindOptionsWhere<HiddenRecordRow>,
): AsyncGenerator<Bytes[]> {
  for await (const rows of hiddenParts(reader, condition, { recordId: true })) {
    yield rows.map(({ recordId }) => storedIdToBytes(recordId));
  }
}

/** A range of hidden records of a kind, and the most records to read. */
interface HiddenRange {
  from: { id: string; isIncluded: boolean };
  upTo: string | undefined;
  limit: number;
}

/** A record as it is stored, including the members of its kind. */
export type AnyRecord = Omit<StoredRecord, 'authorAvatar'> & Record<string, unknown>;

/** A hidden record with the columns that it had, and why it is hidden. */
export const rowOfHidden = ({ recordId, authorId, record, hiddenAt, reason }: HiddenRecordRow): AnyRecord =>
  Object.assign(snapshotOf(record) as unknown as AnyRecord, {
    id: storedIdToBytes(recordId),
    authorId: storedIdToBytes(authorId),
    hiddenAt,
    reason,
  });

/** Hidden records of a kind by any authors, in the order of their ids, as they were, without counts of marks. */
export const readHiddenRows = async <Row>(
  reader: Reader,
  { table }: ContentKind,
  { from, upTo, limit }: HiddenRange,
): Promise<Row[]> => {
  const begin = from.isIncluded ? MoreThanOrEqual(from.id) : MoreThan(from.id);
  const rows = await hiddenRecordsIn(reader).find({
    where: { recordId: upTo === undefined ? begin : And(begin, LessThanOrEqual(upTo)), kind: table },
    order: { recordId: 'ASC' },
    take: limit,
  });
  return rows.map(rowOfHidden) as Row[];
};

/** Returns which of these records are hidden. */
export const findHiddenIds = async (reader: Reader, ids: readonly string[]): Promise<Set<string>> => {
  const found = new Set<string>();
  for (const part of partsOf(ids)) {
    const rows = await hiddenRecordsIn(reader).find({
      select: { recordId: true },
      where: { recordId: In(part) },
    });
    for (const { recordId } of rows) found.add(recordId);
  }
  return found;
};

/** The reasons why a record is hidden: by itself, for a reason; with its author; or both. */
export interface HiddenState extends Pick<HiddenRecordRow, 'hiddenAt' | 'reason'> {
  /** The time since when its author's records are hidden. */
  authorHiddenAt: Date | null;
}

/** A hidden record of a kind, with its former columns and the reasons why it is hidden; undefined if none exists. */
export const readHidden = async (
  db: Database,
  { table }: ContentKind,
  id: string,
): Promise<{ row: AnyRecord; state: HiddenState } | undefined> => {
  const hidden = await hiddenRecordsIn(db).findOneBy({ recordId: id, kind: table });
  const author = hidden && (await usersIn(db).findOneBy({ id: hidden.authorId }));
  if (!author) return undefined;
  const marks = hiddenMarksIn(db);
  const row = Object.assign(rowOfHidden(hidden), {
    authorNickname: author.nickname,
    favoriteCount: await marks.countBy({ recordId: id, mark: 'favorite' }),
    likeCount: await marks.countBy({ recordId: id, mark: 'like' }),
    dislikeCount: await marks.countBy({ recordId: id, mark: 'dislike' }),
  });
  return { row, state: { ...hidden, authorHiddenAt: author.hiddenAt } };
};

/** A hidden record in a list. */
type ListedHidden = Pick<HiddenRecordRow, 'recordId' | 'authorId'> & HiddenState & { kept: HiddenSnapshot };

/** The hidden records of a kind, by all authors or one, in the order of their ids, in batches. */
export async function* listHidden(
  reader: Reader,
  { table }: ContentKind,
  authorId?: string,
): AsyncGenerator<ListedHidden[]> {
  const condition = { kind: table, ...(authorId !== undefined && { authorId }) };
  for await (const rows of hiddenParts(reader, () => condition)) {
    const authors = await usersIn(reader).find({
      select: { id: true, hiddenAt: true },
      where: { id: In([...new Set(rows.map((row) => row.authorId))]) },
    });
    const hiddenSince = new Map(authors.map(({ id, hiddenAt }) => [id, hiddenAt]));
    yield rows.map(({ record, ...row }) => ({
      ...row,
      kept: snapshotOf(record),
      authorHiddenAt: hiddenSince.get(row.authorId) ?? null,
    }));
  }
}
