import { linkedTagIds } from '../../content/kind.ts';
import type { Database } from '../../db/database.ts';
import { idFromBytes } from '../../db/values.ts';
import { searchKinds } from '../../app/schema.ts';
import type { SearchKind } from '../../search/document.ts';
import { findUnindexed, indexAgain } from '../../search/indexing/check.ts';
import { Indexer } from '../../search/indexing/indexer.ts';
import type { CountDifference } from './finding.ts';
import { publishedKinds } from '../moderation/kinds.ts';

const MENDED_AT_ONCE = 100;

/** The kind with the tags of its records from their links, since the column of tags may be wrong. */
const byLinks = (kind: SearchKind): SearchKind => {
  const content = publishedKinds.find(({ search }) => search === kind);
  return content ? { ...kind, tagIds: linkedTagIds(content, content.table) } : kind;
};

/** Compares the search index of a kind with its records, and indexes missing ones if asked to. */
export const checkSearch = async (
  db: Database,
  kind: SearchKind,
  fix: boolean,
  onCompared: (rows: number) => void,
): Promise<CountDifference[]> => {
  const linked = byLinks(kind);
  const found = await findUnindexed(db, linked, onCompared);
  if (fix && found.length > 0) {
    const indexer = new Indexer(db, searchKinds);
    for (let start = 0; start < found.length; start += MENDED_AT_ONCE) {
      const ids = found.slice(start, start + MENDED_AT_ONCE).map(({ id }) => id);
      await db.transaction((tx) => indexAgain(tx, linked, ids));
      // A long tail would keep searches from using the index.
      await indexer.work();
    }
  }
  return found.map(({ id, isMissing }) => ({
    field: `search.${kind.table}`,
    id: idFromBytes(id),
    stored: isMissing ? 'missing' : 'outdated',
    actual: 'there',
  }));
};
