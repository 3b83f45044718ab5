import type { ProcedureMetadata } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { randomUUID } from '../base/runtime.ts';
import { jsonHint } from '../base/suggestions/json.ts';

type JsonMembers = Record<string, unknown>;

const isMembers = (value: unknown): value is JsonMembers => typeof value === 'object' && value !== null;

/** The parts of a path. superjson first escaped only dots; since its `meta` has a `v`, it also escapes backslashes. */
const pathParts = (v: unknown): RegExp => (Number(v) >= 1 ? /\\([.\\])|\.|[^.\\]+|\\/g : /\\(\.)|\.|[^.\\]+|\\/g);

/** `a.b\\.c` → `['a', 'b.c']` */
const pathOf = (name: string, parts: RegExp): string[] => {
  const path = [''];
  for (const [part, escaped] of name.matchAll(parts)) {
    if (part === '.') path.push('');
    else path.push(path.pop() + (escaped ?? part));
  }
  return path;
};

const follow = (from: unknown, path: readonly string[]): unknown => {
  let value = from;
  for (const member of path) {
    if (!isMembers(value) || !Object.hasOwn(value, member)) return undefined;
    value = value[member];
  }
  return value;
};

/**
 * Reverts superjson's encoding of undefined members: it writes null and names them in `meta.values`. Other annotations
 * are ignored: the API has none, and an input can make superjson's own decoder use unbounded memory. Each annotation is
 * visited once. `meta.values` is `{path: node}` or, for the whole of `json`, a node: `[type]` or `[type, {path:
 * node}]`.
 */
export const removeUndefined = (envelope: unknown): unknown => {
  if (!isMembers(envelope) || !isMembers(envelope['meta'])) return envelope;
  const { values, v } = envelope['meta'];
  const parts = pathParts(v);
  const pending: { parent: JsonMembers; path: string[]; node: unknown }[] = [];
  const addChildren = (parent: unknown, children: unknown): void => {
    if (!isMembers(parent) || !isMembers(children)) return;
    for (const [name, node] of Object.entries(children)) pending.push({ parent, path: pathOf(name, parts), node });
  };

  if (Array.isArray(values)) pending.push({ parent: envelope, path: ['json'], node: values });
  else addChildren(envelope['json'], values);

  for (let next = pending.pop(); next; next = pending.pop()) {
    const { parent, path, node } = next;
    if (!Array.isArray(node)) continue;
    const holder = follow(parent, path.slice(0, -1));
    const name = path.at(-1) ?? '';
    if (!isMembers(holder) || !Object.hasOwn(holder, name)) continue;
    if (node[0] === 'undefined' && holder[name] === null && !Array.isArray(holder)) delete holder[name];
    else addChildren(holder[name], node[1]);
  }
  return envelope;
};

/** The payload of a call. */
export interface Payload {
  /** Equal inputs have equal texts. */
  readonly text: string;
  /** The envelope; `{}` for an empty payload. */
  readonly envelope: unknown;
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

/** Returns the payload of a call with its own text; an empty text means no input. @throws AppError MALFORMED_JSON */
export const textPayload = (text: string): Payload => ({
  text,
  envelope: text === '' ? {} : removeUndefined(parseJson(text)),
});

/** Returns equal texts for equal values. A value too deep for `JSON.stringify` gets a unique text. */
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
    envelope,
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The input in an envelope. */
export const inputOf = (envelope: unknown): unknown =>
  isObject(envelope) && Object.hasOwn(envelope, 'json') ? (envelope as { json?: unknown }).json : undefined;

/** Whether an envelope holds more values than a limit. Counts members and elements at any depth, without `meta`. */
const hasMoreValues = (envelope: unknown, limit: number): boolean => {
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

/** Refuses inputs with far too many values: finding all faults would take long. @throws AppError VALIDATION_FAILED */
export const assertSize = ({ maxValues: limit }: Pick<ProcedureMetadata, 'maxValues'>, envelope: unknown): void => {
  if (!hasMoreValues(envelope, limit)) return;
  const issue = { path: '', code: 'too_big', message: `must not hold more than ${limit} values in all` };
  throw new AppError('VALIDATION_FAILED', { issues: [issue], hint: 'The input is too large to look for its faults.' });
};
