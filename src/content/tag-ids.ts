import type { ContentKind } from './kind.ts';

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
