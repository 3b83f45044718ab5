import type { Reason } from '../../contract/index.ts';
import type { Bytes } from '../db/values.ts';
import type { SearchKind } from '../search/document.ts';

/** Where the records of a kind live: what games and image posts do alike is written once, over this. */
export interface ContentKind {
  /** The name of its entity. */
  entity: string;
  /** Also the name of its counter. */
  table: string;
  /** The column of the three tables below that names the record. */
  foreignKey: string;
  tagTable: string;
  favoriteTable: string;
  reactionTable: string;
  /** A column to filter by, which the rows of the record's tags repeat. */
  typeColumn?: string;
  /** Whether no record of it loses a tag while it is there. */
  tagsAreKept: boolean;
  /** The sorts that have an index for the records of one type. */
  typeSorts: readonly string[];
  /** The column of `users` and `tags` that counts records of this kind. */
  countColumn: string;
  /** Columns beyond the shared ones that lists show. */
  summaryColumns: readonly string[];
  /** Columns that only the whole record shows. */
  detailColumns: readonly string[];
  /** Columns that search covers besides title and tags. */
  searchedColumns: readonly string[];
  /** The texts of these columns, in the order of `Draft.searchable`. */
  searchedTexts: (row: Readonly<Record<string, string | null>>) => readonly (string | null | undefined)[];
  /** The router of its procedures, by which the types of its events begin. */
  router: 'game' | 'image';
  notFound: Reason;
  /** How search sees its records. */
  search: SearchKind;
  /** The lowest id of the records since an instant, where ids do not hold it. */
  firstId?: (since: Date) => Bytes;
}
