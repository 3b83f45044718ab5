import { MoreThanOrEqual } from 'typeorm';
import { readHiddenRows } from '../moderation/hidden/read.ts';
import { hiddenRecordsIn } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, NIL_ID, storedIdToBytes, timeFromDb } from '../../db/values.ts';
import type { Header } from './format.ts';
import type { ExportedRecord } from './records.ts';

const AT_ONCE = 200;

/** All rows of a part in a range of ids, in the order of their ids. */
export interface Rows<Row> {
  rows: Row[];
  /** The range begins with this id, or after it. */
  after: string;
  isAfterIncluded: boolean;
  /** The last id of the range; undefined for the last range, which has no end. */
  upTo: string | undefined;
}

/** Reads the hidden records of a kind that an export includes. */
export class HiddenReader {
  readonly #db: Database;
  readonly #kind: ContentKind;
  readonly #header: Header;

  constructor(db: Database, kind: ContentKind, header: Header) {
    this.#db = db;
    this.#kind = kind;
    this.#header = header;
  }

  /** The approximate number of hidden records, from this id on. */
  count(from = NIL_ID): Promise<number> {
    return hiddenRecordsIn(this.#db).countBy({ kind: this.#kind.table, recordId: MoreThanOrEqual(from) });
  }

  /**
   * Merges hidden rows into shown ones, in the order of their ids. Hidden rows are read last: a record that is hidden
   * meanwhile is in both, and counts as shown.
   */
  async *join<Row extends ExportedRecord>(shown: AsyncIterable<Rows<Row>>): AsyncGenerator<Row[]> {
    for await (const { rows, after, isAfterIncluded, upTo } of shown) {
      let left = rows;
      let from = { id: after, isIncluded: isAfterIncluded };
      for (;;) {
        const hidden = await readHiddenRows<Row>(this.#db, this.#kind, { from, upTo, limit: AT_ONCE });
        const last = hidden.at(-1);
        const isEnd = last === undefined || hidden.length < AT_ONCE;
        const isDue = ({ id }: { id: Bytes }): boolean => isEnd || Buffer.compare(id, last.id) <= 0;
        const due = merge(
          left.filter(isDue),
          hidden.filter((row) => this.#isExported(row)),
        );
        if (due.length > 0) yield due;
        if (isEnd) break;
        left = left.filter((row) => !isDue(row));
        from = { id: idFromBytes(last.id), isIncluded: false };
      }
    }
  }

  #isExported({ authorId, createdAt, updatedAt }: ExportedRecord): boolean {
    const { since, lastUser } = this.#header;
    if (lastUser !== null && Buffer.compare(authorId, storedIdToBytes(lastUser)) > 0) return false;
    return since === null || [createdAt, updatedAt].some((time) => timeFromDb(time) >= since);
  }
}

/** Merges both by the ids of the rows; if both have a row, the shown one is taken. */
const merge = <Row extends ExportedRecord>(shown: readonly Row[], hidden: readonly Row[]): Row[] => {
  if (hidden.length === 0) return [...shown];
  const known = new Set(shown.map(({ id }) => Buffer.from(id).toString('latin1')));
  const others = hidden.filter(({ id }) => !known.has(Buffer.from(id).toString('latin1')));
  return [...shown, ...others.map((row) => Object.assign(row, { isHidden: true as const }))].toSorted((a, b) =>
    Buffer.compare(a.id, b.id),
  );
};
