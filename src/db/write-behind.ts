import type { Logger } from 'pino';

interface Options<V> {
  /** How long a change may wait. */
  delayMs: number;
  /** Two changes to the same key as one. */
  merge(earlier: V, later: V): V;
  /** Stores changes; when it rejects, they are kept and tried again. */
  write(changes: ReadonlyMap<string, V>): Promise<void>;
  log: Logger;
}

/** Collects small changes in memory and stores them together, for what may be lost in a crash. */
export class WriteBehind<V> {
  readonly #options: Options<V>;
  #changes = new Map<string, V>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: Options<V>) {
    this.#options = options;
  }

  add(key: string, value: V): void {
    const earlier = this.#changes.get(key);
    this.#changes.set(key, earlier === undefined ? value : this.#options.merge(earlier, value));
    this.#schedule();
  }

  /** Stores what has been collected so far. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.flush(), this.#options.delayMs).unref();
  }

  async #write(): Promise<void> {
    if (this.#changes.size === 0) return;
    const changes = this.#changes;
    this.#changes = new Map();
    try {
      await this.#options.write(changes);
    } catch (error) {
      this.#options.log.warn({ err: error, changes: changes.size }, 'buffered changes could not be stored yet');
      const later = this.#changes;
      this.#changes = changes;
      this.#schedule();
      for (const [key, value] of later) this.add(key, value);
    }
  }
}
