import { LRUCache } from 'lru-cache';
import type { Parameter, Reader } from '../db/connection.ts';
import { inList, padded } from '../db/sql/in-list.ts';
import type { Bytes } from '../db/values.ts';
import { Block } from './block.ts';
import { KEY_BYTES, type SearchKind } from './document.ts';
import {
  CHUNK_KEYS,
  copyOf,
  keyAt,
  lowerBound,
  readRemoved,
  readSegments,
  readTexts,
  type Segment,
  splitLabels,
  Texts,
} from './segment.ts';

const CACHE_BYTES = 64 * 2 ** 20;
/** The overhead of a cache entry, in bytes. */
const ENTRY_BYTES = 200;
const CHUNKS_AT_ONCE = 128;
const GRAMS_AT_ONCE = 64;

/** The state of the index at one moment. */
export interface IndexState {
  /** Increases with each change of segments. */
  generation: number;
  /** Whether the tail and the segments together contain all records. */
  ready: boolean;
  tail: TailHit[];
}

/** A row of the tail: either it contains the terms, or it only hides its record's entry in the segments. */
export interface TailHit {
  id: number;
  key: Uint8Array;
  /** Undefined if it lacks a term. */
  text: string | undefined;
  labels: string[];
}

/** The position of a key in a segment, or the position where it would be inserted. */
export interface Rank {
  /** The number of lower keys. */
  doc: number;
  isFound: boolean;
}

interface StateRow {
  id: number;
  ready: number | null;
  docKey: Bytes | null;
  text: string | null;
  labels: string | null;
}

/** The caches of a store. */
interface IndexCaches {
  cache: LRUCache<string, object>;
  segments: Map<number, { generation: number; segments: Segment[] }>;
}

const emptyCaches = (bytes: number): IndexCaches => ({
  cache: new LRUCache<string, object>({
    maxSize: bytes,
    sizeCalculation: (entry) => ENTRY_BYTES + ((entry as { byteLength?: number }).byteLength ?? 0),
  }),
  segments: new Map(),
});

/**
 * Reads the index. Segments never change, so their parts are cached, up to a limit. SQL: each search reads the state,
 * and the blocks and keys that are not cached.
 */
export class SearchStore {
  readonly #reader: Reader;
  readonly #bytes: number;
  readonly #kept: IndexCaches;

  /** `bytes` is the approximate limit of the cache. */
  constructor(reader: Reader, bytes = CACHE_BYTES, kept = emptyCaches(bytes)) {
    this.#reader = reader;
    this.#bytes = bytes;
    this.#kept = kept;
  }

  /** The same store with the same caches, for another reader. */
  by(reader: Reader): SearchStore {
    return new SearchStore(reader, this.#bytes, this.#kept);
  }

  /**
   * Reads the mutable state and up to `tailRows` rows of the tail in one statement. Undefined before the migrations.
   */
  async state(kind: SearchKind, terms: readonly string[], tailRows: number): Promise<IndexState | undefined> {
    const sought = padded(terms);
    const rows = await this.#reader.read<StateRow>(
      `SELECT id, NULL AS ready, doc_key AS docKey, CASE WHEN hit = 1 THEN text END AS text, labels FROM (
        SELECT id, replaces, doc_key, text, labels,
          CASE WHEN ${sought.map(() => 'INSTR(text, ?) > 0').join(' AND ')} THEN 1 ELSE 0 END AS hit
        FROM search_tail WHERE kind = ?
      ) t WHERE hit = 1 OR replaces = 1
      UNION ALL SELECT generation, ready, NULL, NULL, NULL FROM search_kinds WHERE kind = ?
      LIMIT ${tailRows + 1}`,
      [...sought, kind.code, kind.code],
    );
    const own = rows.find((row) => row.ready !== null);
    if (!own) return undefined;
    const tail = rows.flatMap(({ id, docKey: key, text, labels }) =>
      key === null ? [] : [{ id, key: copyOf(key), text: text ?? undefined, labels: splitLabels(labels ?? '') }],
    );
    return { generation: own.id, ready: own.ready === 1, tail };
  }

  /** The live segments of a generation, or of a later one. */
  async segments(kind: SearchKind, generation: number): Promise<readonly Segment[]> {
    const known = this.#kept.segments.get(kind.code);
    if (known?.generation === generation) return known.segments;
    const segments = await readSegments(this.#reader, kind);
    this.#kept.segments.set(kind.code, { generation, segments });
    return segments;
  }

  /** The keys at these places of a segment, in order. */
  async keys({ id }: Segment, docs: ArrayLike<number>): Promise<Uint8Array[]> {
    const wanted = Array.from(docs);
    const chunks = await this.#chunks(id, [...new Set(wanted.map((doc) => Math.floor(doc / CHUNK_KEYS)))]);
    return wanted.map((doc) => {
      const start = (doc % CHUNK_KEYS) * KEY_BYTES;
      return (chunks.get(Math.floor(doc / CHUNK_KEYS)) ?? new Uint8Array()).subarray(start, start + KEY_BYTES);
    });
  }

  /** The number of keys of a segment that are less than this one, and whether the next one equals it. */
  async rank(segment: Segment, key: Uint8Array): Promise<Rank> {
    const [rank] = await this.ranks(segment, [key]);
    return rank ?? { doc: 0, isFound: false };
  }

  /** The ranks of several keys. */
  async ranks(segment: Segment, keys: readonly Uint8Array[]): Promise<Rank[]> {
    const isWithin = (key: Uint8Array): boolean =>
      Buffer.compare(key, segment.firstKey) >= 0 && Buffer.compare(key, segment.lastKey) <= 0;
    const directory = keys.some(isWithin) ? await this.#directory(segment) : new Uint8Array();
    const places = keys.map((key) => (isWithin(key) ? lowerBound(directory, key, true) - 1 : -1));
    const chunks = await this.#chunks(segment.id, [...new Set(places.filter((place) => place >= 0))]);
    return keys.map((key, index) => {
      const chunk = places[index] ?? -1;
      if (chunk < 0) return { doc: Buffer.compare(key, segment.firstKey) < 0 ? 0 : segment.size, isFound: false };
      const stored = chunks.get(chunk) ?? new Uint8Array();
      const within = lowerBound(stored, key, false);
      const isFound = Buffer.compare(keyAt(stored, within), key) === 0;
      return { doc: chunk * CHUNK_KEYS + within, isFound };
    });
  }

  /** Returns the posting lists of grams in segments. */
  async blocks(
    segments: readonly Segment[],
    grams: readonly string[],
  ): Promise<(segment: Segment, gram: string) => Block | undefined> {
    const found = new Map<string, Block | undefined>();
    const missing = new Set<string>();
    const lacking = new Set<number>();
    for (const { id } of segments) {
      for (const gram of grams) {
        const cached = this.#kept.cache.get(blockName(id, gram));
        if (cached) found.set(blockName(id, gram), cached instanceof Block ? cached : undefined);
        else {
          missing.add(gram);
          lacking.add(id);
        }
      }
    }
    const all = [...missing];
    for (let start = 0; start < all.length; start += GRAMS_AT_ONCE) {
      const some = all.slice(start, start + GRAMS_AT_ONCE);
      const ids = inList([...lacking]);
      const names = inList(some.map((gram) => Buffer.from(gram)));
      const rows = await this.#reader.read<{ segment: number; gram: Bytes; data: Bytes }>(
        `SELECT segment, gram, data FROM search_blocks WHERE segment IN (${ids.sql}) AND gram IN (${names.sql})`,
        [...ids.parameters, ...names.parameters],
      );
      for (const id of lacking) for (const gram of some) found.set(blockName(id, gram), undefined);
      for (const { segment, gram, data } of rows) {
        found.set(blockName(segment, Buffer.from(gram).toString()), new Block(copyOf(data)));
      }
      for (const id of lacking) {
        for (const gram of some) this.#kept.cache.set(blockName(id, gram), found.get(blockName(id, gram)) ?? {});
      }
    }
    return (segment, gram) => found.get(blockName(segment.id, gram));
  }

  /** The texts of a segment of level 0. */
  async texts(segment: Segment): Promise<Texts> {
    return this.#cached(`t${segment.id}`, async () => new Texts(await readTexts(this.#reader, segment)));
  }

  /** The documents that were removed from a segment, in rising order. */
  async removed(segment: Segment): Promise<Uint32Array> {
    const { id, removals } = segment;
    if (removals === 0) return new Uint32Array();
    return this.#cached(`r${id} ${removals}`, () => readRemoved(this.#reader, segment));
  }

  async #cached<T extends object>(name: string, load: () => Promise<T>): Promise<T> {
    const cached = this.#kept.cache.get(name);
    if (cached) return cached as T;
    const loaded = await load();
    this.#kept.cache.set(name, loaded);
    return loaded;
  }

  /** The first key of each chunk. */
  #directory({ id }: Segment): Promise<Uint8Array> {
    return this.#cached(`d${id}`, async () => {
      const rows = await this.#reader.read<{ first: Bytes }>(
        `SELECT SUBSTR(data, 1, ${KEY_BYTES}) AS first FROM search_keys WHERE segment = ? ORDER BY chunk`,
        [id],
      );
      return copyOf(Buffer.concat(rows.map(({ first }) => first)));
    });
  }

  async #chunks(segment: number, chunks: readonly number[]): Promise<Map<number, Uint8Array>> {
    const found = new Map<number, Uint8Array>();
    const missing: number[] = [];
    for (const chunk of chunks) {
      const cached = this.#kept.cache.get(`k${segment} ${chunk}`);
      if (cached) found.set(chunk, cached as Uint8Array);
      else missing.push(chunk);
    }
    for (let start = 0; start < missing.length; start += CHUNKS_AT_ONCE) {
      const { sql, parameters } = inList(missing.slice(start, start + CHUNKS_AT_ONCE));
      const rows = await this.#reader.read<{ chunk: number; data: Bytes }>(
        `SELECT chunk, data FROM search_keys WHERE segment = ? AND chunk IN (${sql})`,
        [segment, ...parameters] satisfies Parameter[],
      );
      for (const { chunk, data } of rows) {
        const keys = copyOf(data);
        found.set(chunk, keys);
        this.#kept.cache.set(`k${segment} ${chunk}`, keys);
      }
    }
    return found;
  }
}

const blockName = (segment: number, gram: string): string => `b${segment} ${gram}`;
