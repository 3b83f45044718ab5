import { systemActor } from '../../auth/audit/log.ts';
import type { ContentKind } from '../../content/kind.ts';
import { findLeftBehind, moveLeftBehind } from '../../content/write/tag-merge.ts';
import { findOutdatedSlugs, renewSlugs } from '../../content/write/tag-slugs.ts';
import { slugOf } from '../../content/tag/slug.ts';
import type { Database } from '../../db/database.ts';
import type { CountDifference } from './finding.ts';

/**
 * Finds tags whose slug from an earlier version differs from the slug of this one, and replaces them by tags with the
 * right slugs if asked to. `checkMergedTags` moves their records.
 */
export const checkTagSlugs = async (
  db: Database,
  kinds: readonly [ContentKind, ...ContentKind[]],
  fix: boolean,
): Promise<CountDifference[]> => {
  const outdated = await findOutdatedSlugs(db);
  if (fix) await renewSlugs(db, kinds, outdated, systemActor());
  return outdated.map(({ id, name, slug }) => ({
    field: 'tags.slug',
    id: String(id),
    stored: slug,
    actual: slugOf(name),
  }));
};

/** Finds tags that still have records although they were merged, and moves these records if asked to. */
export const checkMergedTags = async (
  db: Database,
  kinds: readonly ContentKind[],
  fix: boolean,
): Promise<CountDifference[]> => {
  const found = await (fix ? moveLeftBehind : findLeftBehind)(db, kinds);
  return found.map(({ tags: [{ id }], records }) => ({
    field: 'tags.merged_into',
    id: String(id),
    stored: records,
    actual: 0,
  }));
};
