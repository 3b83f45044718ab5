import type { Transaction } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import type { Dialect } from '../../../db/dialect.ts';
import { inList } from '../../../db/sql/in-list.ts';
import { insertInto, insertValues } from '../../../db/sql/insert.ts';
import { memoize } from '../../../db/sql/memoize.ts';
import type { Bytes } from '../../../db/values.ts';
import type { ContentKind } from '../../../content/kind.ts';

// A hidden record is deleted from its table and kept aside with its favorites and reactions. Lists, searches and counts
// need no condition for hidden records, and a request for one gets a 404.

/** The stored columns from which a hidden record is published again, without the ids. */
export type HiddenSnapshot = Record<string, string | number | null> & {
  title: string;
  tag_ids: string;
  view_count: number;
  created_at: string;
  updated_at: string;
};

export const keptColumns = ({ summaryColumns, detailColumns }: ContentKind): string[] => [
  'title',
  'view_count',
  'created_at',
  'updated_at',
  ...summaryColumns,
  ...detailColumns,
];

/** Overwrites a row that is already there, since showing the record again may have been interrupted. */
const insertion = memoize((dialect: Dialect) =>
  insertInto(
    'hidden_records',
    ['author_id', 'record_id', 'kind', 'record'],
    `${dialect.onConflict('author_id, record_id')} record = ${dialect.inserted('record')}`,
  ),
);

/** Keeps records aside. Returns how many. */
export const keep = (
  tx: Transaction,
  { table }: ContentKind,
  records: readonly { id: Bytes; authorId: Bytes; kept: HiddenSnapshot }[],
): Promise<number> =>
  insertValues(
    tx,
    insertion(tx.dialect),
    records.map(({ id, authorId, kept }) => [authorId, id, table, JSON.stringify(kept)]),
  );

/** Records that come back or go together, and marks. */
const SHOWN_AT_ONCE = 100;
export const MARKS_AT_ONCE = 1000;

/** The ids of the hidden records of an author, of one kind or of all, part by part. */
export async function* findHidden(db: Database, authorId: Bytes, kind?: ContentKind): AsyncGenerator<Bytes[]> {
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await db.read<{ record_id: Bytes }>(
      `SELECT record_id FROM hidden_records WHERE author_id = ? AND record_id > ? ${kind ? 'AND kind = ?' : ''}
      ORDER BY record_id LIMIT ${SHOWN_AT_ONCE}`,
      [authorId, after, ...(kind ? [kind.table] : [])],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.record_id;
    yield rows.map(({ record_id: id }) => id);
  }
}

/** Deletes what was kept of hidden records. Returns how many. */
export const forget = async (tx: Transaction, authorId: Bytes, ids: readonly Bytes[]): Promise<number> => {
  const { sql, parameters } = inList(ids);
  return tx.execute(`DELETE FROM hidden_records WHERE author_id = ? AND record_id IN (${sql})`, [
    authorId,
    ...parameters,
  ]);
};
