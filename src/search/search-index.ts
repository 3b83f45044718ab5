import { currentTime, nextTurn, performance } from '../base/runtime.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import type { Deadline } from '../base/deadline.ts';
import { firstKeyOf, type SearchKind } from './document.ts';
import { type GramPlan, matchBlocks, matchesText, matchTexts, planGrams, type Sought } from './match.ts';
import { START } from './grams.ts';
import { GRACE_MS, type Segment } from './segment.ts';
import { SearchStore, type IndexState } from './store.ts';

/** If the tail has more rows than this, searches do not use the index until the rows are indexed. */
const MOST_TAIL_ROWS = 4096;
/** How long a search may compute before it yields. */
const TURN_MS = 4;
/** The number of segments whose blocks are read first, since these are often enough. */
const FIRST_SEGMENTS = 2;

/** The conditions on the records to find. */
export interface IndexQuery extends Sought {
  /** The earliest time. */
  since?: number | undefined;
}

export type Direction = 'ASC' | 'DESC';

/** A range of the matches, in the order of their keys. */
export interface Range {
  direction: Direction;
  /** Only matches beyond this key. */
  after?: Uint8Array | undefined;
  /** The maximum number of matches. */
  limit: number;
}

/** Finds records by their texts, at a cost that hardly grows with the number of records. */
export class SearchIndex {
  readonly store: SearchStore;

  readonly #workload: WorkloadPool;
  readonly #mostTailRows: number;

  constructor(workload: WorkloadPool, mostTailRows = MOST_TAIL_ROWS) {
    this.#workload = workload;
    this.store = new SearchStore(workload);
    this.#mostTailRows = mostTailRows;
  }

  /** Starts a search. Undefined if the index cannot answer: it is not built yet, or many rows wait to be indexed. */
  async search(kind: SearchKind, query: IndexQuery, deadline?: Deadline): Promise<Search | undefined> {
    const plain = query.terms.map((term) => term.replace(START, ''));
    if (plain.includes('')) return undefined;
    const store = this.store.by(this.#workload.within(deadline));
    const state = await store.state(kind, plain, this.#mostTailRows);
    if (!state?.ready || state.tail.length > this.#mostTailRows) return undefined;
    const segments = await store.segments(kind, state.generation);
    return new Search({ store, kind, query, state, segments, deadline });
  }
}

/** The inputs of a search. */
interface Given {
  store: SearchStore;
  kind: SearchKind;
  query: IndexQuery;
  state: IndexState;
  segments: readonly Segment[];
  deadline: Deadline | undefined;
}

/** A running search. */
export class Search {
  readonly #store: SearchStore;
  readonly #kind: SearchKind;
  readonly #query: IndexQuery;
  readonly #plan: GramPlan;
  readonly #since: Uint8Array | undefined;
  readonly #segments: readonly Segment[];
  readonly #deadline: Deadline | undefined;
  /** The keys found in the tail, sorted. */
  readonly #tail: readonly Uint8Array[];
  /** The records that the tail replaces in the segments. */
  readonly #hidden: readonly Uint8Array[];
  /** The number of records, including replaced ones. */
  readonly size: number;
  readonly #began = currentTime();
  #turn = performance.now();

  constructor({ store, kind, query, state: { tail }, segments, deadline }: Given) {
    this.#store = store;
    this.#kind = kind;
    this.#query = query;
    this.#plan = planGrams(query);
    this.#since = query.since === undefined ? undefined : firstKeyOf(query.since);
    this.#segments = segments;
    this.#deadline = deadline;
    const latest = new Map<string, (typeof tail)[number]>();
    for (const row of tail.toSorted((a, b) => a.id - b.id)) latest.set(Buffer.from(row.key).toString('latin1'), row);
    const rows = [...latest.values()];
    this.#hidden = rows.map(({ key }) => key);
    this.#tail = rows
      .filter(({ text, labels, key }) => {
        const isWanted = this.#since === undefined || Buffer.compare(key, this.#since) >= 0;
        return text !== undefined && isWanted && matchesText(kind, { text, labels }, query);
      })
      .map(({ key }) => key)
      .toSorted((a, b) => Buffer.compare(a, b));
    this.size = segments.reduce((n, segment) => n + segment.size, tail.length);
  }

  /** Whether everything it read was kept until the end, so that its results are reliable. */
  get isSound(): boolean {
    return currentTime() - this.#began < GRACE_MS / 2;
  }

  /**
   * The keys of a range of the matches in order, and the number of all matches. Counting stops at `countTo`: any
   * greater number only means that more exist.
   */
  async find({ direction, after, limit }: Range, countTo: number): Promise<{ keys: Uint8Array[]; total: number }> {
    const sign = direction === 'ASC' ? 1 : -1;
    const compare = (a: Uint8Array, b: Uint8Array): number => sign * Buffer.compare(a, b);
    const merge = (a: readonly Uint8Array[], b: readonly Uint8Array[]): Uint8Array[] =>
      b.length === 0 ? a.slice(0, limit) : [...a, ...b].toSorted(compare).slice(0, limit);
    const limits = (segment: Segment): Uint8Array => (direction === 'ASC' ? segment.firstKey : segment.lastKey);

    let keys = merge(
      [],
      this.#tail.filter((key) => after === undefined || compare(key, after) > 0),
    );
    let total = this.#tail.length;
    const segments = this.#segments
      .filter(({ lastKey }) => this.#since === undefined || Buffer.compare(lastKey, this.#since) >= 0)
      .toSorted((a, b) => compare(limits(a), limits(b)));
    const merged = segments.filter(({ level }) => level > 0);
    for (const segment of segments) {
      const last = keys[limit - 1];
      const isSettled = limit === 0 || (last !== undefined && compare(limits(segment), last) > 0);
      if (isSettled && total > countTo) break;
      await this.#yield();
      const place = merged.indexOf(segment);
      if (place === 0) await this.#store.blocks(merged.slice(0, FIRST_SEGMENTS), this.#plan.grams);
      if (place === FIRST_SEGMENTS) await this.#store.blocks(merged.slice(place), this.#plan.grams);
      const docs = await this.#match(segment);
      total += docs.length;
      if (!isSettled) keys = merge(keys, await this.#range(segment, docs, { direction, after, limit }));
    }
    return { keys, total };
  }

  /** Yields to the event loop. @throws AppError when the deadline has ended */
  async #yield(): Promise<void> {
    if (performance.now() - this.#turn < TURN_MS) return;
    await nextTurn();
    this.#deadline?.assert();
    this.#turn = performance.now();
  }

  /** The matches of a segment, in rising order. */
  async #match(segment: Segment): Promise<Uint32Array> {
    const { terms, labels } = this.#query;
    let docs: Uint32Array;
    if (segment.level === 0) {
      docs = matchTexts(this.#kind, await this.#store.texts(segment), { terms, labels });
    } else {
      const blocks = await this.#store.blocks([segment], this.#plan.grams);
      docs = matchBlocks(this.#plan, (gram) => blocks(segment, gram));
    }
    if (docs.length === 0) return docs;
    const left = without(docs, await this.#store.removed(segment));
    const visible = without(left, await this.#hiddenIn(segment));
    if (this.#since === undefined) return visible;
    const { doc: first } = await this.#store.rank(segment, this.#since);
    return visible.subarray(indexOf(visible, first));
  }

  async #hiddenIn(segment: Segment): Promise<Uint32Array> {
    const ranks = await this.#store.ranks(segment, this.#hidden);
    return Uint32Array.from(ranks.filter(({ isFound }) => isFound).map(({ doc }) => doc)).toSorted();
  }

  /** The keys of the first matches of a segment in a range. */
  async #range(segment: Segment, docs: Uint32Array, { direction, after, limit }: Range): Promise<Uint8Array[]> {
    const { doc, isFound } =
      after === undefined
        ? { doc: direction === 'ASC' ? 0 : segment.size, isFound: false }
        : await this.#store.rank(segment, after);
    if (direction === 'ASC') {
      const start = indexOf(docs, doc + Number(isFound));
      return this.#store.keys(segment, docs.subarray(start, start + limit));
    }
    const end = indexOf(docs, doc);
    return this.#store.keys(segment, docs.subarray(Math.max(0, end - limit), end));
  }
}

/** The number of rising numbers that are less than `value`. */
const indexOf = (numbers: Uint32Array, value: number): number => {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Rising numbers without the unwanted ones, which are also rising. */
const without = (numbers: Uint32Array, unwanted: Uint32Array): Uint32Array => {
  if (unwanted.length === 0) return numbers;
  const away = new Set(unwanted);
  return numbers.filter((number) => !away.has(number));
};
