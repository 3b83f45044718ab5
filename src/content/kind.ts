import type { Reason } from '../../contract/index.ts';
import { type Columns, memberOf } from '../db/sql/table.ts';
import type { Bytes } from '../db/values.ts';
import type { SearchKind } from '../search/document.ts';

/** Where the records of a kind live: what games and image posts do alike is written once, over this. */
export interface ContentKind {
  /** The name of its entity. */
  entity: string;
  /** Also the name of its counter. */
  table: string;
  /** Columns beyond the shared ones: those that lists show, and those that only the whole record shows. */
  columns: { summary: Columns; detail: Columns };
  /** The members of its indexes. The name of an index is that of the table and this one. */
  indices: Readonly<Record<string, string[]>>;
  /** The column of the three tables below that names the record. */
  foreignKey: string;
  tagTable: string;
  favoriteTable: string;
  reactionTable: string;
  /** A column to filter by, which the rows of the record's tags repeat. */
  typeColumn?: string;
  /** Whether no record of it loses a tag while it is there. */
  tagsAreKept: boolean;
  /** The column of `users` and `tags` that counts records of this kind. */
  countColumn: string;
  /** Members that search covers besides title and tags. */
  searched: readonly string[];
  /** Their texts, in the order of `Draft.searchable`. */
  searchedTexts: (row: Readonly<Record<string, string | null>>) => readonly (string | null | undefined)[];
  /** The router of its procedures, by which the types of its events begin. */
  router: 'game' | 'image';
  notFound: Reason;
  /** How search sees its records. */
  search: SearchKind;
  /** The lowest id of the records since an instant, where ids do not hold it. */
  firstId?: (since: Date) => Bytes;
}

/** The columns that only this kind has. */
export const ownColumns = ({ columns }: ContentKind): Columns => ({ ...columns.summary, ...columns.detail });

/** The value that a record of a kind holds in its `typeColumn`; null without one. */
export const typeIn = ({ typeColumn }: ContentKind, row: Readonly<Record<string, unknown>>): unknown =>
  typeColumn === undefined ? null : row[memberOf(typeColumn)];

type Links = Pick<ContentKind, 'tagTable' | 'foreignKey'>;

/** SQL of what `tag_ids` of a record has to hold. `record` is what its table is called in the query. */
export const linkedTagIds = ({ tagTable, foreignKey }: Links, record: string): string =>
  `COALESCE((SELECT CAST(GROUP_CONCAT(l.tag_id ORDER BY l.position) AS CHAR(220)) FROM ${tagTable} l
    WHERE l.${foreignKey} = ${record}.id), '')`;

/**
 * SQL of the ids of a record's tags. Versions from before the column was there, which may run beside this one, leave it
 * empty: only then are the links asked.
 */
export const tagIdsOf = (links: Links, record: string): string =>
  `CASE WHEN ${record}.tag_ids <> '' THEN ${record}.tag_ids ELSE ${linkedTagIds(links, record)} END`;
