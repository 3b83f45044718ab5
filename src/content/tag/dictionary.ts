import { LRUCache } from 'lru-cache';
import { atMost, expiringAfter } from '../../base/cache.ts';
import { performance } from '../../base/runtime.ts';
import type { ContentKind } from '../kind.ts';
import type { Reader } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { inList, partsOf } from '../../db/sql/in-list.ts';
import { listFromDb } from '../../db/values.ts';
import { MERGED, readTags } from './service.ts';

/** A tag as it is shown. */
export interface TagName {
  name: string;
  slug: string;
}

/** A tag to filter by. */
export interface KnownTag {
  id: number;
  /** The approximate number of the kind's records with it: used for plans, never in answers. */
  n: number;
}

const MAX_BYTES = 32 * 2 ** 20;
/** The overhead of an entry in bytes, in addition to its texts in UTF-16. */
const ENTRY_BYTES = 300;
const COUNTED_TAGS = 20_000;
const COUNT_BELIEVED_MS = 60_000;
/** How long the old name may be shown after an operator changed its spelling. */
const NAME_BELIEVED_MS = 60_000;

const keyOf = ({ table }: ContentKind, slug: string): string => `${table} ${slug}`;

const bytesOf = ({ name, slug }: TagName): number => ENTRY_BYTES + 2 * (name.length + slug.length);

/** Finds the tags for lists of ids. */
export interface TagNames {
  /** The tags of each list of ids, in its order. Lists have the form that records store: `3,1,2`. */
  namesOf: (reader: Reader, lists: readonly string[]) => Promise<TagName[][]>;
}

/** Reads the current names, which takes a query each time. */
export const currentTags: TagNames = {
  namesOf: async (reader, lists) => {
    const ids = lists.map(listFromDb);
    const found = new Map<number, TagName>();
    for (const part of partsOf([...new Set(ids.flat())])) {
      for (const { id, name, slug } of await readTags(reader, part)) found.set(id, { name, slug });
    }
    return ids.map((list) => list.map((id) => found.get(id)).filter((tag) => tag !== undefined));
  },
};

/** Caches names and slugs of tags by id. Slugs never change, and names hardly ever do. */
export class TagDictionary implements TagNames {
  readonly #db: Database;
  readonly #names: LRUCache<number, TagName>;
  /** The time of the last lookup. */
  #time = 0;
  /** The number of lookups that found a name in the cache, and of those that did not. */
  readonly lookUps = { hits: 0, misses: 0 };
  readonly #counted = new LRUCache<string, KnownTag>({ ...atMost(COUNTED_TAGS), ...expiringAfter(COUNT_BELIEVED_MS) });

  /** A changed name is shown after `believedMs` at the latest. */
  constructor(db: Database, believedMs = NAME_BELIEVED_MS) {
    this.#db = db;
    this.#names = new LRUCache<number, TagName>({
      maxSize: MAX_BYTES,
      sizeCalculation: bytesOf,
      ...expiringAfter(believedMs),
      // Reading the clock for each name would cost more than the lookup.
      perf: { now: () => this.#time },
    });
  }

  /** The tags of each list of ids, in its order. Lists have the form that records store: `3,1,2`. */
  async namesOf(reader: Reader, lists: readonly string[]): Promise<TagName[][]> {
    this.#time = performance.now();
    const missing = new Set<number>();
    const tags = lists.map((list) => {
      if (list === '') return [];
      return list.split(',').map((text) => {
        const id = Number(text);
        const tag = this.#names.get(id);
        if (tag) this.lookUps.hits += 1;
        else {
          this.lookUps.misses += 1;
          missing.add(id);
        }
        return tag ?? id;
      });
    });
    if (missing.size === 0) return tags as TagName[][];
    const found = await this.#read(reader, [...missing]);
    return tags.map((list) =>
      list.map((tag) => (typeof tag === 'number' ? found.get(tag) : tag)).filter((tag) => tag !== undefined),
    );
  }

  /**
   * The tags with these slugs, or the tags that these were merged into; tags with the fewest records of a kind first.
   * Returns undefined if one does not exist.
   */
  async withSlugs(kind: ContentKind, slugs: readonly string[]): Promise<KnownTag[] | undefined> {
    const tags = new Map<string, KnownTag>();
    for (const slug of slugs) {
      const tag = this.#counted.get(keyOf(kind, slug));
      if (tag) tags.set(slug, tag);
    }
    const missing = slugs.filter((slug) => !tags.has(slug));
    if (missing.length > 0) {
      for (const [slug, tag] of await this.#count(kind, missing)) tags.set(slug, tag);
    }
    return tags.size < slugs.length ? undefined : [...tags.values()].toSorted((a, b) => a.n - b.n);
  }

  /**
   * Whether a cached tag has a new id: it was deleted, since no record had it, and created again. The tags are then
   * read again. Tags that are not cached were just read.
   */
  async hasChanged(kind: ContentKind, slugs: readonly string[]): Promise<boolean> {
    const known = new Map(slugs.map((slug) => [slug, this.#counted.get(keyOf(kind, slug))?.id]));
    if ([...known.values()].includes(undefined)) return false;
    for (const slug of slugs) this.#counted.delete(keyOf(kind, slug));
    const now = await this.#count(kind, slugs);
    return slugs.some((slug) => now.get(slug)?.id !== known.get(slug));
  }

  /** Reads tags by their slugs, and caches their approximate numbers of records. SQL: lists by tags wait for it. */
  async #count(kind: ContentKind, slugs: readonly string[]): Promise<Map<string, KnownTag>> {
    const tags = new Map<string, KnownTag>();
    const { sql, parameters } = inList(slugs);
    const rows = await this.#db.read<KnownTag & { slug: string }>(
      `SELECT t.slug, COALESCE(m.id, t.id) AS id, COALESCE(m.${kind.countColumn}, t.${kind.countColumn}) AS n
      FROM tags t ${MERGED} WHERE t.slug IN (${sql})`,
      parameters,
    );
    for (const { id, slug, n } of rows) {
      // MySQL and MariaDB treat texts that differ only in trailing spaces as equal.
      if (!slugs.includes(slug)) continue;
      tags.set(slug, { id, n });
      this.#counted.set(keyOf(kind, slug), { id, n });
    }
    return tags;
  }

  async #read(reader: Reader, ids: readonly number[]): Promise<Map<number, TagName>> {
    const rows = await readTags(reader, ids);
    const found = new Map<number, TagName>();
    for (const { id, name, slug } of rows) {
      found.set(id, { name, slug });
      // A transaction may read its own rows, which a rollback undoes.
      if (!('execute' in reader)) this.#names.set(id, { name, slug });
    }
    return found;
  }
}
