import type { ContentKind } from '../../content/kind.ts';
import { moveRecords } from '../../content/write/tag-merge.ts';
import type { Database } from '../../db/database.ts';
import type { Tag } from '../../content/tag/service.ts';
import type { CountDifference } from './finding.ts';

interface MergedTag extends Tag {
  into_id: number;
  into_name: string;
  into_slug: string;
  n: number;
}

/**
 * Finds tags that were merged into others and have records all the same, which they get from versions that know of no
 * merging; and gives these records the other tag if asked to.
 */
export const checkMergedTags = async (
  db: Database,
  kinds: readonly ContentKind[],
  fix: boolean,
): Promise<CountDifference[]> => {
  const counts = kinds.map(({ tagTable }) => `(SELECT COUNT(*) FROM ${tagTable} l WHERE l.tag_id = t.id)`).join(' + ');
  const rows = await db.read<MergedTag>(
    `SELECT t.id, t.name, t.slug, m.id AS into_id, m.name AS into_name, m.slug AS into_slug, ${counts} AS n
    FROM tags t JOIN tags m ON m.id = t.merged_into ORDER BY t.id`,
  );
  const wrong = rows.filter(({ n }) => n > 0);
  if (fix) {
    for (const { id, name, slug, into_id: into, into_name: intoName, into_slug: intoSlug } of wrong) {
      const tags = [
        { id, name, slug },
        { id: into, name: intoName, slug: intoSlug },
      ] as const;
      for (const kind of kinds) await moveRecords(db, kind, tags);
    }
  }
  return wrong.map(({ id, n }) => ({ what: 'tags.merged_into', id: String(id), stored: n, actual: 0 }));
};
