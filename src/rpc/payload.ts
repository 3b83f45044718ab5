import { randomUUID } from 'node:crypto';
import { jsonHint } from '../suggestions/json.ts';
import { AppError } from '../errors.ts';
import { removeUndefined } from './superjson.ts';

/** What came with a call. */
export interface Payload {
  /** Equal texts are equal inputs. */
  readonly text: string;
  /** The envelope, `{}` for nothing; the same however often it is asked for. @throws AppError MALFORMED_JSON */
  parse: () => unknown;
  /** Whether the input may have a member of this name, found out for less than `parse` costs. */
  mightContain: (name: string) => boolean;
}

/** Parses JSON. @throws AppError MALFORMED_JSON */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const hint = jsonHint(text);
    throw new AppError('MALFORMED_JSON', { cause, ...(hint !== undefined && { hint }) });
  }
};

/** A call that brought a text of its own, empty for nothing. */
export const textPayload = (text: string): Payload => {
  let envelope: unknown;
  return {
    text,
    parse: () => (envelope ??= text === '' ? {} : removeUndefined(parseJson(text))),
    // A name may be written with escapes.
    mightContain: (name) => text.includes(name) || text.includes('\\'),
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
export const valuePayload = (value: unknown): Payload => {
  const envelope = removeUndefined(value);
  return {
    get text() {
      return textOf(envelope);
    },
    parse: () => envelope,
    mightContain: () => true,
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** What a call is given, of its envelope. */
export const inputOf = (envelope: unknown): unknown =>
  isObject(envelope) && Object.hasOwn(envelope, 'json') ? (envelope as { json?: unknown }).json : undefined;

/** Whether there are more than so many values in an envelope: members and elements, and theirs, but for those of `meta`. */
export const hasMoreValues = (envelope: unknown, limit: number): boolean => {
  let count = isObject(envelope) ? Object.keys(envelope).length : 0;
  const pending = [inputOf(envelope)];
  while (pending.length > 0 && count <= limit) {
    const next = pending.pop();
    if (!isObject(next)) continue;
    const members: unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += members.length;
    if (count <= limit) pending.push(...members.filter(isObject));
  }
  return count > limit;
};
