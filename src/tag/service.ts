import { LRUCache } from 'lru-cache';
import type { ContentKind } from '../content/kind.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { increment } from '../db/increment.ts';
import { chunksOf, inList } from '../db/in-list.ts';
import { storedIdToBytes } from '../db/values.ts';
import { slugOf } from './slug.ts';

export interface Tag {
  id: number;
  name: string;
  slug: string;
}

const REMEMBERED_TAGS = 100_000;

/** Names and slugs of tags by id. They never change, so what was read once is remembered. */
export class TagDictionary {
  readonly #db: Database;
  readonly #tags = new LRUCache<number, Tag>({ max: REMEMBERED_TAGS });

  constructor(db: Database) {
    this.#db = db;
  }

  /** The tags with these ids. */
  async load(reader: Reader, ids: Iterable<number>): Promise<ReadonlyMap<number, Tag>> {
    const found = new Map<number, Tag>();
    const missing: number[] = [];
    for (const id of new Set(ids)) {
      const tag = this.#tags.get(id);
      if (tag) found.set(id, tag);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const { sql, parameters } = inList(missing);
      const rows = await reader.read<Tag>(`SELECT id, name, slug FROM tags WHERE id IN (${sql})`, parameters);
      for (const { id, name, slug } of rows) {
        found.set(id, { id, name, slug });
        // What a transaction reads may be its own and be undone.
        if (reader === this.#db) this.#tags.set(id, { id, name, slug });
      }
    }
    return found;
  }
}

/** The tags of each list of names, in its order and without duplicates. Tags that do not exist are made. */
export const ensureTags = async (tx: Transaction, lists: readonly (readonly string[])[]): Promise<Tag[][]> => {
  const names = new Map<string, string>();
  for (const name of lists.flat()) {
    const slug = slugOf(name);
    if (!names.has(slug)) names.set(slug, name);
  }
  // In the order of their slugs, so that transactions that make the same tags do not lock crosswise.
  const slugs = [...names.keys()].toSorted();
  const tags = await findTags(tx, slugs);
  const missing = slugs.filter((slug) => !tags.has(slug));
  if (missing.length > 0) {
    for (const chunk of chunksOf(missing)) {
      await tx.execute(
        `${tx.dialect.insertIgnore} INTO tags (slug, name) VALUES ${chunk.map(() => '(?, ?)').join(', ')}`,
        chunk.flatMap((slug) => [slug, names.get(slug) ?? slug]),
      );
    }
    for (const [slug, tag] of await findTags(tx, missing)) tags.set(slug, tag);
  }
  return lists.map((list) => [...new Set(list.map(slugOf))].map((slug) => tags.get(slug) as Tag));
};

const findTags = async (reader: Reader, slugs: readonly string[]): Promise<Map<string, Tag>> => {
  if (slugs.length === 0) return new Map();
  const { sql, parameters } = inList(slugs);
  const rows = await reader.read<Tag>(`SELECT id, name, slug FROM tags WHERE slug IN (${sql})`, parameters);
  return new Map(rows.map((row) => [row.slug, { id: row.id, name: row.name, slug: row.slug }]));
};

/** Adds to the tags' counts of records of a kind. */
export const addToTagCounts = (
  tx: Transaction,
  { countColumn }: ContentKind,
  additions: ReadonlyMap<number, number>,
): Promise<void> => increment(tx, 'tags', countColumn, additions);

/** The tags of a record, in the author's order. */
export const tagsOf = async (reader: Reader, kind: ContentKind, recordId: string): Promise<Tag[]> =>
  reader.read<Tag>(
    `SELECT g.id, g.name, g.slug FROM ${kind.tagTable} t JOIN tags g ON g.id = t.tag_id
    WHERE t.${kind.foreignKey} = ? ORDER BY t.position`,
    [storedIdToBytes(recordId)],
  );
