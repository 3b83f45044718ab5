import { pointerOf } from '../../../../contract/issues.ts';
import { show } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import { type ClientDocument, type DocumentedOperation, membersOf } from './client-document.ts';
import {
  asObject,
  FOR_PEOPLE,
  meaningOf,
  type PlacedSchema,
  type RawSchema,
  type SchemaShape,
  shapeOf,
} from './schema.ts';

/** A difference between the document of a client and the current one. */
export interface Change {
  /** The id of the operation, or `event`, a message to webhooks; `the document` for all. */
  operation: string;
  /** The former rule, and the current one. */
  expected: string;
  came: string;
  /** Where in the request or the reply: `the request /json/limit`, `200 /result/data/json/items/*`. */
  where: string;
  /** Whether a client may fail by it; else it is but new. */
  breaks: boolean;
  /** Where in the document it is: one change there may concern many operations. */
  node: string;
  /** The words that a request may not have any more, or a reply may newly, or not, have; undefined where the change is about more than some words. */
  words?: readonly string[];
  /** Whether a member of a reply may be missing. */
  absent?: true;
  /** Whether the request needs more than before: who does not send what is named fails, too. */
  demands?: true;
  /** Set where the comparison cannot tell whether a client fails by it. */
  unsure?: true;
  /** The limit of a request that is narrower than before: who sends what satisfies it does not fail. */
  limit?: { name: string; value: number };
  /** A reason that no longer comes, or comes otherwise: who handles it may not handle that. */
  reason?: string;
  /** The reasons of the failures that it is about: who handles none of them is not concerned. */
  failures?: readonly string[];
}

/** Which way values go: a client must be understood in what it sends, and understand what it gets. */
type Direction = 'request' | 'reply';

type SchemaDifference = Omit<Change, 'operation' | 'where'> & {
  path: readonly string[];
  /** Whether it is about a member of a reply that could be missing before. */
  isOptional?: boolean;
};
type Difference = Omit<SchemaDifference, 'path' | 'node'>;

const NOTHING = 'nothing';

const wordsOf = (values: Iterable<unknown>): string => [...values].map(show).join(', ');

/** The elements of `all` that `some` lacks. */
const lacking = (all: ReadonlySet<unknown>, some: ReadonlySet<unknown>): unknown[] =>
  [...all].filter((one) => !some.has(one));

/** A number is an integer or another one. */
const typesOf = ({ types }: SchemaShape): ReadonlySet<string> | undefined =>
  types?.has('number') ? new Set([...types, 'integer']) : types;

/** Whether what may be there are words, and not types or numbers. */
const areWords = (noun: string, values: Iterable<unknown>): boolean =>
  noun === 'value' && [...values].every((value) => typeof value === 'string');

/** A change of what may be there, towards less of it or more: less binds requests, and more binds replies. */
const difference = (
  isLess: boolean,
  way: Direction,
  { expected, came, words }: Pick<Change, 'expected' | 'came'> & { words?: readonly unknown[] | undefined },
): Difference => {
  const breaks = isLess === (way === 'request');
  return {
    expected,
    came,
    breaks,
    // A client may wait for a word that never comes.
    ...(isLess && way === 'reply' && words && { unsure: true as const }),
    ...(words && (breaks || way === 'reply') && { words: words as string[] }),
  };
};

/** How what may be there differs. */
const differencesOfSets = (
  noun: string,
  before: ReadonlySet<unknown> | undefined,
  now: ReadonlySet<unknown> | undefined,
  way: Direction,
): Difference[] => {
  const all = `any ${noun}`;
  if (!before && !now) return [];
  if (!before || !now) {
    const [expected, came] = [before, now].map((set) => (set ? wordsOf(set) : all)) as [string, string];
    // Any text is words that are new.
    const words = way === 'reply' && before && areWords(noun, before) ? [] : undefined;
    return [difference(now !== undefined, way, { expected, came, words })];
  }
  const [gone, fresh] = [lacking(before, now), lacking(now, before)];
  const told = (values: unknown[]) => (areWords(noun, values) ? values : undefined);
  return [
    ...(gone.length > 0
      ? [difference(true, way, { expected: `the ${noun} ${wordsOf(gone)}`, came: NOTHING, words: told(gone) })]
      : []),
    ...(fresh.length > 0
      ? [difference(false, way, { expected: `no ${noun} ${wordsOf(fresh)}`, came: 'it', words: told(fresh) })]
      : []),
  ];
};

/** The limits of a schema that bind: an exclusive one as the other, and none that no value can exceed. */
const limitsOf = (shape: SchemaShape): Readonly<Record<string, number>> => {
  const { types, words, limits, others, rules, members } = shape;
  const { exclusiveMinimum, exclusiveMaximum, ...own } = limits;
  const step = types?.has('integer') && !types.has('number') ? 1 : Number.MIN_VALUE;
  const minimum = Math.max(own['minimum'] ?? -Infinity, (exclusiveMinimum ?? -Infinity) + step);
  const maximum = Math.min(own['maximum'] ?? Infinity, (exclusiveMaximum ?? Infinity) - step);
  const most = others === false && !rules['patternProperties'] ? Object.keys(members).length : Infinity;
  const maxProperties = Math.min(own['maxProperties'] ?? Infinity, most);
  const all = { ...own, minimum, maximum, maxProperties };
  const lengths = words && [...words].map((word) => (typeof word === 'string' ? Array.from(word).length : NaN));
  const isIdle = (name: string, limit: number): boolean =>
    !Number.isFinite(limit) ||
    (/^min[LIP]/.test(name) && limit === 0) ||
    // Each of the words satisfies it.
    (name.endsWith('Length') && lengths?.every((n) => (name === 'maxLength' ? n <= limit : n >= limit)) === true);
  return Object.fromEntries(Object.entries(all).filter(([name, limit]) => !isIdle(name, limit)));
};

/** Limits that now refuse inputs that a client may send, or allow replies that it may not bear. */
const differencesOfLimits = (before: SchemaShape, now: SchemaShape, way: Direction): Difference[] => {
  const [limits, others] = [limitsOf(before), limitsOf(now)];
  // Members that come and go are told of themselves.
  const names = new Set([...Object.keys(limits), ...Object.keys(others)]);
  return [...names].flatMap((name): Difference[] => {
    const [a, b] = [limits[name], others[name]];
    if (a === b || (name === 'maxProperties' && before.limits[name] === now.limits[name])) return [];
    const isUpper = name.startsWith('max');
    const [from, to] = isUpper ? [a ?? Infinity, b ?? Infinity] : [-(a ?? -Infinity), -(b ?? -Infinity)];
    const { breaks, ...told } = difference(to < from, way, {
      expected: `${name} ${a ?? 'none'}`,
      came: String(b ?? 'none'),
    });
    if (way === 'reply') return [breaks ? { ...told, breaks: false, unsure: true } : { ...told, breaks }];
    return [{ ...told, breaks, ...(breaks && b !== undefined && { limit: { name, value: b } }) }];
  });
};

/** Rules, which a comparison cannot weigh: whether the current one allows more, or less, it cannot tell. */
const differencesOfRules = (
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
  unknownBefore: readonly string[],
): Difference[] => {
  const names = new Set([...Object.keys(before.rules), ...Object.keys(now.rules)]);
  return [...names].flatMap((name): Difference[] => {
    const [a, b] = [before.rules[name], now.rules[name]];
    if (a === b || (a === undefined && unknownBefore.includes(name))) return [];
    const told = { expected: `${name} ${a ?? 'none'}`, came: b ?? 'none' };
    if (name === 'format' && way === 'reply' && a !== undefined) return [{ ...told, breaks: true }];
    // Such a member is not sent, or does not come.
    if (name === (way === 'request' ? 'readOnly' : 'writeOnly'))
      return [{ ...told, breaks: b === 'true', ...(way === 'reply' && { absent: true as const }) }];
    // One that goes allows more, and one that comes allows less.
    const isHarmless =
      NOTES.has(name) || ((way === 'request' ? b : a) === undefined && isRestriction(name, [before, now]));
    return [{ ...told, breaks: false, ...(!isHarmless && { unsure: true as const }) }];
  });
};

/** The rules that allow and refuse nothing in JSON. */
const NOTES: ReadonlySet<string> = new Set([
  '$defs',
  'x-required-any-of',
  '$anchor',
  '$id',
  'xml',
  'discriminator',
  'readOnly',
  'writeOnly',
]);

/** The rules that do nothing but refuse values. */
const RESTRICTIONS: ReadonlySet<string> = new Set([
  'pattern',
  'format',
  'uniqueItems',
  'multipleOf',
  'x-order',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'allOf',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Whether a rule does nothing but refuse values: what it names may be exempt from another rule. */
const isRestriction = (name: string, shapes: readonly SchemaShape[]): boolean => {
  if (shapes.some(({ rules }) => Object.keys(rules).some((other) => other !== name && other.startsWith('unevaluated'))))
    return ['pattern', 'format', 'uniqueItems', 'multipleOf'].includes(name);
  if (name === 'patternProperties') return shapes.every(({ others }) => isAny(others));
  if (name === 'prefixItems') return shapes.every(({ items }) => isAny(items));
  return RESTRICTIONS.has(name);
};

const isAny = (schema: unknown): boolean =>
  schema === undefined || schema === true || (isSchema(schema) && Object.keys(schema).length === 0);

/** Whether users of a value are told to do without it. */
const differencesOfNotes = (before: SchemaShape, now: SchemaShape): Difference[] =>
  before.isDeprecated === now.isDeprecated
    ? []
    : [
        {
          expected: before.isDeprecated ? 'deprecated' : 'not deprecated',
          came: now.isDeprecated ? 'deprecated' : 'not',
          breaks: false,
        },
      ];

/** Differences in the values that take the place of members that are left out. */
const differencesOfDefaults = (
  { client, current }: Documents,
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
): (Difference & { name: string })[] =>
  Object.keys(before.members).flatMap((name) => {
    const [was, is] = [
      shapeOf(client.document, { schema: asObject(before.members[name]), node: '' }),
      shapeOf(current.document, { schema: asObject(now.members[name]), node: '' }),
    ];
    const [from, to] = [was, is].map(
      ({ fallback }) => `default ${fallback === undefined ? 'none' : show(fallback)}`,
    ) as [string, string];
    const isSent = way === 'request' && !before.required.has(name);
    const isSame = JSON.stringify(was.fallback) === JSON.stringify(is.fallback);
    if (!now.members[name]) return [];
    if (isSame && was.fallbackBy !== is.fallbackBy) {
      const unsure = is.fallbackBy.includes('against') && { unsure: true as const };
      const told = { expected: `default said by ${was.fallbackBy}`, came: `by ${is.fallbackBy}`, breaks: false };
      return [{ name, ...told, ...unsure }];
    }
    return isSame
      ? []
      : [{ name, expected: from, came: to, breaks: isSent, ...(isSent && { demands: true as const }) }];
  });

const differencesOfMembers = (
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
): (Difference & { name: string })[] => {
  const isReply = way === 'reply';
  const names = new Set([before, now].flatMap(({ members, required }) => [...Object.keys(members), ...required]));
  return [...names].flatMap((name): (Difference & { name: string })[] => {
    const [was, is] = [before, now].map(({ members }) => Object.hasOwn(members, name)) as [boolean, boolean];
    const [wasRequired, isRequired] = [before, now].map(({ required }) => required.has(name)) as [boolean, boolean];
    const absent = isReply && !(was && isRequired) && { absent: true as const };
    if (was && !is)
      return [
        {
          name,
          expected: 'the member',
          came: NOTHING,
          breaks: true,
          ...(isReply && !wasRequired && { isOptional: true }),
          ...absent,
        },
      ];
    if (isReply && wasRequired && !isRequired)
      return [{ name, expected: 'the member', came: 'it may be missing', breaks: true, ...absent }];
    if (!isReply && isRequired && !wasRequired)
      return [{ name, expected: 'no need of the member', came: 'it is required', breaks: true, demands: true }];
    if (!was && is)
      return [{ name, expected: 'no such member', came: isReply ? 'it is there' : 'it may be given', breaks: false }];
    if (wasRequired === isRequired) return [];
    return [
      {
        name,
        expected: wasRequired ? 'it is required' : 'it may be missing',
        came: isRequired ? 'it is always there' : 'it may be left out',
        breaks: false,
      },
    ];
  });
};

/** Which of several members have to be there. */
const wordsOfAlternatives = ({ alternatives }: SchemaShape): string =>
  alternatives.length === 0
    ? 'no member of several'
    : `one of ${alternatives.map((names) => names.join(' and ')).join(', ')}`;

/** Differences in the sets of members of which one is required: the client may send fewer than are required now. */
const differencesOfAlternatives = (before: SchemaShape, now: SchemaShape, way: Direction): Difference[] => {
  if (JSON.stringify(before.alternatives) === JSON.stringify(now.alternatives)) return [];
  const sent = before.alternatives.length > 0 ? before.alternatives : [[]];
  const isTaken = (members: readonly string[]): boolean =>
    now.alternatives.length === 0 ||
    now.alternatives.some((needed) => needed.every((name) => members.includes(name) || before.required.has(name)));
  const told = { expected: `${wordsOfAlternatives(before)} to be required`, came: wordsOfAlternatives(now) };
  if (way === 'reply') return [{ ...told, breaks: false, unsure: true }];
  return [{ ...told, breaks: !sent.every(isTaken), demands: true }];
};

const kindOf = (others: unknown): string =>
  others === false
    ? 'no others'
    : isSchema(others) && Object.keys(others).length > 0
      ? 'others of a form'
      : 'any others';

/** How additional members differ, where one of both has no schema of them. */
const differencesOfOthers = (
  { others: a }: SchemaShape,
  { others: b }: SchemaShape,
  way: Direction,
): (Difference & { name: string })[] => {
  const [from, to] = [kindOf(a), kindOf(b)];
  if (from === to) return [];
  const told = { name: '*', expected: from, came: to };
  // No client sends or reads members that no document names, but for those of a map.
  const isOfMap = from === 'others of a form';
  const isLess = to === 'no others' || (to === 'others of a form' && from === 'any others');
  return [{ ...told, breaks: isOfMap && isLess === (way === 'request') }];
};

const isSchema = (one: unknown): one is RawSchema => typeof one === 'object' && one !== null;

/** Two documents that are compared, and the differences of schemas in them that are known already. */
interface Documents {
  client: ClientDocument;
  current: ClientDocument;
  known: Record<Direction, Map<RawSchema, Map<RawSchema, SchemaDifference[]>>>;
}

const isOlder = ({ client }: Documents): boolean => String(valueAt(client.document, ['openapi'])).startsWith('3.0');

/** The differences of two schemas, each by its path from there. One that refers to itself is compared once. */
const differencesOf = (
  documents: Documents,
  before: PlacedSchema,
  now: PlacedSchema,
  way: Direction,
): readonly SchemaDifference[] => {
  const known = documents.known[way].get(before.schema) ?? new Map<RawSchema, SchemaDifference[]>();
  documents.known[way].set(before.schema, known);
  const found = known.get(now.schema) ?? [];
  if (known.has(now.schema)) return found;
  known.set(now.schema, found);
  const [a, b] = [shapeOf(documents.client.document, before), shapeOf(documents.current.document, now)];
  const at = (name: string | undefined, differences: readonly (Difference & Partial<SchemaDifference>)[]): void => {
    const own = name === undefined ? [] : [name];
    const node = [a.node, ...own].join('/');
    for (const one of differences) found.push({ node, ...one, path: [...own, ...(one.path ?? [])] });
  };
  if (way === 'request' && isAny(now.schema) && !isAny(before.schema)) {
    // It takes whatever comes; what it does with that, the document does not say.
    at(undefined, [{ expected: 'a schema', came: 'any value', breaks: false, unsure: true }]);
    return found;
  }
  const choices = differencesOfChoices(documents, [before.schema, now.schema], [a, b], way);
  if (choices) {
    at(undefined, choices);
    return found;
  }
  at(undefined, [
    ...differencesOfSets('type', typesOf(a), typesOf(b), way),
    ...differencesOfSets('value', a.words, b.words, way),
    ...differencesOfAlternatives(a, b, way),
    ...differencesOfLimits(a, b, way),
    ...differencesOfRules(a, b, way, isOlder(documents) ? NOT_IN_3_0 : []),
    ...differencesOfNotes(a, b),
    ...(a.choices.length === b.choices.length
      ? []
      : [{ expected: `one of ${a.choices.length} choices`, came: `of ${b.choices.length}`, breaks: true }]),
  ]);
  for (const { name, ...one } of [
    ...differencesOfMembers(a, b, way),
    ...differencesOfDefaults(documents, a, b, way),
    ...differencesOfOthers(a, b, way),
  ])
    at(name, [one]);
  const within = (one: unknown, other: unknown, name: string): readonly SchemaDifference[] =>
    one !== undefined && other !== undefined && (isSchema(one) || isSchema(other))
      ? differencesOf(
          documents,
          { schema: asObject(one), node: `${a.node}/${name}` },
          { schema: asObject(other), node: `${b.node}/${name}` },
          way,
        )
      : [];
  for (const [name, member] of Object.entries(a.members)) at(name, within(member, b.members[name], name));
  if (a.items !== undefined || b.items !== undefined) at('*', within(a.items ?? {}, b.items ?? {}, '*'));
  if (isSchema(a.others) && isSchema(b.others)) at('*', within(a.others, b.others, '*'));
  if (a.choices.length === b.choices.length)
    a.choices.forEach((one, n) => at(undefined, within(one, b.choices[n], `${n}`)));
  return found;
};

/** Whether a schema, as JSON, is one of null. */
const isOfNull = (one: string): boolean => (JSON.parse(one) as RawSchema)['type'] === 'null';

/** The choices of a schema by their meaning; itself, where it has none. */
const meaningsOf = (document: object, { options }: SchemaShape, whole: string): string[] =>
  options.length === 0 ? [whole] : options.map((one) => meaningOf(document, one));

/**
 * How the choices of two schemas differ, where one has more of them: that is all that differs then, if one of both is a choice of the
 * other, or has the same besides; undefined where they are to be compared otherwise.
 */
const differencesOfChoices = (
  { client, current }: Documents,
  [before, now]: readonly [RawSchema, RawSchema],
  [a, b]: readonly [SchemaShape, SchemaShape],
  way: Direction,
): Difference[] | undefined => {
  if (a.choices.length === b.choices.length || (a.options.length === 0 && b.options.length === 0)) return undefined;
  const own = (document: object, schema: RawSchema): string => {
    if (typeof schema['$ref'] === 'string') return own(document, resolved(document, schema) as RawSchema);
    const { anyOf: _, oneOf: _o, default: _d, 'x-default': _x, ...rest } = schema;
    return meaningOf(document, rest);
  };
  const [x, y] = [own(client.document, before), own(current.document, now)];
  const [old, fresh] = [meaningsOf(client.document, a, x), meaningsOf(current.document, b, y)];
  const gone = fresh.includes('{}') ? [] : old.filter((one) => !fresh.includes(one));
  // A choice of null that has another rule is no more than null.
  const isKnown = (one: string): boolean => old.includes(one) || (isOfNull(one) && old.some(isOfNull));
  const came = old.includes('{}') ? [] : fresh.filter((one) => !isKnown(one));
  const told = { expected: `one of ${a.options.length} choices`, came: `of ${b.options.length}` };
  const isSame = x === y;
  if (isSame && (a.options.length === 0 || b.options.length === 0)) {
    const isLess = b.options.length > 0;
    if (isLess === (way === 'reply')) return [{ ...told, breaks: false }];
    return [{ ...told, breaks: way === 'reply', ...(way === 'request' && { unsure: true as const }) }];
  }
  if (gone.length === old.length && came.length === fresh.length) return undefined;
  // Of `oneOf`, what fits another one, too, is refused.
  const isExclusive = [before, now].some(({ oneOf }) => oneOf !== undefined);
  const [less, more] = way === 'request' ? [gone, came] : [came, gone];
  return [
    ...(less.length > 0 ? [{ ...told, breaks: true }] : []),
    ...(more.length > 0 ? [{ ...told, breaks: false, ...(isExclusive && { unsure: true as const }) }] : []),
  ];
};

/** The rules that OpenAPI 3.0 cannot express: they may have held before. */
const NOT_IN_3_0: readonly string[] = ['propertyNames', 'if', 'then', 'else'];

/** An operation in two documents. */
interface Pair extends Documents {
  before: DocumentedOperation;
  now: DocumentedOperation;
}

type Told = Omit<Change, 'operation' | 'node'> & { node?: string };

/** Promises that earlier documents left to guides: one that comes changes nothing. */
const ANNOUNCED: ReadonlySet<string> = new Set(['x-limits', 'x-order']);

/** The members of two objects that nothing else has compared, and that bind clients: their meaning is not known. */
const restOf = (
  { client, current }: Documents,
  [before, now]: readonly [unknown, unknown],
  compared: readonly string[],
  where: string,
): Told[] => {
  const names = new Set([...membersOf(before), ...membersOf(now)].map(([name]) => name));
  return [...names]
    .filter((name) => !compared.includes(name) && !FOR_PEOPLE.has(name))
    .flatMap((name) => {
      const [a, b] = [
        meaningOf(client.document, valueAt(before, [name])),
        meaningOf(current.document, valueAt(now, [name])),
      ];
      return a === b
        ? []
        : [
            {
              where,
              expected: `${name} ${a || 'none'}`,
              came: b || 'none',
              breaks: false,
              ...(!(a === '' && ANNOUNCED.has(name)) && { unsure: true as const }),
            },
          ];
    });
};

/** The target of a node's reference, with the members beside the reference. */
const resolved = (document: unknown, value: unknown): unknown => {
  const { $ref, ...own } = Object(value) as Readonly<Record<string, unknown>>;
  return typeof $ref === 'string' ? { ...(valueAt(document, $ref.split('/').slice(1)) as object), ...own } : value;
};

/** Compares two schemas of which it is not known who sends, or reads, what they describe. */
const schemasAside = (pair: Pair, schemas: readonly [unknown, unknown], way: Direction, where: string): Told[] => {
  const [a, b] = schemas.map((schema) => (isSchema(schema) ? schema : {})) as [RawSchema, RawSchema];
  return differencesOf(pair, { schema: a, node: where }, { schema: b, node: where }, way).map(
    ({ path: _path, isOptional: _o, breaks, words: _w, absent: _a, demands: _d, ...told }) => ({
      ...told,
      where,
      breaks: false,
      ...((breaks || told.unsure) && { unsure: true as const }),
    }),
  );
};

/** Differences in headers and parameters: which client sends or reads them is not recorded. */
const differencesOfNamed = (
  pair: Pair,
  way: Direction,
  [before, now]: readonly [ReadonlyMap<string, unknown>, ReadonlyMap<string, unknown>],
  place: string,
): Told[] =>
  [...new Set([...before.keys(), ...now.keys()])].flatMap((name): Told[] => {
    const [a, b] = [before.get(name), now.get(name)];
    const where = `${place}${name}`;
    const isRequired = valueAt(b, ['required']) === true;
    const [isDemanded, isAlwaysThere] = [isRequired && way === 'request', isRequired && way === 'reply'];
    if (b === undefined) return [{ where, expected: 'it', came: NOTHING, breaks: false, unsure: true }];
    if (a === undefined)
      return [{ where, expected: 'no such one', came: isDemanded ? 'it is required' : 'it', breaks: isDemanded }];
    return [
      ...schemasAside(pair, [valueAt(a, ['schema']), valueAt(b, ['schema'])], way, where),
      ...restOf(pair, [a, b], ['schema', 'name', 'in', ...(isAlwaysThere ? ['required'] : [])], where),
      ...(isAlwaysThere && valueAt(a, ['required']) !== true
        ? [{ where, expected: 'it may be missing', came: 'it is always there', breaks: false }]
        : []),
    ];
  });

const parametersOf = ({ document }: ClientDocument, { written }: DocumentedOperation): Map<string, unknown> =>
  new Map(
    (written['parameters'] as unknown[]).map((one) => {
      const parameter = resolved(document, one);
      const [kind, name] = [valueAt(parameter, ['in']), String(valueAt(parameter, ['name']))];
      return [`${String(kind)} ${kind === 'header' ? name.toLowerCase() : name}`, parameter];
    }),
  );

/** How bodies differ in their media types; those of JSON are compared by their schemas. */
const differencesOfContent = (
  pair: Pair,
  way: Direction,
  [before, now]: readonly [unknown, unknown],
  where: string,
): Told[] => {
  const [a, b] = [before, now].map(
    (body) => (valueAt(body, ['content']) ?? {}) as Readonly<Record<string, unknown>>,
  ) as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>];
  return [
    ...restOf(pair, [before, now], ['content', 'headers'], where),
    ...[...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((type): Told[] => {
      if (b[type] === undefined) return [{ where, expected: `the media type ${type}`, came: NOTHING, breaks: true }];
      if (a[type] === undefined) return [{ where, expected: `no media type ${type}`, came: 'it', breaks: false }];
      return [
        ...(type === 'application/json'
          ? []
          : schemasAside(pair, [valueAt(a[type], ['schema']), valueAt(b[type], ['schema'])], way, where)),
        ...restOf(pair, [a[type], b[type]], ['schema'], where),
      ];
    }),
  ];
};

/**
 * The schemes that a caller may use, by their meaning, with the scopes of each. Each of the sets is enough. OpenAPI 3.0 says the
 * scopes by an extension.
 */
const securityOf = (
  { document }: ClientDocument,
  { written }: DocumentedOperation,
): ReadonlyMap<string, readonly unknown[]>[] =>
  (written['security'] as object[]).map(
    (one) =>
      new Map(
        membersOf(one).map(([name, scopes]) => [
          meaningOf(document, valueAt(document, ['components', 'securitySchemes', name])),
          [written[SCOPES_IN_3_0] ?? scopes].flat(),
        ]),
      ),
  );
const SCOPES_IN_3_0 = 'x-required-scopes';

const differencesOfSecurity = ({ client, current, before, now }: Pair, where: string): Told[] => {
  const [a, b] = [securityOf(client, before), securityOf(current, now)];
  const tell = (sets: typeof a): string => JSON.stringify(sets.map((set) => [...set.values()].flat()));
  const isEnough = (had: ReadonlyMap<string, readonly unknown[]>): boolean =>
    b.length === 0 ||
    b.some((needed) =>
      [...needed].every(
        ([scheme, scopes]) => scopes.every((scope) => had.get(scheme)?.includes(scope)) && had.has(scheme),
      ),
    );
  if (now.needsKey && !before.needsKey)
    return [{ where, expected: 'no need of a key', came: 'it needs one', breaks: true }];
  const lost = (a.length > 0 ? a : [new Map<string, readonly unknown[]>()]).filter((had) => !isEnough(had));
  if (lost.length > 0) return [{ where, expected: `the scopes ${tell(a)}`, came: tell(b), breaks: true }];
  const [was, is] = [a, b].map((sets) => JSON.stringify(sets.map((set) => [...set])));
  return was === is ? [] : [{ where, expected: `the scopes ${tell(a)}`, came: tell(b), breaks: false }];
};

const differencesOfReasons = ({ before, now }: Pair, where: string): Told[] => [
  ...[...before.reasons].flatMap(([reason, { status, code }]): Told[] => {
    const other = now.reasons.get(reason);
    if (!other) return [{ where, expected: `the reason ${reason}`, came: NOTHING, breaks: false, reason }];
    if (other.status !== status)
      return [{ where, expected: `${reason} by status ${status}`, came: other.status, breaks: false, reason }];
    if (code !== undefined && other.code !== code)
      return [{ where, expected: `${reason} with code ${show(code)}`, came: show(other.code), breaks: false, reason }];
    return [];
  }),
  ...[...now.reasons.keys()]
    .filter((reason) => !before.reasons.has(reason))
    .map((reason) => ({ where, expected: `no reason ${reason}`, came: 'it may come', breaks: false })),
];

const isSuccess = (status: string): boolean => status.startsWith('2') || status === 'default';

const differencesOfReplies = (pair: Pair, way: Direction): Told[] => {
  const { client, current, before, now } = pair;
  const [a, b] = [before, now].map(({ written }) => new Map(membersOf(written['responses']))) as [
    Map<string, unknown>,
    Map<string, unknown>,
  ];
  const where = 'the operation';
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((status): Told[] => {
    if (!b.has(status)) return [{ where, expected: `the status ${status}`, came: NOTHING, breaks: isSuccess(status) }];
    if (!a.has(status)) {
      // Another success may come in the place of the usual one; clients expect failures.
      const isOfSuccess = status.startsWith('2') && { unsure: true as const };
      return [{ where, expected: `no status ${status}`, came: 'it may come', breaks: false, ...isOfSuccess }];
    }
    const replies = [resolved(client.document, a.get(status)), resolved(current.document, b.get(status))] as const;
    const headers = replies.map(
      (reply, n) =>
        new Map(
          membersOf(valueAt(reply, ['headers'])).map(([name, header]) => [
            name.toLowerCase(),
            resolved(n === 0 ? client.document : current.document, header),
          ]),
        ),
    ) as [Map<string, unknown>, Map<string, unknown>];
    return [
      ...bodyDifferences(pair, [before.replies.get(status), now.replies.get(status)], way, status),
      ...differencesOfContent(pair, way, replies, status),
      ...differencesOfNamed(pair, way, headers, `${status} header `),
    ];
  });
};

/** Compares two JSON bodies. A failure may always lack a member that is optional; no client can rely on it. */
const bodyDifferences = (
  pair: Pair,
  [a = {}, b = {}]: readonly [RawSchema | undefined, RawSchema | undefined],
  way: Direction,
  where: string,
): Told[] => {
  const placed = (schema: RawSchema, { id }: DocumentedOperation) => ({ schema, node: `${id} ${where}` });
  const isOfFailure = /^[45]/.test(where);
  return differencesOf(pair, placed(a, pair.before), placed(b, pair.now), way).map(({ path, isOptional, ...told }) => ({
    ...told,
    ...(isOptional && isOfFailure && { breaks: false }),
    where: `${where} ${pointerOf(path)}`,
  }));
};

/** How the document describes the messages of a stream. */
const STREAM = 'x-streaming';
const COMPARED_OF_OPERATIONS = [
  'operationId',
  'parameters',
  'requestBody',
  'responses',
  'security',
  'callbacks',
  'deprecated',
  SCOPES_IN_3_0,
  STREAM,
];

const compareOperations = (pair: Pair, isMessage: boolean): Change[] => {
  const { before, now } = pair;
  const [sent, got]: readonly [Direction, Direction] = isMessage ? ['reply', 'request'] : ['request', 'reply'];
  const where = 'the operation';
  const callbacks = [before.written['callbacks'], now.written['callbacks']] as const;
  const told: Told[] = [
    ...(before.path === now.path ? [] : [{ where, expected: before.path, came: now.path, breaks: true }]),
    ...differencesOfSecurity(pair, where),
    ...bodyDifferences(pair, [before.input, now.input], sent, 'the request'),
    ...differencesOfContent(pair, sent, [before.written['requestBody'], now.written['requestBody']], 'the request'),
    ...differencesOfNamed(
      pair,
      sent,
      [parametersOf(pair.client, before), parametersOf(pair.current, now)],
      'the request, ',
    ),
    ...differencesOfReplies(pair, got),
    ...differencesOfReasons(pair, where),
    ...['message', 'error'].flatMap((name) => {
      const streamed = [before, now].map(({ written }) => valueAt(written, [STREAM, name]) as RawSchema | undefined);
      return bodyDifferences(pair, streamed as [RawSchema, RawSchema], got, `each ${name}`);
    }),
    ...restOf(pair, [before.written[STREAM], now.written[STREAM]], ['message', 'error'], 'the stream'),
    ...restOf(pair, [before.written, now.written], COMPARED_OF_OPERATIONS, where),
    ...restOf(pair, callbacks, heldIn(...callbacks), 'the callbacks'),
    ...(before.written['deprecated'] === now.written['deprecated']
      ? []
      : [
          {
            where,
            expected: `deprecated ${show(before.written['deprecated'] ?? false)}`,
            came: show(now.written['deprecated'] ?? false),
            breaks: false,
          },
        ]),
  ];
  return told.map((one) => {
    const [status] = /^[45]\d\d/.exec(one.where) ?? [];
    const failures = [...before.reasons].filter(([, failure]) => failure.status === status).map(([reason]) => reason);
    const isOfFailures = status !== undefined && { failures };
    return { operation: before.id, node: `${before.id} ${one.where}`, ...isOfFailures, ...one };
  });
};

const whole = (id: string) => ({ operation: id, where: 'the operation', node: id });

const compareAll = (
  documents: Documents,
  [all, others]: readonly [ReadonlyMap<string, DocumentedOperation>, ReadonlyMap<string, DocumentedOperation>],
  isMessage: boolean,
): Change[] => {
  const noun = isMessage ? 'message' : 'operation';
  return [
    ...[...all.values()].flatMap((before) => {
      const now = others.get(before.id);
      if (now) return compareOperations({ ...documents, before, now }, isMessage);
      return [{ ...whole(before.id), expected: `the ${noun}`, came: NOTHING, breaks: true }];
    }),
    ...[...others.keys()]
      .filter((id) => !all.has(id))
      .map((id) => ({ ...whole(id), expected: `no such ${noun}`, came: 'it is there', breaks: false })),
  ];
};

/** The operation of a change that is of none. */
export const DOCUMENT_ITSELF = 'the document';

/** The members of a document that the comparison of operations reads, and those about the document itself. */
const COMPARED = ['openapi', 'info', 'servers', 'security', 'paths', 'webhooks', 'components'];
const COMPONENTS = ['schemas', 'parameters', 'headers', 'responses', 'examples', 'securitySchemes'];

/** The names of members of which each describes something further. */
const heldIn = (...values: unknown[]): string[] =>
  values.flatMap((value) => membersOf(value).flatMap(([name, one]) => (isSchema(one) ? [name] : [])));

/** Whether two documents are written alike, but for words for people and the order of members. */
const isWrittenAlike = (client: ClientDocument, current: ClientDocument): boolean => {
  const [one, other] = [client, current].map(({ document }) =>
    meaningOf({}, { ...document, openapi: '', info: '', servers: '' }),
  );
  return one === other;
};

/** The differences of the current document from a client's. */
export const changesFor = (client: ClientDocument, current: ClientDocument): Change[] => {
  const documents = { client, current, known: { request: new Map(), reply: new Map() } } satisfies Documents;
  const [before, now] = [client.document, current.document];
  const called = [...client.operations.values(), ...current.operations.values()].map(({ path }) => path);
  const partsOf = (name: string) => [valueAt(before, [name]), valueAt(now, [name])] as const;
  const rest = [
    ...restOf(documents, [before, now], COMPARED, DOCUMENT_ITSELF),
    ...restOf(documents, partsOf('paths'), called, 'the paths'),
    ...restOf(documents, partsOf('webhooks'), heldIn(...partsOf('webhooks')), 'the webhooks'),
    ...restOf(documents, partsOf('components'), COMPONENTS, 'the components'),
  ];
  const changes = [
    ...rest.map((one) => ({ operation: DOCUMENT_ITSELF, node: one.where, ...one })),
    ...compareAll(documents, [client.operations, current.operations], false),
    ...(isOlder(documents) ? [] : compareAll(documents, [client.messages, current.messages], true)),
  ];
  if (changes.length > 0 || isOlder(documents) || isWrittenAlike(client, current)) return changes;
  const told = { expected: 'it as it was written', came: 'written otherwise, with the same meaning', breaks: false };
  return [{ operation: DOCUMENT_ITSELF, where: DOCUMENT_ITSELF, node: DOCUMENT_ITSELF, ...told }];
};
