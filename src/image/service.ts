import type { Contract, InputOf } from '../../contract/index.ts';
import type { ContentRow } from '../content/entity.ts';
import { imageKind } from './kind.ts';
import { type ListPage, listRecords } from '../content/list.ts';
import { type Draft, joinTagIds, publish, recordSearchText, tagLinks } from '../content/publish.ts';
import { type ContentRecord, readRecord, readRecordsById } from '../content/records.ts';
import type { Context } from '../context.ts';
import type { Transaction } from '../db/connection.ts';
import { insertRows } from '../db/insert.ts';
import { updateRow } from '../db/update.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';
import { toggleFavorite, toggleReaction } from '../reaction/service.ts';
import { addToTagCounts, ensureTags, type Tag, tagsOf } from '../tag/service.ts';
import type { ImagePostColumns, ImagePostRow, ImagePostSummaryColumns } from './entity.ts';

type ImagePostInput = InputOf<Contract['image']['create']>;
type ListInput = InputOf<Contract['image']['list']>;
type UpdateInput = InputOf<Contract['image']['update']>;

export const imagePostDraft = ({ title, images, description, tagNames }: ImagePostInput): Draft => ({
  title,
  description: description ?? null,
  tagNames: tagNames ?? [],
  searchable: [],
  counters: [],
  columns: { images },
});

/** One page of image posts. @throws AppError PAGE_TOO_DEEP, CURSOR_INVALID */
export const listImagePosts = (
  { db, tags }: Context,
  input: ListInput,
  viewerId: string | undefined,
): Promise<ListPage<ImagePostSummaryColumns>> => listRecords(db, tags, imageKind, input, viewerId);

/** One image post; counts a view. @throws AppError IMAGE_POST_NOT_FOUND */
export const getImagePost = async (
  { db, tags, imageViews }: Context,
  id: string,
  viewerId: string | undefined,
): Promise<ContentRecord<ImagePostColumns>> => {
  const post = await readRecord<ImagePostColumns>(db, tags, imageKind, id, viewerId);
  imageViews.add(id, 1);
  return post;
};

/** Publishes image posts, all or none, and returns them in the order of the inputs. */
export const createImagePosts = (
  { db, tags, now }: Context,
  inputs: readonly ImagePostInput[],
  userId: string,
): Promise<ContentRecord<ImagePostColumns>[]> =>
  db.transaction(async (tx) => {
    const ids = await publish(tx, imageKind, userId, inputs.map(imagePostDraft), now());
    return readRecordsById(tx, tags, imageKind, { detail: true, viewerId: userId }, ids);
  });

/**
 * Changes the given members of an image post.
 * @throws AppError IMAGE_POST_NOT_FOUND, NOT_OWNER
 */
export const updateImagePost = (
  { db, tags, now }: Context,
  { id, tagNames, ...changes }: UpdateInput,
  userId: string,
): Promise<ContentRecord<ImagePostColumns>> =>
  db.transaction(async (tx) => {
    const title = await lockOwnPost(tx, id, userId);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    if (Object.keys(given).length > 0 || tagNames !== undefined) {
      const update: Partial<ContentRow & ImagePostRow> = { ...given, updatedAt: now() };
      if (changes.title !== undefined || tagNames !== undefined) {
        const current = tagNames === undefined ? await tagsOf(tx, imageKind, id) : await replaceTags(tx, id, tagNames);
        update.searchText = recordSearchText(changes.title ?? title, current);
        update.tagIds = joinTagIds(current);
      }
      await updateRow(tx, imageKind.entity, id, update);
    }
    return readRecord(tx, tags, imageKind, id, userId);
  });

/** Locks a post of the user and returns its title. */
const lockOwnPost = async (tx: Transaction, id: string, userId: string): Promise<string> => {
  const key = idToBytes(id);
  const [post] = key
    ? await tx.read<{ author_id: Bytes; title: string }>(
        `SELECT author_id, title FROM image_posts WHERE id = ? ${tx.dialect.forUpdate}`,
        [key],
      )
    : [];
  if (!post) throw new AppError(imageKind.notFound);
  if (idFromBytes(post.author_id) !== userId) throw new AppError('NOT_OWNER');
  return post.title;
};

/** Gives a post other tags, keeps the tags' counts right, and returns the tags. */
const replaceTags = async (tx: Transaction, id: string, tagNames: readonly string[]): Promise<Tag[]> => {
  const earlier = await tagsOf(tx, imageKind, id);
  const [wanted = []] = await ensureTags(tx, [tagNames]);
  const additions = new Map<number, number>();
  for (const tag of wanted) additions.set(tag.id, 1);
  for (const tag of earlier) additions.set(tag.id, (additions.get(tag.id) ?? 0) - 1);
  await addToTagCounts(tx, imageKind, new Map([...additions].filter(([, n]) => n !== 0)));
  await tx.execute(`DELETE FROM ${imageKind.tagTable} WHERE ${imageKind.foreignKey} = ?`, [storedIdToBytes(id)]);
  await insertRows(tx, imageKind.tagTable, tagLinks(id, wanted));
  return wanted;
};

/** @throws AppError IMAGE_POST_NOT_FOUND */
export const toggleImagePostFavorite = ({ db }: Context, id: string, userId: string) =>
  toggleFavorite(db, imageKind, id, userId);

/** @throws AppError IMAGE_POST_NOT_FOUND */
export const toggleImagePostReaction = ({ db }: Context, id: string, userId: string, type: 'like' | 'dislike') =>
  toggleReaction(db, imageKind, id, userId, type);
