import type { z } from 'zod';
import { pointerOf } from './issues.ts';

/** A schema and its nested schemas, by zod's names for them. */
interface Definition {
  type: string;
  format?: string;
  entries?: Record<string, string | number>;
  values?: readonly unknown[];
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  options?: readonly z.ZodType[];
  innerType?: z.ZodType;
  left?: z.ZodType;
  right?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
}

/** The side of a schema: a transformation makes the two differ. */
export type Side = 'input' | 'output';

/** A schema within another, and the path of members to it: `*` for each element of an array or map. */
interface InnerSchema {
  schema: z.ZodType;
  path: readonly string[];
}

/** All schemas within one, itself first. A schema that wraps another precedes it, under the same path. */
export function* schemasIn(schema: z.ZodType, side: Side, path: readonly string[] = []): Generator<InnerSchema> {
  yield { schema, path };
  const { shape = {}, element, valueType, options = [], ...others } = schema.def as Definition;
  for (const [name, member] of Object.entries(shape)) yield* schemasIn(member, side, [...path, name]);
  for (const each of [element, valueType]) if (each) yield* schemasIn(each, side, [...path, '*']);
  const { innerType, left, right, in: sent, out: answered } = others;
  // A transformation does not describe its input: the schema behind it does.
  const next = side === 'input' && sent?.def.type !== 'transform' ? sent : answered;
  for (const inner of [...options, innerType, left, right, next]) {
    if (inner) yield* schemasIn(inner, side, path);
  }
}

/** A member of an input or output, or one of its enum values. */
export interface Part {
  path: readonly string[];
  word?: string;
  /** `/sortBy`, or `/sortBy=latest`. */
  name: string;
}

const wordsOf = (schema: z.ZodType): string[] => {
  const { type, entries = {}, values = [] } = schema.def as Definition;
  const words = type === 'enum' ? Object.values(entries) : values;
  return words.filter((word) => typeof word === 'string');
};

/** The members of an input or output and their enum values, each once. Array elements count only by their members. */
export const partsOf = (schema: z.ZodType, side: Side): Part[] => {
  const parts = new Map<string, Part>();
  for (const { schema: inner, path } of schemasIn(schema, side)) {
    const pointer = pointerOf(path);
    if (path.length > 0 && path.at(-1) !== '*') parts.set(pointer, { path, name: pointer });
    for (const word of wordsOf(inner)) parts.set(`${pointer}=${word}`, { path, word, name: `${pointer}=${word}` });
  }
  return [...parts.values()];
};

/** Texts with a form of their own, such as addresses and versions, refuse this one. */
const SENTENCE = 'A plain text, for once!';
/** The names of members with ids, slugs and positions in lists: any text is accepted, and looked up. */
const LOOKED_UP = /^(?:id|cursor|before|after)$|(?:Id|Slugs)$/;

const isMeasured = (schema: z.ZodType, path: readonly string[]): boolean => {
  const { type, format } = schema.def as Definition;
  if (type !== 'string') return type === 'number' || type === 'array';
  const { pattern = '' } = (schema.meta() ?? {}) as { pattern?: string };
  const isLookedUp = LOOKED_UP.test(path.findLast((name) => name !== '*') ?? '');
  return !isLookedUp && !format && new RegExp(pattern, 'u').test(SENTENCE);
};

/** The places with numbers, arrays and free texts, each once: consumer contracts record the extremes sent there. */
export const measuredIn = (schema: z.ZodType, side: Side): string[] => {
  const measured = [...schemasIn(schema, side)].filter((inner) => isMeasured(inner.schema, inner.path));
  return [...new Set(measured.map(({ path }) => pointerOf(path)))];
};
