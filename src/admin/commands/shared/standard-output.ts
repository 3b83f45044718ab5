import { once } from 'node:events';

/** Writes to the standard output, no faster than its reader reads. */
export class StandardOutput {
  #isGone = false;

  constructor() {
    const leave = (): void => {
      this.#isGone = true;
    };
    process.stdout.once('error', leave).once('close', leave);
  }

  /** Whether the reader has closed the pipe, as `head` does after its last line. */
  get isGone(): boolean {
    return this.#isGone;
  }

  async write(text: string): Promise<void> {
    if (this.#isGone || process.stdout.write(text)) return;
    const waiting = new AbortController();
    const { signal } = waiting;
    const events = ['drain', 'close'].map((event) => once(process.stdout, event, { signal }));
    // `once` rejects at an error, which the program reports elsewhere, and when it is aborted.
    await Promise.race(events).catch(() => undefined);
    for (const event of events) event.catch(() => undefined);
    waiting.abort();
  }
}
