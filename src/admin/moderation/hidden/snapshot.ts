import type { Transaction } from '../../../db/connection.ts';
import type { Dialect } from '../../../db/dialect.ts';
import { insertInto, insertValues } from '../../../db/sql/write-rows.ts';
import { memoize } from '../../../base/cache.ts';
import { byMember, byName } from '../../../db/sql/table.ts';
import { type Bytes, timeToDb } from '../../../db/values.ts';
import { type ContentKind, ownColumns } from '../../../content/kind.ts';
import type { StoredContent } from '../../../content/records.ts';

// A hidden record is deleted from its table and kept aside with its favorites and reactions. Lists, searches and counts
// need no condition for hidden records, and a request for one gets a 404.

/** The stored members from which a hidden record is published again, including members of its kind but no ids. */
export type HiddenSnapshot = Record<string, string | number | null> &
  Pick<StoredContent, 'title' | 'tagIds' | 'viewCount' | 'createdAt' | 'updatedAt'>;

/** The row of a hidden record, stored by the names of its columns. */
export const snapshotOf = (record: string): HiddenSnapshot => byMember(JSON.parse(record) as object) as HiddenSnapshot;

/** The names of a record's tags when it was hidden, in the order of `tagIds`: an unused tag may be deleted. */
export const keptTagNames = ({ tagNames: names }: HiddenSnapshot): string[] =>
  typeof names === 'string' ? (JSON.parse(names) as string[]) : [];

/** The reason why a record is hidden by itself, and the time since when it is. */
export interface HideCause {
  reason: string;
  at: Date;
}

export const keptMembers = (kind: ContentKind): string[] => [
  'title',
  'viewCount',
  'createdAt',
  'updatedAt',
  ...Object.keys(ownColumns(kind)),
];

const COLUMNS = ['author_id', 'record_id', 'kind', 'record', 'hidden_at', 'reason'];

/** Overwrites an existing row, since showing the record again may have been interrupted. */
const insertionOf = (overwritten: readonly string[]) =>
  memoize((dialect: Dialect) =>
    insertInto(
      'hidden_records',
      COLUMNS,
      `${dialect.onConflict('author_id, record_id')} ${overwritten
        .map((column) => `${column} = ${dialect.inserted(column)}`)
        .join(', ')}`,
    ),
  );
const withAuthor = insertionOf(['record']);
const byItself = insertionOf(['record', 'hidden_at', 'reason']);

/** A record to set aside. Without a cause, it is hidden with its author only. */
interface KeptRecord {
  id: Bytes;
  authorId: Bytes;
  kept: HiddenSnapshot;
  cause?: HideCause | undefined;
}

/** Sets records aside: either all are hidden by themselves, or all with their authors. Returns how many. */
export const keep = (tx: Transaction, { table }: ContentKind, records: readonly KeptRecord[]): Promise<number> =>
  insertValues(
    tx,
    (records.some(({ cause }) => cause) ? byItself : withAuthor)(tx.dialect),
    records.map(({ id, authorId, kept, cause }) => [
      authorId,
      id,
      table,
      JSON.stringify(byName(kept)),
      cause ? timeToDb(cause.at) : null,
      cause?.reason ?? null,
    ]),
  );
