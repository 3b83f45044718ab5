import { show } from '../findings/finding.ts';
import { type Difference, type Direction, NOTHING } from './change.ts';
import { isSchema, type SchemaShape } from './schema.ts';

// The differences of two schemas in their keywords, except those that hold further schemas.

const UNSURE = { unsure: true } as const;

const wordsOf = (values: Iterable<unknown>): string => [...values].map(show).join(', ');

/** The elements of `all` that `some` lacks. */
const lacking = (all: ReadonlySet<unknown>, some: ReadonlySet<unknown>): unknown[] =>
  [...all].filter((one) => !some.has(one));

/** The type `number` includes `integer`. */
const typesOf = ({ types }: SchemaShape): ReadonlySet<string> | undefined =>
  types?.has('number') ? new Set([...types, 'integer']) : types;

/** A change of the allowed values, to fewer or to more: fewer bind requests, and more bind replies. */
const difference = (
  isLess: boolean,
  way: Direction,
  expected: string,
  came: string,
  words?: readonly unknown[],
): Difference => {
  const breaks = isLess === (way === 'request');
  return {
    expected,
    came,
    breaks,
    // A client may wait for a word that never arrives.
    ...(isLess && way === 'reply' && words && UNSURE),
    ...(words && (breaks || way === 'reply') && { words: words as string[] }),
  };
};

/** The differences of two sets of allowed values. */
const differencesOfSets = (
  noun: 'type' | 'value',
  before: ReadonlySet<unknown> | undefined,
  now: ReadonlySet<unknown> | undefined,
  way: Direction,
): Difference[] => {
  /** Words, as opposed to types or numbers. */
  const wordsIn = (values: Iterable<unknown>): unknown[] | undefined =>
    noun === 'value' && [...values].every((value) => typeof value === 'string') ? [...values] : undefined;
  if (!before && !now) return [];
  if (!before || !now) {
    const [expected, came] = [before, now].map((set) => (set ? wordsOf(set) : `any ${noun}`)) as [string, string];
    // Any text counts as new words.
    const words = way === 'reply' && before && wordsIn(before) ? [] : undefined;
    return [difference(now !== undefined, way, expected, came, words)];
  }
  const [gone, fresh] = [lacking(before, now), lacking(now, before)];
  return [
    ...(gone.length > 0 ? [difference(true, way, `the ${noun} ${wordsOf(gone)}`, NOTHING, wordsIn(gone))] : []),
    ...(fresh.length > 0 ? [difference(false, way, `no ${noun} ${wordsOf(fresh)}`, 'it', wordsIn(fresh))] : []),
  ];
};

/** The limits of a schema that have an effect: exclusive ones as inclusive ones, and none that no value can exceed. */
const limitsOf = (shape: SchemaShape): Readonly<Record<string, number>> => {
  const { types, words, limits, others, rules, members } = shape;
  const { exclusiveMinimum, exclusiveMaximum, ...own } = limits;
  const step = types?.has('integer') && !types.has('number') ? 1 : Number.MIN_VALUE;
  const minimum = Math.max(own['minimum'] ?? -Infinity, (exclusiveMinimum ?? -Infinity) + step);
  const maximum = Math.min(own['maximum'] ?? Infinity, (exclusiveMaximum ?? Infinity) - step);
  const most = others === false && !rules['patternProperties'] ? Object.keys(members).length : Infinity;
  const maxProperties = Math.min(own['maxProperties'] ?? Infinity, most);
  const lengths = words && [...words].map((word) => (typeof word === 'string' ? Array.from(word).length : NaN));
  const isIdle = (name: string, limit: number): boolean =>
    !Number.isFinite(limit) ||
    (/^min[LIP]/.test(name) && limit === 0) ||
    // Each of the words satisfies the limit.
    (name.endsWith('Length') && lengths?.every((n) => (name === 'maxLength' ? n <= limit : n >= limit)) === true);
  const all = Object.entries({ ...own, minimum, maximum, maxProperties });
  return Object.fromEntries(all.filter(([name, limit]) => !isIdle(name, limit)));
};

/** Limits that now refuse inputs that a client may send, or allow replies that it may not handle. */
const differencesOfLimits = (before: SchemaShape, now: SchemaShape, way: Direction): Difference[] => {
  const [limits, others] = [limitsOf(before), limitsOf(now)];
  return [...new Set([...Object.keys(limits), ...Object.keys(others)])].flatMap((name): Difference[] => {
    const [a, b] = [limits[name], others[name]];
    // Added and removed members have differences of their own.
    if (a === b || (name === 'maxProperties' && before.limits[name] === now.limits[name])) return [];
    const isUpper = name.startsWith('max');
    const [from, to] = isUpper ? [a ?? Infinity, b ?? Infinity] : [-(a ?? -Infinity), -(b ?? -Infinity)];
    const told = difference(to < from, way, `${name} ${a ?? 'none'}`, String(b ?? 'none'));
    if (way === 'reply') return [told.breaks ? { ...told, breaks: false, ...UNSURE } : told];
    return [{ ...told, ...(told.breaks && b !== undefined && { limit: { name, value: b } }) }];
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

/** The rules that only refuse values, by the values themselves. */
const OWN_RESTRICTIONS = ['pattern', 'format', 'uniqueItems', 'multipleOf'];
/** The rules that only refuse values. */
const RESTRICTIONS: ReadonlySet<string> = new Set([
  ...OWN_RESTRICTIONS,
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

/** Whether a schema accepts any value. */
export const isAny = (schema: unknown): boolean =>
  schema === undefined || schema === true || (isSchema(schema) && Object.keys(schema).length === 0);

/** Whether a rule only refuses values: the parts that it names may be exempt from another rule. */
const isRestriction = (name: string, shapes: readonly SchemaShape[]): boolean => {
  if (shapes.some(({ rules }) => Object.keys(rules).some((other) => other !== name && other.startsWith('unevaluated'))))
    return OWN_RESTRICTIONS.includes(name);
  if (name === 'patternProperties') return shapes.every(({ others }) => isAny(others));
  if (name === 'prefixItems') return shapes.every(({ items }) => isAny(items));
  return RESTRICTIONS.has(name);
};

/** Differences of rules that a comparison cannot weigh: it cannot tell whether the current rule allows more or less. */
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
    // Requests, or replies, do not have such a member.
    if (name === (way === 'request' ? 'readOnly' : 'writeOnly'))
      return [{ ...told, breaks: b === 'true', ...(way === 'reply' && { absent: true as const }) }];
    // A removed rule allows more, and an added one allows less.
    const isHarmless =
      NOTES.has(name) || ((way === 'request' ? b : a) === undefined && isRestriction(name, [before, now]));
    return [{ ...told, breaks: false, ...(!isHarmless && UNSURE) }];
  });
};

/** The alternatives among members that must be present, in words. */
const wordsOfAlternatives = ({ alternatives }: SchemaShape): string =>
  alternatives.length === 0
    ? 'no member of several'
    : `one of ${alternatives.map((names) => names.join(' and ')).join(', ')}`;

/** Differences in the sets of members that each require one: the client may send fewer than now required. */
const differencesOfAlternatives = (before: SchemaShape, now: SchemaShape, way: Direction): Difference[] => {
  if (JSON.stringify(before.alternatives) === JSON.stringify(now.alternatives)) return [];
  const sent = before.alternatives.length > 0 ? before.alternatives : [[]];
  const isTaken = (members: readonly string[]): boolean =>
    now.alternatives.length === 0 ||
    now.alternatives.some((needed) => needed.every((name) => members.includes(name) || before.required.has(name)));
  const told = { expected: `${wordsOfAlternatives(before)} to be required`, came: wordsOfAlternatives(now) };
  if (way === 'reply') return [{ ...told, breaks: false, ...UNSURE }];
  return [{ ...told, breaks: !sent.every(isTaken), demands: true }];
};

/** The differences of a member in whether it exists, and whether it is required. */
const differencesOfMember = (name: string, before: SchemaShape, now: SchemaShape, way: Direction): Difference[] => {
  const isReply = way === 'reply';
  const [was, is] = [before, now].map(({ members }) => Object.hasOwn(members, name)) as [boolean, boolean];
  const [wasRequired, isRequired] = [before, now].map(({ required }) => required.has(name)) as [boolean, boolean];
  const absent = isReply && !(was && isRequired) ? { absent: true as const } : {};
  const tell = (expected: string, came: string, breaks: boolean, more: Partial<Difference> = {}): Difference[] => [
    { name, expected, came, breaks, ...more },
  ];
  if (was && !is)
    return tell('the member', NOTHING, true, { ...(isReply && !wasRequired && { isOptional: true }), ...absent });
  if (isReply && wasRequired && !isRequired) return tell('the member', 'it may be missing', true, absent);
  if (!isReply && isRequired && !wasRequired)
    return tell('no need of the member', 'it is required', true, { demands: true });
  if (!was && is) return tell('no such member', isReply ? 'it is there' : 'it may be given', false);
  if (wasRequired === isRequired) return [];
  return wasRequired
    ? tell('it is required', 'it may be left out', false)
    : tell('it may be missing', 'it is always there', false);
};

const kindOf = (others: unknown): string =>
  others === false ? 'no others' : isSchema(others) && !isAny(others) ? 'others of a form' : 'any others';

/** The differences of additional members, where one of both schemas has no schema for them. */
const differencesOfOthers = ({ others: a }: SchemaShape, { others: b }: SchemaShape, way: Direction): Difference[] => {
  const [from, to] = [kindOf(a), kindOf(b)];
  if (from === to) return [];
  // Clients use members that no document names only in maps.
  const isOfMap = from === 'others of a form';
  const isLess = to === 'no others' || (to === 'others of a form' && from === 'any others');
  return [{ name: '*', expected: from, came: to, breaks: isOfMap && isLess === (way === 'request') }];
};

/** Differences in the keywords of two schemas. `unknownBefore` has those that the former document could not express. */
export const differencesOfKeywords = (
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
  unknownBefore: readonly string[],
): Difference[] => {
  const names = new Set([before, now].flatMap(({ members, required }) => [...Object.keys(members), ...required]));
  const [was, is] = [before, now].map(({ isDeprecated }) => (isDeprecated ? 'deprecated' : 'not'));
  return [
    ...differencesOfSets('type', typesOf(before), typesOf(now), way),
    ...differencesOfSets('value', before.words, now.words, way),
    ...differencesOfAlternatives(before, now, way),
    ...differencesOfLimits(before, now, way),
    ...differencesOfRules(before, now, way, unknownBefore),
    ...(was === is ? [] : [{ expected: was === 'not' ? 'not deprecated' : was!, came: is!, breaks: false }]),
    ...[...names].flatMap((name) => differencesOfMember(name, before, now, way)),
    ...differencesOfOthers(before, now, way),
  ];
};
