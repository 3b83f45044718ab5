import type { Logger } from 'pino';
import { LessThan, LessThanOrEqual } from 'typeorm';
import { currentTime, sleep } from '../../base/runtime.ts';
import { BackgroundJob } from '../../base/background-job.ts';
import type { WritePause } from '../../db/batching/write-buffer.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { beginGeneration, mergeSegments, replaceSegments } from './compact.ts';
import type { SearchKind } from '../document.ts';
import { searchKindsIn, segmentState, tailIn } from '../entity.ts';
import { flushTail } from './flush.ts';
import { collectGarbage } from './garbage.ts';
import { rebuild } from './rebuild.ts';
import { LEASE_MS, randomId, SegmentWriter, Superseded } from './segment-writer.ts';
import { defaultSizes, readSegments, type Segment, type Sizes } from '../segment.ts';
import { SearchStore } from '../store.ts';

const IDLE_MS = 1000;
/** The pause after a turn that found no work. */
const QUIET_MS = 8000;
const FAULT_PAUSE_MS = 10_000;
/** Finding replaced documents takes little memory; searches have a separate cache. */
const CACHE_BYTES = 8 * 2 ** 20;
/** Segments of this level are not merged any further. */
const MAX_LEVEL = 2;

interface Due {
  work: 'tail' | 'segments' | 'unbuilt' | 'garbage';
  kind: number;
  level: number;
  n: number;
}

/**
 * Flushes the tail of changes into segments, and merges segments, so that searches read little. A tail of sufficient
 * length becomes a segment of level 0; several segments of a level become one of the next. Any number of processes may
 * run an indexer. A lease lets only one of them work on a kind at a time, which merely saves work: each step checks and
 * replaces its segments in one transaction, so that a second process changes nothing.
 */
export class Indexer {
  readonly #db: WorkloadPool;
  readonly #kinds: readonly SearchKind[];
  readonly #sizes: Sizes;
  readonly #store: SearchStore;
  readonly #holder = randomId();
  readonly #job: BackgroundJob;

  constructor(
    db: WorkloadPool,
    kinds: readonly SearchKind[],
    log?: Logger,
    sizes: Sizes = defaultSizes,
    pause?: WritePause,
  ) {
    this.#db = db;
    this.#kinds = kinds;
    this.#sizes = sizes;
    this.#store = new SearchStore(db, CACHE_BYTES);
    this.#job = new BackgroundJob({
      turn: async () => {
        if (await pause?.isOn()) return IDLE_MS;
        return (await this.work()) ? IDLE_MS : QUIET_MS;
      },
      retryMs: FAULT_PAUSE_MS,
      log,
      failure: 'the search index could not be updated yet',
    });
  }

  /** Runs in the background until it is closed. */
  start(): void {
    this.#job.start();
  }

  /** Stops after the current transaction. */
  close(): Promise<void> {
    return this.#job.close();
  }

  /** Does all work that is due, unless another process does. Returns whether it did any. */
  async work(): Promise<boolean> {
    let hasWorked = false;
    for (const kind of this.#kinds) {
      try {
        for (; await this.#step(kind); hasWorked = true) this.#job.signal.throwIfAborted();
      } catch (error) {
        if (!(error instanceof Superseded)) throw error;
      }
    }
    return hasWorked;
  }

  /**
   * Rebuilds the index of a kind, once no other process works on it. `onIndexed` is called with the number of records
   * added since the last call.
   * @throws Superseded if another process took over, since this one was suspended for long
   */
  async reindex(kind: SearchKind, onIndexed?: (records: number) => void): Promise<void> {
    while (!(await this.#hold(kind))) await sleep(IDLE_MS, undefined, { signal: this.#job.signal });
    await this.#rebuild(kind, onIndexed);
    // Until the tail is in a segment, it hides records that were read twice.
    while (await flushTail(this.#db, this.#store, kind, this.#sizes.run, 1));
    await this.#release(kind);
  }

  /**
   * Removes remains of replaced or deleted texts from the index: rewrites the segments that contain some, and deletes
   * the old segments once no search reads them, which takes `graceMs`.
   */
  async purge(): Promise<void> {
    for (const kind of this.#kinds) {
      await this.#takeOver(kind);
      await this.#rewriteStale(kind);
      await this.#release(kind);
    }
    await sleep(this.#sizes.graceMs, undefined, { signal: this.#job.signal });
    for (const kind of this.#kinds) await collectGarbage(this.#db, kind, this.#sizes.graceMs);
  }

  async #rewriteStale(kind: SearchKind): Promise<void> {
    for (;;) {
      try {
        await this.#flushAll(kind);
        const stale = (await readSegments(this.#db, kind)).filter(({ removals }) => removals > 0);
        const texts = stale.filter(({ level }) => level === 0);
        if (texts.length > 0) await this.#replace(kind, texts);
        for (const segment of stale) if (segment.level > 0) await this.#replace(kind, [segment], segment.level);
        return;
      } catch (error) {
        // Another process changed these segments and may have skipped some.
        if (!(error instanceof Superseded)) throw error;
        await this.#takeOver(kind);
      }
    }
  }

  /** Flushes all rows that are in the tail now. */
  async #flushAll(kind: SearchKind): Promise<void> {
    const { code } = kind;
    const last = (await tailIn(this.#db).maximum('id', { kind: code })) ?? 0;
    while (await tailIn(this.#db).existsBy({ kind: code, id: LessThanOrEqual(last) }))
      await flushTail(this.#db, this.#store, kind, this.#sizes.run, 1);
  }

  /** Takes the lease of a kind: at once if it is free, or from another process after a while. */
  async #takeOver(kind: SearchKind): Promise<void> {
    const until = currentTime() + LEASE_MS;
    while (!(await this.#hold(kind))) {
      if (currentTime() < until) await sleep(IDLE_MS, undefined, { signal: this.#job.signal });
      // The other process detects this at its next step, and later starts again.
      else await this.#db.transaction((tx) => searchKindsIn(tx).update({ kind: kind.code }, { heldUntil: 0 }));
    }
  }

  async #release(kind: SearchKind): Promise<void> {
    await this.#db.transaction((tx) =>
      searchKindsIn(tx).update({ kind: kind.code, holder: this.#holder }, { heldUntil: 0 }),
    );
  }

  #rebuild(kind: SearchKind, onIndexed?: (records: number) => void): Promise<void> {
    return rebuild(this.#db, this.#store, kind, this.#writer(kind), { sizes: this.#sizes, onIndexed });
  }

  async #hold(kind: SearchKind): Promise<boolean> {
    const now = currentTime();
    const holder = this.#holder;
    const { affected } = await this.#db.transaction((tx) =>
      searchKindsIn(tx).update(
        [
          { kind: kind.code, holder },
          { kind: kind.code, heldUntil: LessThan(now) },
        ],
        { holder, heldUntil: now + LEASE_MS },
      ),
    );
    return affected === 1;
  }

  /** Does the next step that is due. Returns whether more may be due. */
  async #step(kind: SearchKind): Promise<boolean> {
    const due = await this.#due(kind);
    const { run, fanout } = this.#sizes;
    const n = (work: Due['work'], level = 0): number =>
      due.find((row) => row.work === work && row.level === level)?.n ?? 0;
    const isLong = n('tail') >= run;
    const full = Array.from({ length: MAX_LEVEL }, (_, level) => level).find((level) => n('segments', level) >= fanout);
    const isUnbuilt = n('unbuilt') > 0;
    const isDirty = n('garbage') > 0;
    if (!isLong && full === undefined && !isUnbuilt && !isDirty) return false;
    if (!(await this.#hold(kind))) return false;
    if (isLong) return flushTail(this.#db, this.#store, kind, run);
    if (isUnbuilt) await this.reindex(kind);
    else if (full !== undefined) await this.#merge(kind, full);
    else await collectGarbage(this.#db, kind, this.#sizes.graceMs);
    return true;
  }

  /** The work that is due. SQL: each process asks every few seconds per kind, so one statement reads all counts. */
  async #due(kind: SearchKind): Promise<Due[]> {
    const now = currentTime();
    const { building, live, dead } = segmentState;
    return this.#db.read<Due>(
      `SELECT 'tail' AS work, 0 AS level, COUNT(*) AS n FROM search_tail WHERE kind = ?
      UNION ALL SELECT 'segments', level, COUNT(*) FROM search_segments WHERE kind = ? AND state = ? GROUP BY level
      UNION ALL SELECT 'unbuilt', 0, COUNT(*) FROM search_kinds WHERE kind = ? AND ready = 0
      UNION ALL SELECT 'garbage', 0, COUNT(*) FROM search_segments
        WHERE kind = ? AND (state = ? AND touched < ? OR state = ? AND touched < ?)`,
      [kind.code, kind.code, live, kind.code, kind.code, dead, now - this.#sizes.graceMs, building, now - LEASE_MS * 2],
    );
  }

  async #merge(kind: SearchKind, level: number): Promise<void> {
    const segments = (await readSegments(this.#db, kind)).filter((segment) => segment.level === level);
    const inputs = segments.toSorted((a, b) => Buffer.compare(a.firstKey, b.firstKey)).slice(0, this.#sizes.fanout);
    await this.#replace(kind, inputs);
  }

  /** Replaces segments by one that merges them, by default of the next level. @throws Superseded */
  async #replace(kind: SearchKind, inputs: readonly Segment[], level?: number): Promise<void> {
    const writer = this.#writer(kind);
    const merged = await mergeSegments(this.#db, this.#store, kind, writer, inputs, level);
    await writer.publish(async (tx) => {
      await beginGeneration(tx, kind);
      await replaceSegments(tx, merged, segmentState.live);
    });
  }

  #writer(kind: SearchKind): SegmentWriter {
    return new SegmentWriter(this.#db, kind, this.#holder, async () => {
      this.#job.signal.throwIfAborted();
      // Records are still added while a big segment is written.
      while (await flushTail(this.#db, this.#store, kind, this.#sizes.run));
    });
  }
}
