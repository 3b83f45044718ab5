import { valueAt } from '../values.ts';

/** A schema of a document, in OpenAPI 3.0 or 3.1, as written there. */
export type RawSchema = Readonly<Record<string, unknown>>;

/** A schema, and its place in its document: the name of the component that holds it, and the path from there. */
export interface PlacedSchema {
  schema: RawSchema;
  node: string;
}

/** A schema with its references resolved, in one form for both versions of OpenAPI. */
export interface SchemaShape {
  node: string;
  /** The types that the value may have, `null` among them; undefined for any. */
  types: ReadonlySet<string> | undefined;
  /** The allowed values of an `enum` or `const`. */
  words: ReadonlySet<unknown> | undefined;
  members: Readonly<Record<string, unknown>>;
  required: ReadonlySet<string>;
  /** Sets of members: of each set, one member must be present, besides the required ones. Empty without such a rule. */
  alternatives: readonly (readonly string[])[];
  /** The schema of an array's items. */
  items: unknown;
  /** The schema of additional members; false if none are allowed. */
  others: unknown;
  /** The value that replaces a missing one. */
  fallback: unknown;
  /** The keywords that state that value. */
  fallbackBy: string;
  isDeprecated: boolean;
  /** `maxLength` and the like. */
  limits: Readonly<Record<string, number>>;
  /** `pattern`, `format`, and all other rules on a value, as JSON with references resolved. */
  rules: Readonly<Record<string, string>>;
  /** The schemas of which a value must match one, where several exist. */
  choices: readonly unknown[];
  /** All schemas of which a value must match one, as written, including that of null. */
  options: readonly RawSchema[];
}

const LIMITS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
];
/** The keywords for which a shape has a member of its own. */
const SHAPED = new Set([
  'type',
  'nullable',
  'enum',
  'const',
  'properties',
  'required',
  'items',
  'additionalProperties',
  'default',
  'x-default',
  'deprecated',
]);
/** Members with words for people, which bind no client. All other members of a document's objects are compared. */
export const FOR_PEOPLE: ReadonlySet<string> = new Set([
  'description',
  'summary',
  'title',
  'example',
  'examples',
  'externalDocs',
  'tags',
  'x-codeSamples',
  '$comment',
]);
/** The keywords whose members have names of their own. */
const NAMES = new Set(['properties', 'patternProperties', 'dependentSchemas', 'dependentRequired', '$defs']);
export const REFERENCE = '#/components/schemas/';
const MAX_REFERENCES = 50;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value is a schema object; `true` and `false` are the other schemas. */
export const isSchema = (value: unknown): value is RawSchema => typeof value === 'object' && value !== null;

/** The target of a node's reference, with the members beside the reference. */
export const resolved = (document: unknown, value: unknown): unknown => {
  const { $ref, ...own } = Object(value) as Readonly<Record<string, unknown>>;
  return typeof $ref === 'string' ? { ...(valueAt(document, $ref.split('/').slice(1)) as object), ...own } : value;
};

/** A value as JSON: with references resolved, without words for people, and with sorted members. */
export const meaningOf = (document: unknown, value: unknown): string => {
  const within = (part: unknown, areNames: boolean, referred: readonly string[]): unknown => {
    if (Array.isArray(part)) return part.map((one) => within(one, false, referred));
    if (!isObject(part)) return part;
    const { $ref, ...own } = part;
    const found = areNames || typeof $ref !== 'string' ? undefined : valueAt(document, $ref.split('/').slice(1));
    if (typeof $ref === 'string' && found !== undefined && !referred.includes($ref)) {
      const target = within(found, false, [...referred, $ref]);
      const beside = within(own, false, referred) as object;
      const isOwn = Object.keys(beside).every((name) => !(name in Object(target)));
      return isOwn ? { ...(target as object), ...beside } : { allOf: [target, beside] };
    }
    return Object.fromEntries(
      Object.entries(part)
        .filter(([name]) => areNames || !FOR_PEOPLE.has(name))
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, member]) => [name, within(member, !areNames && NAMES.has(name), referred)]),
    );
  };
  return JSON.stringify(within(value, false, [])) ?? '';
};

/** A pattern with characters in place of their escapes, where the character has no other meaning. */
export const unescaped = (pattern: string): string =>
  pattern.replaceAll(
    /(?<!\\)((?:\\\\)*)\\(?:x([0-9a-f]{2})|u([0-9a-f]{4}))/gi,
    (whole, before: string, x?: string, u?: string) => {
      const character = String.fromCharCode(Number.parseInt(x ?? u ?? '', 16));
      return /[!-/:-@[-`{-~]/.test(character) ? whole : before + character;
    },
  );

/** Whether a schema says no more than which members are required. */
const isRequirement = (schema: RawSchema): boolean =>
  schema['required'] !== undefined && Object.keys(schema).every((keyword) => keyword === 'required');
const NOT_FOR_NULL: ReadonlySet<string> = new Set(['nullable', 'deprecated', 'readOnly', 'writeOnly']);
const isNull = ({ type, enum: words, ...rest }: RawSchema): boolean =>
  Object.keys(rest).every((name) => FOR_PEOPLE.has(name) || NOT_FOR_NULL.has(name)) &&
  (type === 'null' || (Array.isArray(words) && words.length > 0 && words.every((word) => word === null)));

/** A schema as an object: true accepts all values, false none. */
export const asObject = (schema: unknown): RawSchema =>
  isObject(schema) ? schema : schema === false ? { not: {} } : {};

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The type of a value. */
const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};

const typesIn = (type: unknown): string[] => [type].flat().map(String);

/** Whether some types include a type, or one that contains it. */
const isAmong = (type: string, types: readonly string[]): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'));

/** The value of a keyword that has the effect of two schemas' values together; undefined if no value has. */
const inBoth = (name: string, one: unknown, other: unknown): unknown => {
  if (one === undefined || isSame(one, other)) return other;
  if (typeof one === 'number' && typeof other === 'number' && LIMITS.includes(name))
    return /^(?:exclusiveM|m)ax/.test(name) ? Math.min(one, other) : Math.max(one, other);
  if (name === 'required') return [...new Set([...(one as string[]), ...(other as string[])])];
  if (name === 'properties') {
    const [a, b] = [one, other] as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>];
    const both = Object.keys(a).filter((member) => b[member] !== undefined && !isSame(a[member], b[member]));
    return { ...a, ...b, ...Object.fromEntries(both.map((member) => [member, { allOf: [a[member], b[member]] }])) };
  }
  if (name === 'type') {
    const [a, b] = [typesIn(one), typesIn(other)];
    return [...new Set([...a.filter((type) => isAmong(type, b)), ...b.filter((type) => isAmong(type, a))])];
  }
  if (name === 'enum') return (one as unknown[]).filter((word) => (other as unknown[]).includes(word));
  // Of keywords that restrict nothing, the nearer one counts.
  return SHAPED.has(name) && name !== 'const' && name !== 'items' && name !== 'additionalProperties'
    ? other
    : undefined;
};

/** The members of a schema, each also bound by another schema's rule for members that this one does not name. */
const boundBy = ({ additionalProperties: rule, properties: named }: RawSchema, schema: RawSchema): RawSchema => {
  if (rule === undefined || rule === true || !schema['properties']) return schema;
  const members = Object.entries(schema['properties']).map(([name, member]: [string, unknown]) => [
    name,
    Object.hasOwn(Object(named) as object, name) ? member : { allOf: [member, rule] },
  ]);
  return { ...schema, properties: Object.fromEntries(members) as object };
};

/** The schema of values that two schemas allow. Keywords whose values cannot be joined stay in `allOf`. */
const joined = (first: RawSchema, second: RawSchema): RawSchema => {
  const [one, other] = [boundBy(second, first), boundBy(first, second)];
  const result: Record<string, unknown> = { ...one };
  const rest: unknown[] = [...((one['allOf'] ?? []) as unknown[]), ...((other['allOf'] ?? []) as unknown[])];
  for (const [name, value] of Object.entries(other)) {
    const both = name === 'allOf' ? undefined : FOR_PEOPLE.has(name) ? value : inBoth(name, result[name], value);
    if (both !== undefined) result[name] = both;
    else if (name !== 'allOf') rest.push({ [name]: value });
  }
  return rest.length > 0 ? { ...result, allOf: rest } : result;
};

/** A schema without references and with each keyword once. */
const flattened = (document: unknown, { schema, node }: PlacedSchema, depth = 0): PlacedSchema => {
  const { $ref, allOf, ...own } = schema;
  if (depth > MAX_REFERENCES) return { schema: own, node };
  const name = typeof $ref === 'string' ? $ref.replace(REFERENCE, '') : undefined;
  const referred = typeof $ref === 'string' ? valueAt(document, $ref.split('/').slice(1)) : undefined;
  const isMissing = name !== undefined && referred === undefined;
  const parts = [
    ...(name === undefined ? [] : [{ schema: isMissing ? { $ref } : asObject(referred), node: name }]),
    ...((allOf as unknown[] | undefined) ?? []).map((part, n) => ({
      schema: asObject(part),
      node: `${node}/allOf/${n}`,
    })),
  ].map((part, n) => (n === 0 && isMissing ? part : flattened(document, part, depth + 1)));
  const all = [...parts.map((part) => part.schema), own].reduce(joined, { properties: {}, required: [] });
  return { schema: all, node: parts[0]?.node ?? node };
};

/** The keywords that state a default, and the other value if they contradict each other. */
const fallbackBy = ({ default: own, 'x-default': told }: RawSchema): string => {
  if (own === undefined || told === undefined) return own === undefined ? 'x-default' : 'default';
  return isSame(own, told) ? 'default and x-default' : `default, against the x-default ${JSON.stringify(told)}`;
};

/** The shape of a schema of a document. */
export const shapeOf = (document: unknown, placed: PlacedSchema): SchemaShape => {
  const { schema: flat, node } = flattened(document, placed);
  const combined = ['anyOf', 'oneOf'].find((name) => Array.isArray(flat[name])) ?? 'anyOf';
  const listed = ((flat[combined] ?? []) as unknown[]).map(asObject);
  const choices = listed.filter((one) => !isRequirement(one));
  const values = choices.filter((one) => !isNull(one)).map((schema) => flattened(document, { schema, node }));
  const [only, ...more] = values;
  const { [combined]: _, ...others } = flat;
  const keywords = only && more.length === 0 ? joined(others, only.schema) : flat;
  const { type = only || choices.length === 0 ? undefined : 'null', enum: enumerated, nullable } = keywords;
  const given = type === undefined ? undefined : new Set(typesIn(type));
  const constants = 'const' in keywords ? [keywords['const']] : undefined;
  const words =
    Array.isArray(enumerated) && constants
      ? enumerated.filter((word) => isSame(word, constants[0]))
      : (enumerated ?? constants);
  const ofWords = Array.isArray(words) ? new Set(words.map(typeOf)) : undefined;
  const isOfWords = (one: string): boolean =>
    ofWords?.has(one === 'number' ? 'integer' : one) !== false || ofWords.has(one);
  const types = ofWords && type === undefined ? ofWords : given && new Set([...given].filter((one) => isOfWords(one)));
  const isNullable =
    nullable === true ||
    values.length < choices.length ||
    (Array.isArray(words) && words.includes(null) && types?.has('null') !== false);
  if (isNullable) types?.add('null');
  const { if: condition, then, else: otherwise } = keywords;
  const conditions = [condition, otherwise].map(asObject);
  // If some members are missing, others are required.
  const isAlternative = then === undefined && conditions.every(isRequirement);
  const conditional = isAlternative ? conditions.map((one) => one['required'] as string[]) : [];
  const rest = Object.entries(keywords).filter(
    ([name]) =>
      name !== combined &&
      !SHAPED.has(name) &&
      !FOR_PEOPLE.has(name) &&
      !(isAlternative && ['if', 'else'].includes(name)),
  );
  const limits = rest.filter(
    (entry): entry is [string, number] => LIMITS.includes(entry[0]) && typeof entry[1] === 'number',
  );
  return {
    node: only && more.length === 0 ? only.node : node,
    types,
    words: Array.isArray(words) ? new Set(words.filter((one) => one !== null)) : undefined,
    members: (keywords['properties'] ?? {}) as Record<string, unknown>,
    required: new Set((keywords['required'] as string[] | undefined) ?? []),
    alternatives: [
      ...listed.filter(isRequirement).map((one) => one['required'] as string[]),
      ...conditional,
      // A document of 3.0 states it in an extension.
      ...((keywords['x-required-any-of'] ?? []) as string[]).map((name) => [name]),
    ]
      .map((names) => JSON.stringify(names))
      .toSorted()
      .filter((names, n, all) => names !== all[n - 1])
      .map((names) => JSON.parse(names) as string[]),
    items: keywords['items'],
    others: keywords['additionalProperties'],
    fallback: keywords['default'] ?? keywords['x-default'],
    fallbackBy: fallbackBy(keywords),
    isDeprecated: keywords['deprecated'] === true,
    limits: Object.fromEntries(limits),
    rules: Object.fromEntries(
      rest
        .filter(([name, rule]) => !LIMITS.includes(name) || typeof rule !== 'number')
        .map(([name, rule]) => [
          name,
          meaningOf(document, name === 'pattern' && typeof rule === 'string' ? unescaped(rule) : rule),
        ]),
    ),
    choices: more.length === 0 ? [] : values.map(({ schema }) => schema),
    options: choices,
  };
};
