import { randomUUID } from 'node:crypto';
import { AppError } from '../errors.ts';
import { removeUndefined } from './superjson.ts';

/** What came with a call. */
export interface Sent {
  /** Equal texts are equal inputs. */
  readonly text: string;
  /** The envelope, `{}` for nothing; the same however often it is asked for. @throws AppError MALFORMED_JSON */
  parse: () => unknown;
  /** Whether the input may have a member of this name, found out for less than `parse` costs. */
  mayHave: (name: string) => boolean;
}

/** Parses JSON. @throws AppError MALFORMED_JSON */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('MALFORMED_JSON', { cause });
  }
};

/** A call that brought a text of its own, empty for nothing. */
export const sentText = (text: string): Sent => {
  let envelope: unknown;
  return {
    text,
    parse: () => (envelope ??= text === '' ? {} : removeUndefined(parseJson(text))),
    // A name may be written with escapes.
    mayHave: (name) => text.includes(name) || text.includes('\\'),
  };
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
  return {
    get text() {
      return textOf(envelope);
    },
    parse: () => envelope,
    mayHave: () => true,
  };
};

/** What a call is given, of its envelope. */
export const inputOf = (envelope: unknown): unknown =>
  typeof envelope === 'object' && envelope !== null && 'json' in envelope ? envelope.json : undefined;

/** Whether there are more than so many values in a value: members and elements, and theirs. */
export const hasMoreValues = (value: unknown, limit: number): boolean => {
  let count = 0;
  const pending = [value];
  for (let next = pending.pop(); next !== undefined || pending.length > 0; next = pending.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const members: unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += members.length;
    if (count > limit) return true;
    for (const member of members) if (typeof member === 'object' && member !== null) pending.push(member);
  }
  return false;
};
