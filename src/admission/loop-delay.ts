/** How often it is looked at, milliseconds. */
const EVERY_MS = 20;
/** Of the looks at which it is remembered, the weight of the last one. */
const WEIGHT = 0.3;

/**
 * How long what is due waits for this process to get to it: requests wait as long before anyone can see them. Smoothed over
 * about a tenth of a second.
 */
export class LoopDelay {
  #ms = 0;
  #timer: NodeJS.Timeout | undefined;

  /** In milliseconds. */
  get ms(): number {
    return this.#ms;
  }

  /** Begins to look, for as long as the process has anything else to do. */
  start(): void {
    let due = performance.now() + EVERY_MS;
    this.#timer ??= setInterval(() => {
      const now = performance.now();
      this.#ms += WEIGHT * (Math.max(now - due, 0) - this.#ms);
      due = now + EVERY_MS;
    }, EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
