import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import type { DatabaseOptions } from '../../db/connection.ts';

/** The size of the young generation: the objects of one batch hardly leave it. */
const YOUNG_BYTES = 8 * 2 ** 20;
/** The growth of the old generation before a full collection. */
const GROWTH_PERCENT = 50;
const MOST_TRIES = 1000;

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? YOUNG_BYTES;

/** Keeps the young generation at its size. Each thread that starts resets this, so a transfer repeats it. */
export const capHeap = (): void => setFlagsFromString('--semi-space-growth-factor=1');

/**
 * Makes this process collect garbage early. A transfer needs little memory at once, and would otherwise hold hundreds
 * of megabytes of dead objects. V8 takes the size of the young generation from its command line only; but that grows
 * with the surviving objects, at a rate that can be set. Call this before anything is loaded. The `resourceLimits` of a
 * worker are no alternative: its standard streams use the main thread, but its end by a signal does not.
 */
export const keepHeapCapped = (): void => {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  const survivors: object[] = [];
  for (let tries = 0; tries < MOST_TRIES && youngBytes() < YOUNG_BYTES; tries += 1) {
    survivors.push(Array.from({ length: 200 }, (_, index) => ({ index })));
  }
  capHeap();
};

/** A transfer reads sequentially. */
export const LEAN: DatabaseOptions = { readers: 1 };
