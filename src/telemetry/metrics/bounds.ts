import type { NameOf } from './catalogue.ts';

const powers = (base: number, from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => base ** (from + index));

/** From a quarter of a millisecond to 16 seconds, each twice the last: the bounds of a native histogram of schema 0. */
const TIMES = powers(2, -12, 4);
/** From 64 bytes to 16 MiB, each four times the last. */
const SIZES = powers(4, 3, 12);

/** The upper bounds of a histogram, by the unit that its name ends with. */
export const boundsOf = (name: NameOf<'histogram'>): readonly number[] => (name.endsWith('_bytes') ? SIZES : TIMES);
