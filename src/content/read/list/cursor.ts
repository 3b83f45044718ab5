import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { packCursor, unpackCursor } from '../../../base/cursor.ts';

/** The value of a sort column at the end of a page. */
export type CursorValue = string | number;

const FINGERPRINTS = 1000;
/** Most lists are requested repeatedly, and a hash takes longer than a row of a page. */
const fingerprints = new LRUCache<string, string>({ max: FINGERPRINTS });

const fingerprint = (filters: unknown): string => {
  const text = JSON.stringify(filters);
  const known = fingerprints.get(text);
  if (known !== undefined) return known;
  const made = createHash('sha256').update(text).digest('base64url').slice(0, 12);
  fingerprints.set(text, made);
  return made;
};

/** Encodes a cursor for callers to pass back: the place where a page ended, and a fingerprint of the filters. */
export const encodeCursor = (filters: unknown, values: readonly CursorValue[]): string =>
  packCursor([fingerprint(filters), ...values]);

/**
 * Decodes the values of a cursor. `accepts` contains a check for each of them.
 * @throws AppError CURSOR_INVALID for a text we did not make, or made for other filters
 */
export const decodeCursor = (
  cursor: string,
  filters: unknown,
  accepts: readonly ((value: unknown) => boolean)[],
): CursorValue[] => {
  const isOfFilters = (made: unknown): boolean => made === fingerprint(filters);
  const [, ...values] = unpackCursor(cursor, [isOfFilters, ...accepts]);
  return values as CursorValue[];
};
