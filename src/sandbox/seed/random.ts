import { createHash } from 'node:crypto';

const UINT32 = 2 ** 32;

/** Random numbers that are the same for the same seed, on every machine: sfc32, which passes PractRand. */
export class Random {
  readonly #state: Uint32Array;

  constructor(seed: string) {
    const digest = createHash('sha256').update(seed).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (offset) => digest.readUInt32LE(offset));
  }

  /** A whole number from 0 to 2³² − 1. */
  nextUint32(): number {
    const [a = 0, b = 0, c = 0, counter = 0] = this.#state;
    const result = (a + b + counter) >>> 0;
    this.#state[0] = b ^ (b >>> 9);
    this.#state[1] = c + (c << 3);
    this.#state[2] = ((c << 21) | (c >>> 11)) + result;
    this.#state[3] = counter + 1;
    return result;
  }

  /** A number from 0 up to, but not including, 1. */
  fraction(): number {
    return this.nextUint32() / UINT32;
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** Whether an event of this probability happens. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Any of the items. @throws TypeError without items */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new TypeError('nothing to pick from');
    return items[this.between(0, items.length - 1)] as T;
  }
}

/** Draws from items, the most frequent first: the one at rank r is drawn in proportion to 1 / r (Zipf's law). */
export const zipf = <T>(items: readonly T[]): ((random: Random) => T) => {
  const sums = new Float64Array(items.length);
  let total = 0;
  for (const index of items.keys()) {
    total += 1 / (index + 1);
    sums[index] = total;
  }
  return (random) => {
    const target = random.fraction() * total;
    let low = 0;
    let high = items.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] as number) > target) high = middle;
      else low = middle + 1;
    }
    return items[low] as T;
  };
};

/** `count` different draws. That many must exist, and few of them should be very improbable. */
export const distinct = <T>(count: number, draw: () => T): T[] => {
  const drawn = new Set<T>();
  while (drawn.size < count) drawn.add(draw());
  return [...drawn];
};
