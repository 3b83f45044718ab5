import { type Actor, record } from '../../auth/audit/log.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import type { ContentKind } from '../kind.ts';
import { type TagRow, tagsIn } from '../entity.ts';
import { findTags, makeMissingTags, type Tag, tagsThat } from '../tag/service.ts';
import { slugOf } from '../tag/slug.ts';

/** Gives a tag a slug that no name has: one that starts with a hyphen. */
export const vacate = (tx: Transaction, { id }: Tag): Promise<unknown> => tagsIn(tx).update({ id }, { slug: `-${id}` });

/** Redirects a tag, and all tags that were merged into it, to another one from now on. */
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

/** The tags whose slug does not match their name, oldest first: earlier versions computed slugs differently. */
export const findOutdatedSlugs = (db: Database): Promise<Tag[]> => tagsThat(db, isOutdated);

/** Frees a slug for a tag, if its current holder is itself outdated or was merged into that tag. */
const freeSlug = async (tx: Transaction, holder: TagRow | undefined, { id }: Tag): Promise<void> => {
  if (!holder) return;
  const { mergedInto: into } = holder;
  if (into === id || (into === null && isOutdated(holder))) await vacate(tx, holder);
};

const renew = async (tx: Transaction, kind: ContentKind, { id }: Tag, slug: string, by: Actor): Promise<void> => {
  const rows = await tagsIn(tx).find({ where: [{ id }, { slug }], order: { id: 'ASC' }, ...tx.dialect.lockingRows });
  const tag = rows.find((row) => row.id === id);
  if (!tag || tag.mergedInto !== null || slugOf(tag.name) !== slug || tag.slug === slug) return;
  // MySQL and MariaDB treat texts that differ only in trailing spaces as equal.
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
    // The slug belongs to another name: `c`, formerly the slug of C++, is that of C.
    await vacate(tx, tag);
    return;
  }
  await recordEvents(tx, [{ type: 'tag.merged', record: { slug: tag.slug } }], by.now);
};

/**
 * Merges each of these tags into the tag with the slug of its name, which is created if missing, so that filters by the
 * old slug still find its records. An old slug that belongs to another name is freed for that name. The records must be
 * moved afterwards: see `moveLeftBehind`. Safe beside a running service, and idempotent.
 */
export const renewSlugs = async (
  db: Database,
  [kind]: readonly [ContentKind, ...ContentKind[]],
  tags: readonly Tag[],
  by: Actor,
): Promise<void> => {
  for (const tag of tags) await db.transaction((tx) => renew(tx, kind, tag, slugOf(tag.name), by));
};
