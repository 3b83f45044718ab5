import { In, MoreThan, Not } from 'typeorm';
import type { Reader } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { partsOf } from '../../../db/sql/in-list.ts';
import { type Bytes, idFromBytes, NIL_ID } from '../../../db/values.ts';
import { hiddenRecordsIn } from '../../../content/entity.ts';
import type { ContentKind } from '../../../content/kind.ts';
import type { HiddenSnapshot } from './snapshot.ts';

const LISTED_AT_ONCE = 200;

/** Where hidden records are read: those of a kind, a number of them at most. */
interface HiddenRange {
  from: { id: Bytes; isIncluded: boolean };
  upTo: Bytes | undefined;
  limit: number;
}

interface HiddenRowColumns {
  record_id: Bytes;
  author_id: Bytes;
  record: string;
  hidden_at: string | null;
  reason: string | null;
}

/** Hidden records of a kind by any authors, in the order of their ids, with the columns they had; no counts of marks. */
export const readHiddenRows = async <Columns>(
  reader: Reader,
  { table }: ContentKind,
  { from, upTo, limit }: HiddenRange,
): Promise<Columns[]> => {
  const rows = await reader.read<HiddenRowColumns>(
    `SELECT record_id, author_id, record, hidden_at, reason FROM hidden_records
    WHERE record_id ${from.isIncluded ? '>=' : '>'} ? ${upTo ? 'AND record_id <= ?' : ''} AND kind = ?
    ORDER BY record_id LIMIT ${limit}`,
    [from.id, ...(upTo ? [upTo] : []), table],
  );
  return rows.map(
    ({ record_id: id, record, ...row }) => Object.assign(JSON.parse(record) as HiddenSnapshot, { id }, row) as Columns,
  );
};

/** The hidden records of a kind by an author, with the columns they had and why they are hidden, part by part. */
export async function* readHiddenOf<Columns>(
  reader: Reader,
  { table }: ContentKind,
  authorId: Bytes,
): AsyncGenerator<Columns[]> {
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await reader.read<HiddenRowColumns>(
      `SELECT record_id, author_id, record, hidden_at, reason FROM hidden_records
      WHERE author_id = ? AND kind = ? AND record_id > ? ORDER BY record_id LIMIT ${LISTED_AT_ONCE}`,
      [authorId, table, after],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.record_id;
    yield rows.map(
      ({ record_id: id, record, ...row }) =>
        Object.assign(JSON.parse(record) as HiddenSnapshot, { id }, row) as Columns,
    );
  }
}

/** Which of these records are hidden. */
export const findHiddenIds = async (reader: Reader, ids: readonly Bytes[]): Promise<Set<string>> => {
  const found = new Set<string>();
  for (const part of partsOf(ids)) {
    const rows = await hiddenRecordsIn(reader).find({
      select: { recordId: true },
      where: { recordId: In(part.map(idFromBytes)) },
    });
    for (const { recordId } of rows) found.add(recordId);
  }
  return found;
};

/** How many records of a kind by an author are hidden. */
export const countHidden = (db: Database, authorId: string, { table }: ContentKind): Promise<number> =>
  hiddenRecordsIn(db).countBy({ authorId, kind: table });

/** Why a record is hidden: by itself, for a reason; with its author; or both. */
export interface HiddenColumns {
  /** Since when it is hidden by itself. */
  hidden_at: string | null;
  reason: string | null;
  /** Since when its author's records are hidden. */
  author_hidden_at: string | null;
}

interface HiddenRecordColumns extends HiddenColumns {
  author_id: Bytes;
  nickname: string;
  record: string;
  favorite_count: number;
  like_count: number;
  dislike_count: number;
}

/** A hidden record of a kind, with the columns it had; undefined if there is none. */
export const readHidden = async <Columns>(
  db: Database,
  { table }: ContentKind,
  id: Bytes,
): Promise<(Columns & HiddenColumns) | undefined> => {
  const counts = Object.entries({ favorite_count: 'favorite', like_count: 'like', dislike_count: 'dislike' }).map(
    ([column, mark]) =>
      `(SELECT COUNT(*) FROM hidden_marks m WHERE m.record_id = h.record_id AND m.mark = '${mark}') AS ${column}`,
  );
  const [row] = await db.read<HiddenRecordColumns>(
    `SELECT h.author_id, u.nickname, h.record, h.hidden_at, h.reason, u.hidden_at AS author_hidden_at, ${counts.join(', ')}
    FROM hidden_records h JOIN users u ON u.id = h.author_id WHERE h.record_id = ? AND h.kind = ?`,
    [id, table],
  );
  if (!row) return undefined;
  const { record, ...rest } = row;
  return { ...(JSON.parse(record) as HiddenSnapshot), ...rest, id } as unknown as Columns & HiddenColumns;
};

interface HiddenListColumns extends HiddenColumns {
  record_id: Bytes;
  author_id: Bytes;
  record: string;
}

/** The hidden records of a kind, in the order of their ids, part by part. */
export async function* listHidden(
  reader: Reader,
  { table }: ContentKind,
): AsyncGenerator<(Omit<HiddenListColumns, 'record'> & { title: string })[]> {
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await reader.read<HiddenListColumns>(
      `SELECT h.record_id, h.author_id, h.record, h.hidden_at, h.reason, u.hidden_at AS author_hidden_at
      FROM hidden_records h LEFT JOIN users u ON u.id = h.author_id
      WHERE h.record_id > ? AND h.kind = ? ORDER BY h.record_id LIMIT ${LISTED_AT_ONCE}`,
      [after, table],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.record_id;
    yield rows.map(({ record, ...row }) => ({ ...row, title: (JSON.parse(record) as HiddenSnapshot).title }));
  }
}

/** The ids of the tags of each hidden record, but those of an author, as its column held them, part by part. */
export async function* readHiddenTagIds(reader: Reader, exceptAuthor = NIL_ID): AsyncGenerator<string[]> {
  for (let after = NIL_ID; ;) {
    const rows = await hiddenRecordsIn(reader).find({
      select: { recordId: true, record: true },
      where: { recordId: MoreThan(after), authorId: Not(exceptAuthor) },
      order: { recordId: 'ASC' },
      take: LISTED_AT_ONCE,
    });
    const last = rows.at(-1);
    if (!last) return;
    after = last.recordId;
    yield rows.map(({ record }) => (JSON.parse(record) as HiddenSnapshot).tag_ids);
  }
}
