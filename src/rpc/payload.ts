import { randomUUID } from 'node:crypto';
import { jsonHint } from '../base/suggestions/json.ts';
import { AppError } from '../base/errors.ts';
import { removeUndefined } from './superjson.ts';

/** The payload of a call. */
export interface Payload {
  /** Equal texts are equal inputs. */
  readonly text: string;
  /** The envelope, `{}` for nothing; the same however often it is asked for. @throws AppError MALFORMED_JSON */
  parse: () => unknown;
  /** Whether the input may have a member of this name, cheaper than by `parse`. */
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

/** The payload of a call with its own text, empty for none. */
export const textPayload = (text: string): Payload => {
  let envelope: unknown;
  return {
    text,
    parse: () => (envelope ??= text === '' ? {} : removeUndefined(parseJson(text))),
    // A name may be written with escapes.
    mightContain: (name) => text.includes(name) || text.includes('\\'),
  };
};

/** Equal texts for equal values. A value too deep for `JSON.stringify` gets a text of its own. */
const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch {
    return randomUUID();
  }
};

/** The payload of a call within a batch. */
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

/** The input in an envelope. */
export const inputOf = (envelope: unknown): unknown =>
  isObject(envelope) && Object.hasOwn(envelope, 'json') ? (envelope as { json?: unknown }).json : undefined;

/** Whether an envelope holds more values than a limit: members and elements at any depth, without `meta`. */
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
