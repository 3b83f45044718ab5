import { AppError } from './errors.ts';

/** A text that holds some values and that callers send back: base64url of their JSON. */
export const packCursor = (values: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(values)).toString('base64url');

/**
 * Returns the values in such a text. `accepts` holds a check for each value.
 * @throws AppError CURSOR_INVALID for a text that this service did not make
 */
export const unpackCursor = (
  cursor: string,
  accepts: readonly ((value: unknown) => boolean)[],
  hint?: string,
): unknown[] => {
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    values = undefined;
  }
  const isOurs =
    Array.isArray(values) &&
    values.length === accepts.length &&
    accepts.every((accept, index) => accept((values as unknown[])[index]));
  if (!isOurs) throw new AppError('CURSOR_INVALID', { hint });
  return values as unknown[];
};
