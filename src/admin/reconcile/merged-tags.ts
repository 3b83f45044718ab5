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

const linksOf = async (db: Database, kinds: readonly ContentKind[], tagId: number): Promise<number> => {
  const counts = await Promise.all(
    kinds.map(({ tagTable }) =>
      db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${tagTable} WHERE tag_id = ?`, [tagId]),
    ),
  );
  return counts.reduce((sum, [row]) => sum + (row?.n ?? 0), 0);
};

/**
 * Finds tags that were merged into others and have records all the same, which they get from versions that know of no
 * merging; and gives these records the other tag if asked to.
 */
export const checkMergedTags = async (
  db: Database,
  kinds: readonly ContentKind[],
  fix: boolean,
): Promise<CountDifference[]> => {
  const merged = await db.read<Omit<MergedTag, 'n'>>(
    `SELECT t.id, t.name, t.slug, m.id AS into_id, m.name AS into_name, m.slug AS into_slug
    FROM tags t JOIN tags m ON m.id = t.merged_into ORDER BY t.id`,
  );
  // Shards hold the links apart from the tags.
  const rows: MergedTag[] = [];
  for (const tag of merged) rows.push({ ...tag, n: await linksOf(db, kinds, tag.id) });
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
