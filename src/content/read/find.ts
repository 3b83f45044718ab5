import { In } from 'typeorm';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, storedIdToBytes, timeToDb } from '../../db/values.ts';
import { recordsIn, tagsIn } from '../entity.ts';
import type { ContentKind } from '../kind.ts';
import { findTagged } from '../write/tag-names.ts';

const READ_AT_ONCE = 1000;
const [FIRST, LAST] = [new Date(0), new Date('9999-12-31T23:59:59.999Z')];

/** Records with a tag whose titles begin with a text. Both are compared byte by byte. */
export interface Marking {
  tagSlug: string;
  titleStart: string;
}

/** The ids of marked records of a kind, in order, in batches. */
export async function* findMarked(
  db: Database,
  kind: ContentKind,
  { tagSlug, titleStart }: Marking,
): AsyncGenerator<Bytes[]> {
  const tags = await tagsIn(db).findBy({ slug: tagSlug });
  // MySQL and MariaDB treat texts that differ only in trailing spaces as equal.
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

/** A selection of the records of a kind; all by default. */
export interface RecordRange {
  authorId?: Bytes | undefined;
  /** The earliest instant of publication. */
  since?: Date | undefined;
  /** The end of the range, exclusive. */
  until?: Date | undefined;
}

/**
 * The ids of records of a kind, in the order of publication, in batches; records may be deleted meanwhile. SQL: it
 * forces the index.
 */
export async function* findRange(
  db: Database,
  { table }: ContentKind,
  { authorId, since = FIRST, until = LAST }: RecordRange,
): AsyncGenerator<Bytes[]> {
  const index = db.dialect.useIndex(`${table}_${authorId ? 'author' : 'latest'}`);
  for (let [from, after]: [string, Bytes] = [timeToDb(since), Buffer.alloc(0)]; ;) {
    const rows = await db.read<{ id: Bytes; created_at: string }>(
      `SELECT id, created_at FROM ${table} ${index} WHERE ${authorId ? 'author_id = ? AND ' : ''}created_at >= ?
      AND created_at < ? AND (created_at > ? OR id > ?) ORDER BY created_at, id LIMIT ${READ_AT_ONCE}`,
      [...(authorId ? [authorId] : []), from, timeToDb(until), from, after],
    );
    const last = rows.at(-1);
    if (!last) return;
    [from, after] = [last.created_at, last.id];
    yield rows.map(({ id }) => id);
  }
}
