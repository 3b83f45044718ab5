import { type Actor, record } from '../../auth/audit/log.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import type { ContentKind } from '../kind.ts';
import { type TagRow, tagsIn } from '../entity.ts';
import { findTags, makeMissingTags, type Tag, tagsThat } from '../tag/service.ts';
import { slugOf } from '../tag/slug.ts';

/** Gives a tag a slug that no name has: one that begins with a hyphen. */
export const vacate = (tx: Transaction, { id }: Tag): Promise<unknown> => tagsIn(tx).update({ id }, { slug: `-${id}` });

/** Has a tag lead to another one from now on, with the tags that were merged into it before. */
export const redirect = async (
  tx: Transaction,
  [from, into]: readonly [Tag, Tag],
  by: Actor,
  action = 'tags merge',
): Promise<void> => {
  await tagsIn(tx).update([{ id: from.id }, { mergedInto: from.id }], { mergedInto: into.id });
  await record(tx, by, {
    action,
    subject: `tag ${from.slug}`,
    before: { name: from.name, slug: from.slug },
    after: { mergedInto: { name: into.name, slug: into.slug } },
  });
};

const isOutdated = ({ name, slug }: Tag): boolean => slugOf(name) !== slug;

/** The tags whose slug is not that of their name, oldest first: earlier versions made other slugs. */
export const findOutdatedSlugs = (db: Database): Promise<Tag[]> => tagsThat(db, isOutdated);

/** Frees a slug that another tag is to have, from a tag that is outdated itself or was merged into that one. */
const freeSlug = async (tx: Transaction, holder: TagRow | undefined, { id }: Tag): Promise<void> => {
  if (!holder) return;
  const { mergedInto: into } = holder;
  if (into === id || (into === null && isOutdated(holder))) await vacate(tx, holder);
};

const renew = async (tx: Transaction, kind: ContentKind, { id }: Tag, slug: string, by: Actor): Promise<void> => {
  const rows = await tagsIn(tx).find({ where: [{ id }, { slug }], order: { id: 'ASC' }, ...tx.dialect.lockingRows });
  const tag = rows.find((row) => row.id === id);
  if (!tag || tag.mergedInto !== null || slugOf(tag.name) !== slug || tag.slug === slug) return;
  // To MySQL and MariaDB, texts that differ in spaces at their end are equal.
  await freeSlug(
    tx,
    rows.find((row) => row.slug === slug),
    tag,
  );
  const found = await findTags(tx, [slug]);
  await makeMissingTags(tx, kind, { spellings: new Map([[slug, tag.name]]), found });
  const into = found.get(slug)!;
  await redirect(tx, [tag, into], by);
  if (slugOf(tag.slug) === tag.slug) {
    // Another name has the slug: `c`, which C++ had, is that of C.
    await vacate(tx, tag);
    return;
  }
  await recordEvents(tx, [{ type: 'tag.merged', record: { slug: tag.slug } }], by.now);
};

/**
 * Merges each of these tags into the one with the slug of its name, made where it is missing, so that filters by the old slug
 * find its records still. An old slug that another name has is freed for that one. The records have to be moved
 * afterwards: see `moveLeftBehind`. Safe beside a running service, and to be run again.
 */
export const renewSlugs = async (
  db: Database,
  [kind]: readonly [ContentKind, ...ContentKind[]],
  tags: readonly Tag[],
  by: Actor,
): Promise<void> => {
  for (const tag of tags) await db.transaction((tx) => renew(tx, kind, tag, slugOf(tag.name), by));
};
