import { valueAt } from '../values.ts';
import type { JsonSchema, Operation } from './operation.ts';

/** A place in a request: a member, or an element of an array. */
export interface ValuePlace {
  /** Its place in the body: `['json', 'title']`. */
  at: readonly string[];
  /** The schema of its values, null aside. */
  schema: JsonSchema;
  required: boolean;
  /** Whether it allows null. */
  nullable: boolean;
  /** The value in the example. */
  sample: unknown;
}

/** Names for members of maps without a member in the example: names, or pointers. */
const ANY_NAMES = ['name', '/name'];

/** A place whose schema may be a reference or allow null. */
type RawPlace = Omit<ValuePlace, 'nullable'>;

const anyName = ({ propertyNames }: JsonSchema): string => {
  const form = new RegExp((valueAt(propertyNames, ['pattern']) ?? '') as string, 'u');
  return ANY_NAMES.find((name) => form.test(name)) ?? String(ANY_NAMES[0]);
};

const childrenOf = ({ at, schema, sample }: ValuePlace): RawPlace[] => {
  const child = (name: string, one: JsonSchema, required = false): RawPlace => ({
    at: [...at, name],
    schema: one,
    required,
    sample: valueAt(sample, [name]),
  });
  const { properties = {}, required = [], items, additionalProperties: values } = schema;
  return [
    ...Object.entries(properties).map(([name, one]) => child(name, one as JsonSchema, required.includes(name))),
    ...(items === undefined ? [] : [child('0', items as JsonSchema)]),
    ...(typeof values === 'object' ? [child(Object.keys(sample ?? {})[0] ?? anyName(schema), values)] : []),
  ];
};

/** All places of an operation's request, the body itself first. */
export const placesOf = ({ bodySchema, example }: Operation): ValuePlace[] => {
  const definitions = bodySchema.$defs ?? {};
  const resolved = (schema: JsonSchema): JsonSchema => {
    const { $ref, anyOf } = schema;
    if ($ref !== undefined) return resolved(definitions[$ref.split('/').at(-1) ?? ''] ?? {});
    const isNullable = anyOf?.some(({ type }) => type === 'null');
    const value = isNullable ? anyOf?.find(({ type }) => type !== 'null') : undefined;
    return value ? resolved(value) : schema;
  };
  const walk = (place: RawPlace): ValuePlace[] => {
    const nullable = place.schema.anyOf?.some(({ type }) => type === 'null') ?? false;
    const here = { ...place, nullable, schema: resolved(place.schema) };
    return [here, ...childrenOf(here).flatMap(walk)];
  };
  // An empty body equals `{}`.
  return walk({ at: [], schema: bodySchema, required: false, sample: { json: example.input } });
};

/** A copy of a JSON value with another value at a place. It creates missing objects on the way. */
export const withValue = (value: unknown, [name, ...rest]: readonly string[], replacement: unknown): unknown => {
  if (name === undefined) return replacement;
  const member = withValue(valueAt(value, [name]), rest, replacement);
  if (Array.isArray(value) || (value === undefined && name === '0')) {
    return Object.assign([...((value as unknown[] | undefined) ?? [])], { [name]: member });
  }
  return { ...(value as object | undefined), [name]: member };
};

/** The members of an operation's input. */
export const inputMembers = (operation: Operation): (ValuePlace & { name: string })[] =>
  placesOf(operation).flatMap((place) => {
    const [root, name, ...rest] = place.at;
    return root === 'json' && name !== undefined && rest.length === 0 ? [{ ...place, name }] : [];
  });
