import type { Reader } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { inList, partsOf } from '../../../db/sql/in-list.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../../../db/values.ts';
import type { ContentKind } from '../../../content/kind.ts';
import type { HiddenSnapshot } from './snapshot.ts';

/** Where hidden records are read: those of a kind, a number of them at most. */
interface HiddenRange {
  from: { id: Bytes; isIncluded: boolean };
  upTo: Bytes | undefined;
  limit: number;
}

/** Hidden records of a kind by any authors, in the order of their ids, with the columns they had; no counts of marks. */
export const readHiddenRows = async <Columns>(
  reader: Reader,
  { table }: ContentKind,
  { from, upTo, limit }: HiddenRange,
): Promise<Columns[]> => {
  const rows = await reader.read<{ record_id: Bytes; author_id: Bytes; record: string }>(
    `SELECT record_id, author_id, record FROM hidden_records
    WHERE record_id ${from.isIncluded ? '>=' : '>'} ? ${upTo ? 'AND record_id <= ?' : ''} AND kind = ?
    ORDER BY record_id LIMIT ${limit}`,
    [from.id, ...(upTo ? [upTo] : []), table],
  );
  return rows.map(
    ({ record_id: id, author_id: authorId, record }) =>
      Object.assign(JSON.parse(record) as HiddenSnapshot, { id, author_id: authorId }) as Columns,
  );
};

/** Which of these records are hidden. */
export const findHiddenIds = async (reader: Reader, ids: readonly Bytes[]): Promise<Set<string>> => {
  const found = new Set<string>();
  for (const part of partsOf(ids)) {
    const { sql, parameters } = inList(part);
    const rows = await reader.read<{ id: Bytes }>(
      `SELECT record_id AS id FROM hidden_records WHERE record_id IN (${sql})`,
      parameters,
    );
    for (const { id } of rows) found.add(idFromBytes(id));
  }
  return found;
};

/** How many records of a kind by an author are hidden. */
export const countHidden = async (db: Database, authorId: string, { table }: ContentKind): Promise<number> => {
  const [row] = await db.read<{ n: number }>(
    'SELECT COUNT(*) AS n FROM hidden_records WHERE author_id = ? AND kind = ?',
    [storedIdToBytes(authorId), table],
  );
  return row?.n ?? 0;
};

interface HiddenColumns {
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
): Promise<Columns | undefined> => {
  const counts = Object.entries({ favorite_count: 'favorite', like_count: 'like', dislike_count: 'dislike' }).map(
    ([column, mark]) =>
      `(SELECT COUNT(*) FROM hidden_marks m WHERE m.record_id = h.record_id AND m.mark = '${mark}') AS ${column}`,
  );
  const [row] = await db.read<HiddenColumns>(
    `SELECT h.author_id, u.nickname, h.record, ${counts.join(', ')}
    FROM hidden_records h JOIN users u ON u.id = h.author_id WHERE h.record_id = ? AND h.kind = ?`,
    [id, table],
  );
  if (!row) return undefined;
  const { record, ...rest } = row;
  return { id, ...(JSON.parse(record) as HiddenSnapshot), ...rest } as Columns;
};
