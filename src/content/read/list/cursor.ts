import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../base/errors.ts';

/** The value of a sort column at the end of a page. */
export type CursorValue = string | number;

const FINGERPRINTS = 1000;
/** Most lists are asked for again and again, and a hash takes longer than a row of a page. */
const fingerprints = new LRUCache<string, string>({ max: FINGERPRINTS });

const fingerprint = (filters: unknown): string => {
  const text = JSON.stringify(filters);
  const known = fingerprints.get(text);
  if (known !== undefined) return known;
  const made = createHash('sha256').update(text).digest('base64url').slice(0, 12);
  fingerprints.set(text, made);
  return made;
};

/** A text for callers to hand back: where a page ended, and a fingerprint of the filters it was made with. */
export const encodeCursor = (filters: unknown, values: readonly CursorValue[]): string =>
  Buffer.from(JSON.stringify([fingerprint(filters), ...values])).toString('base64url');

/**
 * The values of a cursor. `accepts` holds a check for each of them.
 * @throws AppError CURSOR_INVALID for a text we did not make, or made for other filters
 */
export const decodeCursor = (
  cursor: string,
  filters: unknown,
  accepts: readonly ((value: unknown) => boolean)[],
): CursorValue[] => {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  if (!Array.isArray(parts) || parts.length !== accepts.length + 1) throw new AppError('CURSOR_INVALID');
  const [made, ...values] = parts as unknown[];
  if (made !== fingerprint(filters) || !accepts.every((accept, index) => accept(values[index]))) {
    throw new AppError('CURSOR_INVALID');
  }
  return values as CursorValue[];
};
