/** Packs rows of SQLite to send them between threads. */

/** A value of a column. */
export type PackedValue = string | number | bigint | null | Uint8Array;

/**
 * Rows with `undefined` in place of each binary value, and only there. `bytes` holds the binary values one after the
 * other: sending each separately would take longer than all the rest.
 */
export interface Packed {
  rows: (PackedValue | undefined)[][];
  bytes: Uint8Array<ArrayBuffer> | undefined;
  lengths: number[];
}

/** Packs rows, in place. */
export const pack = (rows: PackedValue[][]): Packed => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for (const row of rows as (PackedValue | undefined)[][]) {
    for (let index = 0; index < row.length; index += 1) {
      const value = row[index];
      if (!(value instanceof Uint8Array)) continue;
      parts.push(value);
      size += value.byteLength;
      row[index] = undefined;
    }
  }
  if (parts.length === 0) return { rows, bytes: undefined, lengths: [] };
  const bytes = new Uint8Array(size);
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.byteLength;
  }
  return { rows, bytes, lengths: parts.map((part) => part.byteLength) };
};

/** Restores the rows, in place. Their binary values are views of one buffer. */
export const unpack = ({ rows, bytes, lengths }: Packed): PackedValue[][] => {
  if (!bytes) return rows as PackedValue[][];
  let place = 0;
  let start = 0;
  for (const row of rows) {
    for (let index = 0; index < row.length; index += 1) {
      if (row[index] !== undefined) continue;
      const length = lengths[place] as number;
      row[index] = bytes.subarray(start, start + length);
      place += 1;
      start += length;
    }
  }
  return rows as PackedValue[][];
};
