import type { Patience } from './lane.ts';

/** How long all who were in a queue have waited of late, by which one tells a queue that stands (RFC 8289, section 4.2). */
export class Sojourn {
  #last = Number.NEGATIVE_INFINITY;
  /** When one came out last that had not waited for long. */
  #lastTimely = Number.NEGATIVE_INFINITY;

  /** Hears of one that came out, after so many milliseconds. Whether nobody was timely for as long as a queue may stand. */
  note(waitedMs: number, { shortMs, standingMs }: Patience): boolean {
    const now = performance.now();
    // After a pause, whoever waits does so in a burst.
    if (waitedMs < shortMs || now - this.#last > standingMs) this.#lastTimely = now;
    this.#last = now;
    return now - this.#lastTimely > standingMs;
  }
}
