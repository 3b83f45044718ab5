import { inParts } from '../../db/manager.ts';
import { IsNull } from 'typeorm';
import type { ContentKind } from '../kind.ts';
import { type Reader, RetryTransaction, type Transaction } from '../../db/connection.ts';
import { chunksOf, inList, partsOf } from '../../db/sql/in-list.ts';
import { storedIdToBytes } from '../../db/values.ts';
import type { ChargeQuota } from '../../auth/quotas.ts';
import { normalise } from '../../search/text.ts';
import { type TagRow, tagsIn } from '../entity.ts';
import { slugOf } from './slug.ts';

// SQL: lists use it to read the tags of their records, and each create finds or creates tags.

export type Tag = Pick<TagRow, 'id' | 'name' | 'slug'>;

const bySlug = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);

/** The slugs of names, each with its first spelling, in the order in which all transactions create tags. */
export const spellingsOf = (names: Iterable<string>): ReadonlyMap<string, string> => {
  const spellings = new Map<string, string>();
  for (const name of new Set(names)) {
    const slug = slugOf(name);
    if (!spellings.has(slug)) spellings.set(slug, name);
  }
  return new Map([...spellings].toSorted(bySlug));
};

/** The columns of a tag `t` found by its slug or, if it was merged into another one, of that tag `m`: see `MERGED`. */
export const SOUGHT_TAG = `t.slug AS sought, COALESCE(m.id, t.id) AS id, COALESCE(m.name, t.name) AS name,
  COALESCE(m.slug, t.slug) AS slug`;
export const MERGED = 'LEFT JOIN tags m ON m.id = t.merged_into';

/** A tag, and the slug by which it was found. */
export type SoughtTag = Tag & { sought: string };

/** The tags with these slugs, by slug. A merged tag is replaced by the tag it was merged into. */
export const findTags = async (reader: Reader, slugs: readonly string[]): Promise<Map<string, Tag>> => {
  const tags = new Map<string, Tag>();
  for (const part of partsOf(slugs)) {
    const { sql, parameters } = inList(part);
    const rows = await reader.read<SoughtTag>(
      `SELECT ${SOUGHT_TAG} FROM tags t ${MERGED} WHERE t.slug IN (${sql})`,
      parameters,
    );
    for (const { sought, id, name, slug } of rows) tags.set(sought, { id, name, slug });
  }
  return tags;
};

/** The tags that names resolve to. */
export interface SoughtTags {
  /** The result of `spellingsOf`. */
  spellings: ReadonlyMap<string, string>;
  /** The result of `findTags`. */
  found: Map<string, Tag>;
}

/** Finds the tags of names. */
export const seekTags = async (reader: Reader, names: Iterable<string>): Promise<SoughtTags> => {
  const spellings = spellingsOf(names);
  return { spellings, found: await findTags(reader, [...spellings.keys()]) };
};

/** The slugs of the tags of a record's names, in order and without duplicates: their own, unless they were merged. */
export const tagSlugs = ({ found }: SoughtTags, names: readonly string[]): string[] => [
  ...new Set(
    names.map((name) => {
      const slug = slugOf(name);
      return found.get(slug)?.slug ?? slug;
    }),
  ),
];

/** Tags by their own slugs. */
export const byOwnSlug = (tags: Iterable<Tag>): Map<string, Tag> => new Map(Array.from(tags, withSlug));

const withSlug = (tag: Tag): readonly [string, Tag] => [tag.slug, tag];

/** The tags with these ids, in any order; at most as many as one statement takes. */
export const readTags = (reader: Reader, ids: readonly number[]): Promise<Tag[]> => {
  const { sql, parameters } = inList(ids);
  return reader.read<Tag>(`SELECT id, name, slug FROM tags WHERE id IN (${sql})`, parameters);
};

/**
 * Creates the missing tags, each with the number of records in `counts`, and adds them to `found`. Slugs never change,
 * so existing tags need no lock: if one is deleted meanwhile, the row that refers to it fails. If several transactions
 * create the same tag at once, the first one wins; the others are retried, since waiting for it could deadlock.
 * `chargeQuota` counts the new tags.
 * @throws RetryTransaction when another transaction created one meanwhile, AppError QUOTA_EXCEEDED
 */
export const makeMissingTags = async (
  tx: Transaction,
  { countColumn }: ContentKind,
  { spellings, found }: SoughtTags,
  counts: ReadonlyMap<string, number> = new Map(),
  chargeQuota?: ChargeQuota,
): Promise<void> => {
  const missing = [...spellings].filter(([slug]) => !found.has(slug));
  if (missing.length === 0) return;
  await chargeQuota?.('tags', missing.length);
  for (const chunk of chunksOf(missing)) {
    const made = await tx.execute(
      `${tx.dialect.insertIgnore} INTO tags (slug, name, ${countColumn}) VALUES ${chunk.map(() => '(?, ?, ?)').join(', ')}`,
      chunk.flatMap(([slug, name]) => [slug, name, counts.get(slug) ?? 0]),
    );
    if (made < chunk.length) throw new RetryTransaction();
  }
  const slugs = missing.map(([slug]) => slug);
  for (const [slug, tag] of await findTags(tx, slugs)) found.set(slug, tag);
};

/** The tags of a record, in the author's order. */
export const tagsOf = async (reader: Reader, kind: ContentKind, recordId: string): Promise<Tag[]> =>
  reader.read<Tag>(
    `SELECT g.id, g.name, g.slug FROM ${kind.tagTable} t JOIN tags g ON g.id = t.tag_id
    WHERE t.${kind.foreignKey} = ? ORDER BY t.position`,
    [storedIdToBytes(recordId)],
  );

const LISTED_AT_ONCE = 1000;

/** All tags that meet a condition and were not merged into others, oldest first. */
export const tagsThat = async (reader: Reader, isSought: (tag: Tag) => boolean): Promise<TagRow[]> => {
  const found: TagRow[] = [];
  const parts = inParts(tagsIn(reader), { key: 'id', first: 0, take: LISTED_AT_ONCE }, (later) => ({
    where: { id: later(), mergedInto: IsNull() },
  }));
  for await (const tags of parts) found.push(...tags.filter(isSought));
  return found;
};

/**
 * All tags that were not merged into others, oldest first; with `search`, only tags with this text in the name or the
 * slug. The comparison ignores width, case and kana form.
 */
export const listTags = (reader: Reader, search = ''): Promise<TagRow[]> => {
  const sought = normalise(search);
  return tagsThat(reader, ({ name, slug }) => [name, slug].some((text) => normalise(text).includes(sought)));
};
