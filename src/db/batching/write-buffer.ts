import type { Logger } from 'pino';
import { clearTimeout, setTimeout } from '../../base/runtime.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';

/** Tells when nothing may be written. */
export interface WritePause {
  /** Whether the pause lasts as long as the process, so that changes are not even collected. */
  readonly isPermanent: boolean;
  /** Whether nothing may be written now. */
  isOn: () => Promise<boolean>;
}

interface WriteBufferOptions<V> {
  /** How long a change may wait, in milliseconds. */
  delayMs: number;
  /** Merges two changes to the same key. */
  merge(earlier: V, later: V): V;
  /**
   * Stores changes of at most `BATCH_KEYS` keys. When it rejects, they are kept and retried. When it rejects with
   * OUTCOME_UNKNOWN they are dropped instead, since they could count twice.
   */
  write(changes: ReadonlyMap<string, V>, deadline: Deadline): Promise<void>;
  log: Logger;
  /** While the pause is on, changes stay in memory. */
  pause?: WritePause | undefined;
  /** `write` gets keys together only if this returns the same value for them (default: any keys). */
  batchKey?: (key: string) => string;
}

/** Keys per transaction: few enough that other writes wait only briefly for its locks. */
export const BATCH_KEYS = 256;
/** With this many keys, the buffer is stored without delay. */
export const FULL_KEYS = 4096;
/** The maximum number of keys kept while the database is unavailable. */
export const MAX_KEYS = 65_536;

/** The time limit for storing a batch. Later batches wait for it. */
const WRITE_TIMEOUT_MS = 5000;

/** Collects small changes in memory and stores them together. A crash loses at most the collected changes. */
export class WriteBuffer<V> {
  readonly #options: WriteBufferOptions<V>;
  /** Changes by key, the oldest first. */
  readonly #changes = new Map<string, V>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;
  #dropped = 0;
  #lost = 0;
  #failures = 0;
  /** The deadline of the batch being stored. */
  #deadline: Deadline | undefined;
  /** The deadline of `close`. */
  #closing: Deadline | undefined;

  constructor(options: WriteBufferOptions<V>) {
    this.#options = options;
  }

  /** Changes that are not stored yet. */
  get size(): number {
    return this.#changes.size;
  }

  /** Changes that were dropped so far. */
  get lost(): number {
    return this.#lost;
  }

  /** The number of failed attempts to store changes. */
  get failures(): number {
    return this.#failures;
  }

  add(key: string, value: V): void {
    if (this.#options.pause?.isPermanent) return;
    const earlier = this.#changes.get(key);
    this.#changes.set(key, earlier === undefined ? value : this.#options.merge(earlier, value));
    this.#dropOldest();
    if (this.#changes.size === FULL_KEYS && !this.#isFailing) void this.flush();
    else this.#schedule();
  }

  /** Stores the changes collected so far. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** Stores the remaining changes until the deadline, and logs how many were lost. Never rejects. */
  async close(deadline: Deadline): Promise<void> {
    this.#closing = deadline;
    const forget = deadline.onEnd((error) => this.#deadline?.end(error));
    await this.flush();
    forget();
    clearTimeout(this.#timer);
    const { size } = this.#changes;
    this.#lost += size;
    if (size > 0) this.#options.log.error({ changes: size }, 'buffered changes could not be stored, and are lost');
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.flush(), this.#options.delayMs).unref();
  }

  async #write(): Promise<void> {
    this.#isFailing = false;
    const { pause } = this.#options;
    if (pause && this.#changes.size > 0 && (await pause.isOn())) {
      this.#schedule();
      return;
    }
    for (let left = this.#changes.size; left > 0 && !this.#isFailing;) {
      left -= await this.#writeBatch(Math.min(left, BATCH_KEYS));
    }
  }

  /** Stores the oldest changes, and returns how many. */
  async #writeBatch(keys: number): Promise<number> {
    const { batchKey = () => '' } = this.#options;
    const [oldest = ''] = this.#changes.keys();
    const shared = batchKey(oldest);
    const batch = new Map<string, V>();
    for (const [key, value] of this.#changes) {
      if (batch.size === keys || batchKey(key) !== shared) break;
      batch.set(key, value);
      this.#changes.delete(key);
    }
    const deadline = new Deadline(WRITE_TIMEOUT_MS);
    if (this.#closing?.error) deadline.end(this.#closing.error);
    this.#deadline = deadline;
    try {
      await this.#options.write(batch, deadline);
    } catch (error) {
      this.#isFailing = true;
      this.#failures += 1;
      if (error instanceof AppError && error.reason === 'OUTCOME_UNKNOWN') this.#drop(batch.size);
      else this.#putBack(batch);
      const dropped = this.#dropped;
      this.#dropped = 0;
      this.#options.log.warn(
        { err: error, changes: this.#changes.size, ...(dropped > 0 && { dropped }) },
        dropped > 0
          ? `buffered changes could not be stored yet, and ${dropped} may be lost`
          : 'buffered changes could not be stored yet',
      );
      this.#schedule();
    } finally {
      deadline.close();
    }
    return batch.size;
  }

  /** Puts changes back, before later ones. */
  #putBack(batch: ReadonlyMap<string, V>): void {
    const later = [...this.#changes];
    this.#changes.clear();
    for (const [key, value] of batch) this.#changes.set(key, value);
    for (const [key, value] of later) {
      const earlier = this.#changes.get(key);
      this.#changes.set(key, earlier === undefined ? value : this.#options.merge(earlier, value));
    }
    this.#dropOldest();
  }

  #dropOldest(): void {
    for (const key of this.#changes.keys()) {
      if (this.#changes.size <= MAX_KEYS) return;
      this.#changes.delete(key);
      this.#drop(1);
    }
  }

  #drop(n: number): void {
    this.#dropped += n;
    this.#lost += n;
  }
}
