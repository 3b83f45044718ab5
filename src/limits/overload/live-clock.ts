const TICK_MS = 50;

/** A clock that stands still while this process does: work that cannot end then is not stalled. */
export class LiveClock {
  #ms = 0;
  #last = performance.now();

  constructor() {
    setInterval(() => {
      const now = performance.now();
      this.#ms += Math.min(now - this.#last, 2 * TICK_MS);
      this.#last = now;
    }, TICK_MS).unref();
  }

  /** In milliseconds, as far as the last tick. */
  get ms(): number {
    return this.#ms;
  }
}
