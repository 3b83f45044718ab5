import { type Actor, record } from '../../auth/audit/log.ts';
import { type Bytes, idFromBytes, listFromDb } from '../../db/values.ts';
import type { Database } from '../../db/database.ts';
import type { Transaction } from '../../db/connection.ts';
import { inList } from '../../db/sql/in-list.ts';
import type { Tag } from '../../content/tag/service.ts';
import { readHiddenTagIds } from './hidden/read.ts';
import { removableKinds } from './kinds.ts';

const READ_AT_ONCE = 500;
/** Few at once, since calls that publish records with one of these tags wait for the locks. */
const DELETED_AT_ONCE = 100;

interface TagColumns extends Tag {
  merged_into: number | null;
}

const countColumns = removableKinds.map(({ kind }) => kind.countColumn);
const isUnused = (tag: string): string => countColumns.map((column) => `${tag}.${column} = 0`).join(' AND ');

/** The tags that hidden records have, but those of an author, and the tags that such tags were merged into. */
export const usedByHidden = async (db: Database, exceptAuthor?: Bytes): Promise<Set<number>> => {
  const used = new Set<number>();
  for await (const lists of readHiddenTagIds(db, exceptAuthor && idFromBytes(exceptAuthor)))
    for (const list of lists) for (const id of listFromDb(list)) used.add(id);
  const merged = used.size === 0 ? [] : await readMerged(db);
  for (const { id, merged_into: into } of merged) if (used.has(id)) used.add(into);
  return used;
};

const readMerged = (db: Database): Promise<{ id: number; merged_into: number }[]> =>
  db.read('SELECT id, merged_into FROM tags WHERE merged_into IS NOT NULL');

/** The tags that are sought. */
interface UnusedTags {
  /** Whether a tag that was merged into another tag counts as unused though that one has records. */
  merged?: boolean;
  /** An author whose hidden records do not count. */
  exceptAuthor?: Bytes;
}

/**
 * The tags that no record has, hidden ones included; one that was merged into another tag is unused when that one is. The
 * merged ones come first.
 */
export const findUnusedTags = async (
  db: Database,
  { merged = false, exceptAuthor }: UnusedTags = {},
): Promise<Tag[]> => {
  const used = await usedByHidden(db, exceptAuthor);
  const goes = merged ? '' : `AND (m.id IS NULL OR ${isUnused('m')})`;
  const found: TagColumns[] = [];
  for (let after = 0; ;) {
    const rows = await db.read<TagColumns>(
      `SELECT t.id, t.slug, t.name, t.merged_into FROM tags t LEFT JOIN tags m ON m.id = t.merged_into
      WHERE t.id > ? AND ${isUnused('t')} ${goes} ORDER BY t.id LIMIT ${READ_AT_ONCE}`,
      [after],
    );
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
    found.push(
      ...rows.filter(({ id, merged_into: into }) => !used.has(id) && (merged || into === null || !used.has(into))),
    );
  }
  const isMerged = ({ merged_into: into }: TagColumns): boolean => into !== null;
  return [...found.filter(isMerged), ...found.filter((tag) => !isMerged(tag))];
};

/** Locks those of some tags that no record and no other tag refers to. */
const lockUnused = async (tx: Transaction, tags: readonly Tag[]): Promise<Tag[]> => {
  const among = inList(tags.map(({ id }) => id));
  const locked = await tx.read<Tag>(
    `SELECT id, slug, name FROM tags t WHERE id IN (${among.sql}) AND ${isUnused('t')} ORDER BY id ${tx.dialect.forUpdate}`,
    among.parameters,
  );
  if (locked.length === 0) return [];
  const { sql, parameters } = inList(locked.map(({ id }) => id));
  const used = new Set<number>();
  // A counter may have drifted.
  for (const { kind } of removableKinds) {
    const links = await tx.read<{ id: number }>(
      `SELECT tag_id AS id FROM ${kind.tagTable} WHERE tag_id IN (${sql})`,
      parameters,
    );
    for (const { id } of links) used.add(id);
  }
  // A tag that was merged into one of them goes with it, or keeps it.
  const going = new Set(locked.map(({ id }) => id).filter((id) => !used.has(id)));
  const merged = await tx.read<{ id: number; merged_into: number }>(
    `SELECT id, merged_into FROM tags WHERE merged_into IN (${sql})`,
    parameters,
  );
  for (const { id, merged_into: into } of merged) if (!going.has(id)) used.add(into);
  return locked.filter(({ id }) => !used.has(id));
};

/**
 * Deletes those of some tags that are unused still. With an actor, an entry in the audit log names them. Safe beside a
 * running service. @returns the deleted tags
 */
export const deleteUnusedTags = async (db: Database, tags: readonly Tag[], by?: Actor): Promise<Tag[]> => {
  const deleted: Tag[] = [];
  for (let start = 0; start < tags.length; start += DELETED_AT_ONCE) {
    const some = tags.slice(start, start + DELETED_AT_ONCE);
    const gone = await db.transaction(async (tx) => {
      const unused = await lockUnused(tx, some);
      if (unused.length === 0) return [];
      const { sql, parameters } = inList(unused.map(({ id }) => id));
      await tx.execute(`DELETE FROM tags WHERE id IN (${sql})`, parameters);
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
