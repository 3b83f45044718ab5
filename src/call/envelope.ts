import { randomUUID } from 'node:crypto';
import { AppError } from '../errors.ts';
import { removeUndefined } from './superjson.ts';

/** What came with a call. */
export interface Sent {
  /** Equal texts are equal inputs. */
  text: string;
  /** The envelope, `{}` for nothing. @throws AppError MALFORMED_JSON */
  parse: () => unknown;
}

/** Parses JSON. @throws AppError MALFORMED_JSON */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('MALFORMED_JSON', { cause });
  }
};

/** A call that brought a text of its own, empty for nothing. It is parsed once. */
export const sentText = (text: string): Sent => {
  let parsed: { envelope: unknown } | undefined;
  const envelopeOf = (): unknown => (text === '' ? {} : removeUndefined(parseJson(text)));
  return { text, parse: () => (parsed ??= { envelope: envelopeOf() }).envelope };
};

/** Equal texts for equal values, but for those too deep for `JSON.stringify`, each of which is like no other. */
const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch {
    return randomUUID();
  }
};

/** A call whose envelope came within something larger. */
export const sentValue = (value: unknown): Sent => {
  const envelope = removeUndefined(value);
  return { text: textOf(envelope), parse: () => envelope };
};
