import type { z } from 'zod';
import type { Advise } from '../../../contract/index.ts';
import { aliasesOf, nearest, plain } from './nearest.ts';

/** The most suggestions in one reply; with more wrong names, the document helps better. */
const MAX_SUGGESTIONS = 20;
/** Longer texts are not converted to another type. */
const MAX_RECAST = 100;

const memberAliases = aliasesOf('members');
const valueAliases = aliasesOf('values');

/** The parts of zod's definitions that link a schema to its inner schemas. */
interface MemberDefinition {
  innerType?: z.ZodType;
  out?: z.ZodType;
  element?: z.ZodType;
  valueType?: z.ZodType;
  shape?: Record<string, z.ZodType>;
}

const definitionOf = (schema: z.ZodType | undefined): MemberDefinition => {
  let definition = (schema?.def ?? {}) as MemberDefinition;
  for (;;) {
    const inner = definition.innerType ?? (definition.shape ? undefined : definition.out);
    if (!inner) return definition;
    definition = inner.def as MemberDefinition;
  }
};

const within = (schema: z.ZodType | undefined, member: PropertyKey): z.ZodType | undefined => {
  const { shape, element, valueType } = definitionOf(schema);
  if (!shape) return element ?? valueType;
  return Object.hasOwn(shape, member) ? shape[String(member)] : undefined;
};

/** The schemas of the members of the object at a path, by their names; empty if no object is there. */
export const membersAt = (schema: z.ZodType, path: readonly PropertyKey[] = []): Record<string, z.ZodType> => {
  const at = path.reduce<z.ZodType | undefined>(within, schema);
  return definitionOf(at).shape ?? {};
};

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, member) => {
    const holder = Object(at) as Record<PropertyKey, unknown>;
    return Object.hasOwn(holder, member) ? holder[member] : undefined;
  }, value);

/** `extraInfo.fileSize`, if a member with this name belongs in another member. */
const deeper = (member: string, members: Record<string, z.ZodType>): string | undefined => {
  for (const [name, schema] of Object.entries(members)) {
    const inner = Object.keys(membersAt(schema)).find((one) => plain(one) === plain(member));
    if (inner !== undefined) return `${name}.${inner}`;
  }
  return undefined;
};

/** The member that an unknown one most likely means, unless the input already has it. */
const meant = (issue: z.core.$ZodIssue, member: string, body: z.ZodType, sent: unknown): string | undefined => {
  const isBesideJson = issue.path.length === 0;
  const path = isBesideJson ? ['json'] : issue.path;
  const members = membersAt(body, path);
  const there = Object(valueAt(sent, path)) as object;
  const names = Object.keys(members).filter((name) => !Object.hasOwn(there, name));
  return nearest(member, names, memberAliases) ?? deeper(member, members);
};

/** Whether a text is a JSON number or boolean. */
const isQuoted = (value: unknown): boolean =>
  typeof value === 'string' && /^(?:true|false|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)$/.test(value);

/** A suggestion for an array instead of an object with one member that takes an array of records. */
const memberFor = (path: readonly PropertyKey[], body: z.ZodType): string | undefined => {
  const arrays = Object.entries(membersAt(body, path)).filter(
    ([, schema]) => definitionOf(definitionOf(schema).element).shape,
  );
  return arrays.length === 1 ? `put the array into \`${arrays[0]?.[0]}\`` : undefined;
};

/** PHP writes every empty array as `[]`, even if an object was meant. */
export const EMPTY_IN_PHP = 'in PHP, an empty object is `new stdClass()` or `(object) []`';

/** A suggestion for an array instead of an object. */
const namesFor = ({ path, expected }: z.core.$ZodIssueInvalidType, body: z.ZodType, sent: unknown) => {
  const value = valueAt(sent, path);
  if (!Array.isArray(value) || !['object', 'record'].includes(expected)) return undefined;
  if (value.length === 0) return `send \`{}\`; ${EMPTY_IN_PHP}`;
  const [name] = Object.keys(membersAt(body, path));
  return memberFor(path, body) ?? (name === undefined ? undefined : `give its values names, such as \`${name}\``);
};

/** A suggestion for a value of a wrong type, if its meaning is clear. */
const recast = ({ path }: z.core.$ZodIssue, body: z.ZodType, sent: unknown): string | undefined => {
  const [value, at, name] = [valueAt(sent, path), path.slice(0, -1), String(path.at(-1))];
  const members = membersAt(body, at);
  if (!Object.hasOwn(members, name)) return undefined;
  const takes = (other: unknown): boolean => (members[name] as z.ZodType).safeParse(other).success;
  if (value === null) return takes(undefined) ? 'leave it out for none' : undefined;
  if (isQuoted(value) && takes(JSON.parse(value as string))) return 'write it without quotes';
  return typeof value === 'string' && value.length < MAX_RECAST && takes([value]) ? 'put it into an array' : undefined;
};

/**
 * Makes a function that suggests for each issue what unknown members and values most likely mean. `body` is the schema
 * of the envelope, and `sent` the envelope. Input members without a suggestion are passed to `miss`.
 */
export const adviser = (body: z.ZodType, sent: unknown, miss: () => void): Advise => {
  let left = MAX_SUGGESTIONS;
  return (issue, member) => {
    if (left === 0) return undefined;
    if (issue.code === 'invalid_value') {
      left -= 1;
      const value = valueAt(sent, issue.path);
      const near = typeof value === 'string' ? nearest(value, issue.values.map(String), valueAliases) : undefined;
      return near === undefined ? undefined : `did you mean ${JSON.stringify(near)}?`;
    }
    if (issue.code === 'invalid_type') {
      left -= 1;
      return namesFor(issue, body, sent) ?? (issue.path.length > 1 ? recast(issue, body, sent) : undefined);
    }
    if (member === undefined) return undefined;
    left -= 1;
    const near = meant(issue, member, body, sent);
    if (near === undefined && issue.path.length === 1) miss();
    if (near === undefined) return undefined;
    return issue.path.length === 0 ? `put \`${near}\` into \`json\`` : `did you mean \`${near}\`?`;
  };
};
