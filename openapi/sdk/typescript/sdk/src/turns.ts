import { onAbort } from './abort.js';

/** Lets so many attempts be under way at once. The others wait in line. */
export class Turns {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when it is the caller's turn. Rejects with the signal's reason once that is aborted. */
  async take(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        ignore();
        resolve();
      };
      const ignore = onAbort(signal, () => {
        this.#waiting.delete(go);
        reject(signal?.reason as Error);
      });
      this.#waiting.add(go);
    });
  }

  /** Gives a turn to whoever is next. */
  give(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

const shared = new Map<string, Turns>();

/** The turns of all clients of an origin with the same limit: they share their connections. */
export const turnsOf = (origin: string, count: number): Turns => {
  const name = `${count} ${origin}`;
  const turns = shared.get(name) ?? new Turns(count);
  shared.set(name, turns);
  return turns;
};
