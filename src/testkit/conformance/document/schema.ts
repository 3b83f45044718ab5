import { valueAt } from '../values.ts';

/** A schema of a document, in OpenAPI 3.0 or 3.1, as it is written there. */
export type RawSchema = Readonly<Record<string, unknown>>;

/** A schema with its references resolved, in one form for both versions of OpenAPI. */
export interface SchemaShape {
  /** The types that the value may have, `null` among them; undefined for any. */
  types: ReadonlySet<string> | undefined;
  /** The allowed values of an `enum` or `const`. */
  words: ReadonlySet<unknown> | undefined;
  members: Readonly<Record<string, RawSchema>>;
  required: ReadonlySet<string>;
  /** Sets of members of which one has to be there, besides those that are required; none for no such rule. */
  alternatives: readonly (readonly string[])[];
  /** The schema of an array's items. */
  items: RawSchema | undefined;
  /** The schema of additional members; false if there may be none. */
  others: RawSchema | boolean | undefined;
  /** `maxLength` and the like. */
  limits: Readonly<Record<string, number>>;
  /** `pattern`, `format`, and whatever else is said of a value, as JSON. */
  rules: Readonly<Record<string, string>>;
  /** Schemas of which one has to fit, where there are several. */
  choices: readonly RawSchema[];
}

const LIMITS = [
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
];
/** The keywords that other members of a shape hold, and those that bind no value. */
const TOLD = new Set([
  ...LIMITS,
  'properties',
  'required',
  'items',
  'additionalProperties',
  'anyOf',
  'oneOf',
  'if',
  'then',
  'else',
  'description',
  'title',
  'default',
  'example',
  'examples',
  'deprecated',
]);
const REFERENCE = '#/components/schemas/';
const MAX_REFERENCES = 50;

const schemasOf = (document: unknown): Readonly<Record<string, RawSchema>> =>
  (valueAt(document, ['components', 'schemas']) ?? {}) as Record<string, RawSchema>;

/** Whether a schema says no more than which members have to be there. */
const isRequirement = (schema: RawSchema): boolean => Object.keys(schema).every((keyword) => keyword === 'required');
const isNull = ({ type, enum: words }: RawSchema): boolean =>
  type === 'null' || (Array.isArray(words) && words.every((word) => word === null));

/** A schema without references and with one of each keyword. */
const flattened = (document: unknown, schema: RawSchema, depth = 0): RawSchema => {
  const { $ref, allOf, ...own } = schema;
  if (depth > MAX_REFERENCES) return own;
  const parts = [
    ...(typeof $ref === 'string' ? [schemasOf(document)[$ref.slice(REFERENCE.length)] ?? {}] : []),
    ...((allOf as RawSchema[] | undefined) ?? []),
  ].map((part) => flattened(document, part, depth + 1));
  const all = [...parts, own];
  const properties = all.map((part) => part['properties'] as object | undefined);
  const required = all.flatMap((part) => (part['required'] as string[] | undefined) ?? []);
  return Object.assign({}, ...all, { properties: Object.assign({}, ...properties) as object, required }) as RawSchema;
};

/** The shape of a schema of a document. */
export const shapeOf = (document: unknown, schema: RawSchema): SchemaShape => {
  const flat = flattened(document, schema);
  const listed = (flat['anyOf'] ?? flat['oneOf'] ?? []) as RawSchema[];
  const choices = listed.filter((one) => !isRequirement(one)).map((one) => flattened(document, one));
  const values = choices.filter((one) => !isNull(one));
  const [only, ...more] = values;
  const { type, enum: words, const: word, nullable, ...rest } = only && more.length === 0 ? { ...flat, ...only } : flat;
  const isNullable = nullable === true || values.length < choices.length;
  const types = type === undefined ? undefined : [type].flat().map(String);
  const allowed = words === undefined ? (word === undefined ? undefined : [word]) : (words as unknown[]);
  return {
    types: types && new Set([...types, ...(isNullable ? ['null'] : [])]),
    words: allowed && new Set(allowed.filter((one) => one !== null)),
    members: (rest['properties'] ?? {}) as Record<string, RawSchema>,
    required: new Set((rest['required'] as string[] | undefined) ?? []),
    alternatives: [
      ...listed.filter(isRequirement).map((one) => (one['required'] ?? []) as string[]),
      // The document of 3.0 says it by an extension.
      ...((flat['x-required-any-of'] ?? []) as string[]).map((name) => [name]),
    ],
    items: rest['items'] as RawSchema | undefined,
    others: rest['additionalProperties'] as RawSchema | boolean | undefined,
    limits: Object.fromEntries(
      LIMITS.flatMap((name): (readonly [string, number])[] => {
        const limit = rest[name];
        return typeof limit === 'number' ? [[name, limit] as const] : [];
      }),
    ),
    rules: Object.fromEntries(
      Object.entries(rest)
        .filter(([name]) => !TOLD.has(name) && !name.startsWith('x-'))
        .map(([name, rule]) => [name, JSON.stringify(rule)]),
    ),
    choices: more.length === 0 ? [] : values,
  };
};

/** A schema of a document, and those it refers to, as JSON Schema of today. */
export const jsonSchemaOf = (document: unknown, schema: RawSchema): RawSchema => {
  const modern = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(modern);
    if (typeof value !== 'object' || value === null) return value;
    const { nullable, $ref, example: _, ...rest } = value as Record<string, unknown>;
    const members = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, modern(member)]));
    if (typeof $ref === 'string') return { ...members, $ref: $ref.replace(REFERENCE, '#/$defs/') };
    return nullable === true ? { anyOf: [members, { type: 'null' }] } : members;
  };
  return { ...(modern(schema) as object), $defs: modern(schemasOf(document)) };
};
