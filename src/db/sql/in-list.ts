import type { Parameter } from '../connection.ts';
import { memoizeBySize } from '../../base/cache.ts';

const nextPowerOfTwo = (n: number): number => 2 ** Math.ceil(Math.log2(n));

/** `?, ?, ?` for n parameters. */
export const placeholders = memoizeBySize((n) => '?, '.repeat(n - 1) + '?');

/** The values, with the last one repeated until the list has 1, 2, 4, 8 … of them. */
export const padded = <T>(values: readonly T[]): T[] => {
  const all = [...values];
  const last = values.at(-1);
  if (last === undefined) return all;
  for (let missing = nextPowerOfTwo(values.length) - values.length; missing > 0; missing -= 1) all.push(last);
  return all;
};

/**
 * The content of the brackets of `IN (…)`, for at least one value. It is padded, since each length is a prepared
 * statement, and `max_prepared_stmt_count` limits those of all connections together.
 */
export const inList = (values: readonly Parameter[]): { sql: string; parameters: Parameter[] } => {
  const parameters = padded(values);
  return { sql: placeholders(parameters.length), parameters };
};

const MAX_CHUNK = 256;
/** Up to this length, each has its own statement, so that few rows take one round trip. */
const EXACT_CHUNK = 16;

/** Splits values into parts for `inList`. */
export const partsOf = <T>(values: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(values.length / MAX_CHUNK) }, (_, part) =>
    values.slice(part * MAX_CHUNK, (part + 1) * MAX_CHUNK),
  );

/** Splits rows into chunks of few different lengths, each for one statement that writes several rows: see `inList`. */
export const chunksOf = <T>(rows: readonly T[]): T[][] => {
  const chunks: T[][] = [];
  for (let start = 0; start < rows.length;) {
    const left = Math.min(rows.length - start, MAX_CHUNK);
    const length = left <= EXACT_CHUNK ? left : 2 ** Math.floor(Math.log2(left));
    chunks.push(rows.slice(start, start + length));
    start += length;
  }
  return chunks;
};
