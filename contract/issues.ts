/** The messages about a refused request: excerpts of its values, and the faults that zod finds. */
import { z } from 'zod';
import type { Issue } from './errors.ts';
import { MAX_ISSUES } from './limits.ts';
import { escapeUnseen, holdsKey, withoutKeys } from './text.ts';

/** Characters of an input that a message shows at most. */
export const MAX_EXCERPT = 100;
/** The number of characters read to make an excerpt: masking and escaping change the length. */
const LOOKED_AT = 4 * MAX_EXCERPT;

/** A text with its control characters below U+0020 as JSON writes them. */
const escapeControls = (text: string): string =>
  Array.from(text, (character) => (character < ' ' ? JSON.stringify(character).slice(1, -1) : character)).join('');

/**
 * The beginning of a text that a caller sent, for a message: at most `max` characters, invisible ones escaped, API keys
 * masked. Its cost does not depend on the length of the text.
 */
export const excerpt = (text: string, max = MAX_EXCERPT): string => {
  const looked = withoutKeys(text.slice(0, LOOKED_AT).toWellFormed());
  const shown = Array.from(escapeUnseen(escapeControls(looked)));
  const isWhole = text.length <= LOOKED_AT && shown.length <= max;
  return isWhole ? shown.join('') : `${shown.slice(0, max - 1).join('')}…`;
};

/** Writes JSON until the text is long enough. */
class Writer {
  text = '';

  get isFull(): boolean {
    return this.text.length >= LOOKED_AT;
  }

  write(value: unknown): void {
    if (this.isFull) return;
    if (typeof value === 'string') this.text += JSON.stringify(value.slice(0, LOOKED_AT));
    else if (typeof value !== 'object' || value === null) this.text += JSON.stringify(value);
    else if (Array.isArray(value)) this.#writeAll('[', value.keys(), ']', (index) => this.write(value[index]));
    else this.#writeMembers(value as Record<string, unknown>);
  }

  #writeMembers(value: Record<string, unknown>): void {
    this.#writeAll('{', Object.keys(value), '}', (name) => {
      this.write(name);
      this.text += ':';
      this.write(value[name]);
    });
  }

  #writeAll<T>(before: string, items: Iterable<T>, after: string, write: (item: T) => void): void {
    this.text += before;
    let isFirst = true;
    for (const item of items) {
      if (this.isFull) return;
      if (!isFirst) this.text += ',';
      isFirst = false;
      write(item);
    }
    this.text += after;
  }
}

/** The beginning of a value as JSON, as `excerpt` shows a text. */
export const excerptOf = (value: unknown, max = MAX_EXCERPT): string => {
  const writer = new Writer();
  writer.write(value);
  return excerpt(writer.text, max);
};

/** The type of a JSON value with its article: `a string`. */
export const kindOf = (value: unknown): string => {
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

const wanted: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  null: 'null',
  object: 'an object',
  record: 'an object',
};

/** `one of "day", "week", "all"` */
const oneOf = (values: readonly unknown[]): string => {
  const words = values.map((value) => JSON.stringify(value)).join(', ');
  return values.length === 1 ? words : `one of ${words}`;
};

const size = (count: number | bigint, unit: string): string => `${count} ${unit}${Number(count) === 1 ? '' : 's'}`;

/** The message for a size beyond a bound, such as `at most 20`. */
const sizeMessage = (origin: string, input: unknown, bound: string, limit: number | bigint): string => {
  if (Array.isArray(input)) return `must hold ${bound} ${size(limit, 'item')}, holds ${input.length}`;
  return origin === 'string' ? `must have ${bound} ${size(limit, 'character')}` : `must be ${bound} ${limit}`;
};

/**
 * This API's message for a fault that has no message of its own. It continues the path of the value, and never repeats
 * the value.
 */
const ownMessageOf = (issue: z.core.$ZodRawIssue): string => {
  const { input } = issue;
  switch (issue.code) {
    case 'invalid_type':
      if (input === undefined) return 'is required';
      return `must be ${wanted[issue.expected] ?? `a ${issue.expected}`}, not ${kindOf(input)}`;
    case 'invalid_value':
      return input === undefined ? `is required: ${oneOf(issue.values)}` : `must be ${oneOf(issue.values)}`;
    case 'too_big':
      return sizeMessage(issue.origin, input, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'too_small':
      return sizeMessage(issue.origin, input, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'regex' ? `must match ${issue.pattern}` : `must be of the format ${issue.format}`;
    case 'unrecognized_keys':
      return 'must not hold unknown members';
    case 'invalid_key':
      return 'must not hold a member of this name';
    case 'invalid_union':
    case 'invalid_element':
    case 'custom':
    default:
      return 'must be of another form';
  }
};

z.config({ localeError: ownMessageOf });

/** A JSON pointer (RFC 6901). */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((member) => `/${String(member).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** zod's path starts at the envelope, ours at `json`. */
const inJson = (path: readonly PropertyKey[]): readonly PropertyKey[] => (path[0] === 'json' ? path.slice(1) : path);

/** Returns the advice that follows an issue's message; for an unknown member, by its name. */
export type Advise = (issue: z.core.$ZodIssue, member?: string) => string | undefined;

const codeOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'custom' && typeof issue.params?.['code'] === 'string' ? issue.params['code'] : issue.code;

const messageOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key'
    ? `is not a usable name: it ${issue.issues[0]?.message ?? issue.message}`
    : issue.message;

/** The reason why a pointer leaves a name out: its length, or an API key in it. */
const unnameable = (name: PropertyKey): string | undefined => {
  if (typeof name !== 'string') return undefined;
  if (name.length > MAX_EXCERPT) return `a member whose name has ${name.length} characters`;
  return holdsKey(name) ? 'a member whose name holds an API key' : undefined;
};

/** An issue at a path. Where a name in the path must not be shown, the issue is at the parent. */
const issueAt = (path: readonly PropertyKey[], code: string, message: string): Issue => {
  const hidden = path.findIndex((name) => unnameable(name) !== undefined);
  if (hidden === -1) return { path: pointerOf(path), code, message };
  return {
    path: pointerOf(path.slice(0, hidden)),
    code,
    message: `must not hold ${unnameable(path[hidden] as PropertyKey)}`,
  };
};

const withAdvice = (message: string, advice: string | undefined): string =>
  advice === undefined ? message : `${message}; ${advice}`;

/** The faults that zod found in a request, in the form of the reply. */
export const issuesOf = (found: readonly z.core.$ZodIssue[], advise: Advise = () => undefined): Issue[] => {
  const issues: Issue[] = [];
  for (const issue of found) {
    if (issues.length >= MAX_ISSUES) break;
    const path = inJson(issue.path);
    if (issue.code !== 'unrecognized_keys') {
      issues.push(issueAt(path, codeOf(issue), withAdvice(messageOf(issue), advise(issue))));
      continue;
    }
    const inEnvelope = issue.path.length === 0;
    for (const key of issue.keys.slice(0, MAX_ISSUES)) {
      const advice = advise(issue, key);
      issues.push(
        inEnvelope
          ? issueAt(
              [],
              issue.code,
              withAdvice(`must not hold ${unnameable(key) ?? excerptOf(key)} beside \`json\``, advice),
            )
          : issueAt([...path, key], issue.code, withAdvice('is not a member of this input', advice)),
      );
    }
  }
  return issues.slice(0, MAX_ISSUES);
};
