import { In } from 'typeorm';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../../db/values.ts';
import { recordsIn } from '../entity.ts';
import type { ContentKind } from '../kind.ts';
import { tagsIn } from '../tag/entity.ts';
import { findTagged } from '../write/tag-names.ts';

const READ_AT_ONCE = 1000;

/** Records with a tag whose titles begin like this. Both are compared byte by byte. */
export interface Marking {
  tagSlug: string;
  titleStart: string;
}

/** The ids of marked records of a kind, in their order, part by part. */
export async function* findMarked(
  db: Database,
  kind: ContentKind,
  { tagSlug, titleStart }: Marking,
): AsyncGenerator<Bytes[]> {
  const tags = await tagsIn(db).findBy({ slug: tagSlug });
  // To MySQL and MariaDB, texts that differ in spaces at their end are equal.
  const tag = tags.find(({ slug }) => slug === tagSlug);
  if (!tag) return;
  for await (const ids of findTagged(db, kind, tag.id)) {
    const rows = await recordsIn(db, kind).find({
      select: { id: true, title: true },
      where: { id: In(ids.map(idFromBytes)) },
      order: { id: 'ASC' },
    });
    yield rows.filter(({ title }) => title.startsWith(titleStart)).map(({ id }) => storedIdToBytes(id));
  }
}

/**
 * The ids of the records of a kind by an author, part by part; those that went meanwhile do not matter. SQL: it forces the
 * index of authors.
 */
export async function* findByAuthor(db: Database, { table }: ContentKind, authorId: Bytes): AsyncGenerator<Bytes[]> {
  for (let after = { createdAt: '', id: Buffer.alloc(0) as Bytes }; ;) {
    const rows = await db.read<{ id: Bytes; created_at: string }>(
      `SELECT id, created_at FROM ${table} ${db.dialect.useIndex(`${table}_author`)}
      WHERE author_id = ? ${after.createdAt === '' ? '' : 'AND (created_at > ? OR created_at = ? AND id > ?)'}
      ORDER BY created_at, id LIMIT ${READ_AT_ONCE}`,
      [authorId, ...(after.createdAt === '' ? [] : [after.createdAt, after.createdAt, after.id])],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = { createdAt: last.created_at, id: last.id };
    yield rows.map(({ id }) => id);
  }
}
