import { isDeepStrictEqual } from 'node:util';
import type { Contract, InputOf } from '../../contract/index.ts';
import { tagLinksIn } from '../content/entity.ts';
import { countTags, type Draft, insertTagLinks, joinTagIds, recordSearchText } from '../content/write/publish.ts';
import { type ContentRecord, readRecord } from '../content/records.ts';
import type { ContentContext } from '../content/service.ts';
import type { Transaction } from '../db/connection.ts';
import { incrementAll } from '../db/sql/increment.ts';
import { updateRow } from '../db/sql/write-rows.ts';
import { isId, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { showing } from '../auth/idempotency/call.ts';
import { quotaChecker, type Quota } from '../auth/quotas.ts';
import type { Caller } from '../auth/verifier.ts';
import { recordEvents } from '../event/outbox/record.ts';
import type { Call } from '../auth/procedure.ts';
import { enqueueDocuments, keyOf, labelsOf } from '../search/document.ts';
import { byOwnSlug, makeMissingTags, seekTags, type Tag, tagSlugs, tagsOf } from '../content/tag/service.ts';
import {
  imageKind,
  imageMembers,
  type ImagePostRow,
  imagePostsIn,
  type StoredImagePost,
  type StoredImagePostSummary,
} from './kind.ts';

/** The dependencies of the router `image`. */
export type ImageContext = ContentContext<StoredImagePostSummary, StoredImagePost>;

type ImagePostInput = InputOf<Contract['image']['create']>;
type UpdateInput = InputOf<Contract['image']['update']>;

export const imagePostDraft = ({ title, images, description, tagNames }: ImagePostInput): Draft<StoredImagePost> => ({
  title,
  tagNames: tagNames ?? [],
  searchable: [],
  counters: [],
  own: Object.assign(imageMembers(images), { description: description ?? null }),
});

/**
 * Changes the given members of an image post; `view` builds the output from it.
 * @throws AppError IMAGE_POST_NOT_FOUND, NOT_OWNER, QUOTA_EXCEEDED
 */
export const updateImagePost = <Output extends object>(
  { writes, quotaOf, tags, now }: ImageContext,
  { id, tagNames, images, ...changes }: UpdateInput,
  call: Call<Caller>,
  view: (post: ContentRecord<StoredImagePost>) => Output,
): Promise<Output> => {
  const { userId } = call.caller;
  const look = async (tx: Transaction): Promise<Output> => view(await readRecord(tx, tags, imageKind, id, userId));
  const change = async (tx: Transaction): Promise<Output> => {
    const post = await lockOwnPost(tx, id, userId);
    const given: Partial<ImagePostRow> = Object.fromEntries(
      Object.entries(Object.assign(changes, images && imageMembers(images))).filter(
        ([name, value]) => value !== undefined && value !== post[name as keyof ImagePostRow],
      ),
    );
    const replaced = tagNames && (await replaceTags(tx, id, tagNames, quotaOf(call.caller)));
    if (Object.keys(given).length > 0 || replaced) {
      const at = now();
      const update: Partial<ImagePostRow> = { ...given, updatedAt: at };
      if (given.title !== undefined || replaced) {
        const current = replaced ?? (await tagsOf(tx, imageKind, id));
        update.searchText = recordSearchText(given.title ?? post.title, current);
        update.tagIds = joinTagIds(current);
        const key = keyOf(post.createdAt.getTime(), storedIdToBytes(id));
        const labels = labelsOf(
          null,
          current.map((tag) => tag.id),
        );
        await enqueueDocuments(tx, imageKind.search, [{ key, text: update.searchText, labels }], true);
      }
      await updateRow(tx, imageKind.entity, id, update);
      const event = { type: 'image.updated', record: storedIdToBytes(id), actor: storedIdToBytes(userId) } as const;
      await recordEvents(tx, [event], at);
    }
    return look(tx);
  };
  const { table, notFound } = imageKind;
  const idempotent = showing(call.idempotent, { table, idsIn: () => [id], gone: notFound });
  return writes.do({ deadline: call.deadline, idempotent }, change, { look });
};

/** Locks a post of the user. */
const lockOwnPost = async (tx: Transaction, id: string, userId: string): Promise<ImagePostRow> => {
  const post = isId(id) && (await imagePostsIn(tx).findOne({ where: { id }, ...tx.dialect.lockingRows }));
  if (!post) throw new AppError(imageKind.notFound);
  if (post.authorId !== userId) throw new AppError('NOT_OWNER');
  return post;
};

/** Replaces the tags of a post, updates the tags' counts, and returns the tags; undefined if nothing changes. */
const replaceTags = async (
  tx: Transaction,
  id: string,
  tagNames: readonly string[],
  quota: Quota | undefined,
): Promise<Tag[] | undefined> => {
  const earlier = await tagsOf(tx, imageKind, id);
  const sought = await seekTags(tx, tagNames);
  const slugs = tagSlugs(sought, tagNames);
  const present = earlier.map(({ slug }) => slug);
  if (isDeepStrictEqual(slugs, present)) return undefined;
  const counts = new Map(slugs.map((slug) => [slug, 1]));
  for (const { slug } of earlier) counts.set(slug, (counts.get(slug) ?? 0) - 1);
  // Unchanged tags are locked too: see the lock order in content/write/publish.ts.
  const existing = byOwnSlug([...sought.found.values(), ...earlier]);
  await incrementAll(tx, countTags(imageKind, existing, counts));
  await makeMissingTags(tx, imageKind, sought, counts, quotaChecker(tx, quota));
  const bySlug = byOwnSlug(sought.found.values());
  const wanted = slugs.map((slug) => bySlug.get(slug) as Tag);
  if (earlier.length > 0) await tagLinksIn(tx, imageKind).delete({ recordId: id });
  await insertTagLinks(tx, imageKind, { row: { id: storedIdToBytes(id) }, tags: wanted });
  return wanted;
};
