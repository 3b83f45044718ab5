import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import type { DatabaseOptions } from '../../db/connection.ts';

/** How large the space for new objects is made: what a batch needs for a moment hardly leaves it. */
const YOUNG_BYTES = 8 * 2 ** 20;
/** How much the rest of the heap grows before it is cleared. */
const GROWTH_PERCENT = 50;
const MOST_TRIES = 1000;

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? YOUNG_BYTES;

/** Keeps the space for new objects as large as it is. To be said again now and then: each thread that starts undoes it. */
export const capHeap = (): void => setFlagsFromString('--semi-space-growth-factor=1');

/**
 * Has this process clear memory early, instead of taking what the machine has: a transfer needs little at once, and
 * otherwise holds hundreds of megabytes of what it no longer needs. The engine takes the size of the space for new objects
 * from its command line only; but it grows with what survives in it, and how fast can be told. To be called before anything
 * is loaded.
 */
export const keepHeapCapped = (): void => {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  const survivors: object[] = [];
  for (let tries = 0; tries < MOST_TRIES && youngBytes() < YOUNG_BYTES; tries += 1) {
    survivors.push(Array.from({ length: 200 }, (_, index) => ({ index })));
  }
  capHeap();
};

/** How a transfer opens a database: it reads one thing after the other. */
export const LEAN: DatabaseOptions = { readers: 1 };
