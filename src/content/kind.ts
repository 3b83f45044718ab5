import type { Reason } from '../../contract/index.ts';
import { type Columns, memberOf } from '../db/sql/table.ts';
import type { Bytes } from '../db/values.ts';
import type { SearchKind } from '../search/document.ts';

/** The storage of a kind of records: games and image posts share all code that is written against this. */
export interface ContentKind {
  /** The name of its entity. */
  entity: string;
  /** Also the name of its counter. */
  table: string;
  /** Columns in addition to the shared ones: `summary` for lists, `detail` for whole records only. */
  columns: { summary: Columns; detail: Columns };
  /** The members of its indexes. An index is named after the table and its key here. */
  indices: Readonly<Record<string, string[]>>;
  /** The column that refers to the record in the three tables below. */
  foreignKey: string;
  tagTable: string;
  favoriteTable: string;
  reactionTable: string;
  /** A column to filter by. The tag rows of a record repeat its value. */
  typeColumn?: string;
  /**
   * Whether a change of tags or type counts among removals, so that cached totals notice it. For image posts, it does
   * not: earlier versions, which may run beside this one, do not count it.
   */
  countsTagChanges: boolean;
  /** The names of the counters of its types, without the type at their end. */
  typeCounters?: string;
  /** The column of `users` and `tags` that counts records of this kind. */
  countColumn: string;
  /** Members that search covers in addition to title and tags. */
  searched: readonly string[];
  /** The texts of these members, in the order of `Draft.searchable`. */
  searchedTexts: (row: Readonly<Record<string, string | null>>) => readonly (string | null | undefined)[];
  /** The router of its procedures, and the prefix of its event types. */
  router: 'game' | 'image';
  notFound: Reason;
  /** How search sees its records. */
  search: SearchKind;
  /** The lowest id of the records since an instant, if ids do not contain the instant. */
  firstId?: (since: Date) => Bytes;
}

/** The columns that only this kind has. */
export const ownColumns = ({ columns }: ContentKind): Columns => ({ ...columns.summary, ...columns.detail });

/** The value that a record of a kind holds in its `typeColumn`; null without one. */
export const typeIn = ({ typeColumn }: ContentKind, row: Readonly<Record<string, unknown>>): unknown =>
  typeColumn === undefined ? null : row[memberOf(typeColumn)];

type Links = Pick<ContentKind, 'tagTable' | 'foreignKey'>;

/** SQL of the correct value of a record's `tag_ids`. `record` is the alias of its table in the query. */
export const linkedTagIds = ({ tagTable, foreignKey }: Links, record: string): string =>
  `COALESCE((SELECT CAST(GROUP_CONCAT(l.tag_id ORDER BY l.position) AS CHAR(220)) FROM ${tagTable} l
    WHERE l.${foreignKey} = ${record}.id), '')`;

/**
 * SQL of the ids of a record's tags. Versions before the column existed, which may run beside this one, leave it empty:
 * only then are the links read.
 */
export const tagIdsOf = (links: Links, record: string): string =>
  `CASE WHEN ${record}.tag_ids <> '' THEN ${record}.tag_ids ELSE ${linkedTagIds(links, record)} END`;
