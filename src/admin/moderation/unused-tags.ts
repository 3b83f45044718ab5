import { In, IsNull, MoreThan, Not } from 'typeorm';
import { type Actor, record } from '../../auth/audit/log.ts';
import { listFromDb, NIL_ID } from '../../db/values.ts';
import type { Database } from '../../db/database.ts';
import type { Transaction } from '../../db/connection.ts';
import { tagLinksIn, type TagRow, tagsIn } from '../../content/entity.ts';
import { hiddenParts } from './hidden/read.ts';
import { snapshotOf } from './hidden/snapshot.ts';
import { publishedKinds } from './kinds.ts';

const READ_AT_ONCE = 500;
/** A small number, since calls that publish records with one of these tags wait for the locks. */
const DELETED_AT_ONCE = 100;

type TagId = Pick<TagRow, 'id'>;

const WITHOUT_RECORDS = { gameCount: 0, imagePostCount: 0 };
const isMerged = ({ mergedInto }: TagRow): boolean => mergedInto !== null;

/** The tags of hidden records, except an author's records, and the tags that such tags were merged into. */
export const usedByHidden = async (db: Database, exceptAuthor = NIL_ID): Promise<Set<number>> => {
  const used = new Set<number>();
  const hidden = hiddenParts(db, () => ({ authorId: Not(exceptAuthor) }), { recordId: true, record: true });
  for await (const rows of hidden) {
    for (const { record: kept } of rows) for (const id of listFromDb(snapshotOf(kept).tagIds)) used.add(id);
  }
  const merged = used.size === 0 ? [] : await readMerged(db);
  for (const { id, mergedInto } of merged) if (used.has(id)) used.add(mergedInto);
  return used;
};

/** The tags that were merged into others. */
export const readMerged = (db: Database) =>
  tagsIn(db).find({ select: { id: true, mergedInto: true }, where: { mergedInto: Not(IsNull()) } }) as Promise<
    { id: number; mergedInto: number }[]
  >;

/** Conditions on unused tags. */
interface UnusedTags {
  /** Whether a merged tag counts as unused although the tag that it was merged into has records. */
  merged?: boolean;
  /** An author whose hidden records do not count. */
  exceptAuthor?: string;
}

/**
 * The tags that no record has, hidden or not. A merged tag is unused if the tag that it was merged into is unused.
 * Merged tags come first.
 */
export const findUnusedTags = async (
  db: Database,
  { merged = false, exceptAuthor }: UnusedTags = {},
): Promise<TagRow[]> => {
  const used = await usedByHidden(db, exceptAuthor);
  const found: TagRow[] = [];
  for (let after = 0; ;) {
    const query = tagsIn(db)
      .createQueryBuilder('t')
      .leftJoin('Tag', 'm', 'm.id = t.mergedInto')
      .where({ id: MoreThan(after), ...WITHOUT_RECORDS });
    if (!merged) query.andWhere('(m.id IS NULL OR m.gameCount = 0 AND m.imagePostCount = 0)');
    const rows = await query.orderBy('t.id').limit(READ_AT_ONCE).getMany();
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
    found.push(
      ...rows.filter(({ id, mergedInto: into }) => !used.has(id) && (merged || into === null || !used.has(into))),
    );
  }
  return [...found.filter(isMerged), ...found.filter((tag) => !isMerged(tag))];
};

/** Locks these tags, and returns the tags that no record and no other tag refers to. */
const lockUnused = async (tx: Transaction, tags: readonly TagId[]): Promise<TagRow[]> => {
  const locked = await tagsIn(tx).find({
    where: { id: In(tags.map(({ id }) => id)), ...WITHOUT_RECORDS },
    order: { id: 'ASC' },
    ...tx.dialect.lockingRows,
  });
  if (locked.length === 0) return [];
  const ids = locked.map(({ id }) => id);
  const used = new Set<number>();
  // The links decide, since a counter may have drifted.
  for (const kind of publishedKinds) {
    const links = await tagLinksIn(tx, kind).find({ select: { tagId: true }, where: { tagId: In(ids) } });
    for (const { tagId } of links) used.add(tagId);
  }
  // A tag that was merged into one of these is deleted with it, or keeps it.
  const going = new Set(ids.filter((id) => !used.has(id)));
  for (const { id, mergedInto } of await tagsIn(tx).findBy({ mergedInto: In(ids) })) {
    if (mergedInto !== null && !going.has(id)) used.add(mergedInto);
  }
  return locked.filter(({ id }) => !used.has(id));
};

/**
 * Deletes the given tags that are still unused. With an actor, an entry in the audit log names them. Safe while the
 * service runs. @returns the deleted tags
 */
export const deleteUnusedTags = async (db: Database, tags: readonly TagId[], by?: Actor): Promise<TagRow[]> => {
  const deleted: TagRow[] = [];
  for (let start = 0; start < tags.length; start += DELETED_AT_ONCE) {
    const some = tags.slice(start, start + DELETED_AT_ONCE);
    const gone = await db.transaction(async (tx) => {
      const unused = await lockUnused(tx, some);
      if (unused.length === 0) return [];
      await tagsIn(tx).delete({ id: In(unused.map(({ id }) => id)) });
      await record(tx, by, {
        action: 'tags prune',
        subject: `tags (${unused.length})`,
        before: { tags: unused.map(({ slug, name }) => ({ slug, name })) },
      });
      return unused;
    });
    deleted.push(...gone);
  }
  return deleted;
};
