import { pointerOf } from '../../../../contract/issues.ts';
import { show } from '../findings/finding.ts';
import type { ClientDocument, DocumentedOperation } from './client-document.ts';
import { type RawSchema, type SchemaShape, shapeOf } from './schema.ts';

/** A difference between the document of a client and the current one. */
export interface Change {
  /** The id of the operation. */
  operation: string;
  /** The former rule, and the current one. */
  expected: string;
  came: string;
  /** Where in the request or the reply: `the request /json/limit`, `200 /result/data/json/items/*`. */
  where: string;
  /** Whether a client may fail by it; else it is but new. */
  breaks: boolean;
  /** The words that a request may not have any more, or a reply may newly have; undefined where the change is about more than some words. */
  words?: readonly string[];
  /** Whether a member of a reply may be missing. */
  absent?: true;
  /** Whether the request needs more than before: who does not send what is named fails, too. */
  demands?: true;
  /** Set where the comparison cannot tell whether the current rule takes less than the former one. */
  unsure?: true;
  /** A reason that no longer comes: who handles it may not handle what comes instead. */
  reason?: string;
}

/** Which way values go: a client must be understood in what it sends, and understand what it gets. */
type Direction = 'request' | 'reply';

interface Side {
  document: object;
  schema: RawSchema;
}

/** Deeper than this, schemas refer to themselves. */
const MAX_DEPTH = 24;
const NOTHING = 'nothing';

type SchemaDifference = Omit<Change, 'operation' | 'where'> & { path: readonly string[] };

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

/** How what may be there differs: `narrow` values that are gone, `wide` values that are new. */
const differencesOfSets = (
  noun: string,
  before: ReadonlySet<unknown> | undefined,
  now: ReadonlySet<unknown> | undefined,
  way: Direction,
): Omit<SchemaDifference, 'path'>[] => {
  const all = `any ${noun}`;
  if (!before && !now) return [];
  if (!before || !now) {
    const breaks = before ? way === 'reply' : way === 'request';
    return [
      {
        expected: before ? wordsOf(before) : all,
        came: now ? wordsOf(now) : all,
        breaks,
        // Any text is words that are new.
        ...(way === 'reply' && before && areWords(noun, before) && { words: [] }),
      },
    ];
  }
  const [gone, fresh] = [lacking(before, now), lacking(now, before)];
  return [
    ...(gone.length > 0
      ? [
          {
            expected: `the ${noun} ${wordsOf(gone)}`,
            came: NOTHING,
            breaks: way === 'request',
            ...(way === 'request' && areWords(noun, gone) && { words: gone as string[] }),
          },
        ]
      : []),
    ...(fresh.length > 0
      ? [
          {
            expected: `no ${noun} ${wordsOf(fresh)}`,
            came: 'it',
            breaks: way === 'reply',
            ...(way === 'reply' && areWords(noun, fresh) && { words: fresh as string[] }),
          },
        ]
      : []),
  ];
};

/** Limits that now refuse inputs that a client may send. Limits of replies do not bind clients. */
const differencesOfLimits = (
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
): Omit<SchemaDifference, 'path'>[] => {
  if (way === 'reply') return [];
  const names = new Set([...Object.keys(before.limits), ...Object.keys(now.limits)]);
  const limits = [...names].flatMap((name) => {
    const [a, b] = [before.limits[name], now.limits[name]];
    if (a === b) return [];
    const isUpper = name.startsWith('max');
    const [from, to] = isUpper ? [a ?? Infinity, b ?? Infinity] : [a ?? -Infinity, b ?? -Infinity];
    return [{ expected: `${name} ${a ?? 'none'}`, came: String(b ?? 'none'), breaks: isUpper ? to < from : to > from }];
  });
  return limits;
};

/** The rules that OpenAPI 3.0 cannot express: they may have held before. */
const NOT_IN_3_0 = ['propertyNames'];

/** The rules that differ. A comparison cannot tell which of two allows more. Of replies, only formats bind clients. */
const differencesOfRules = (
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
): Omit<SchemaDifference, 'path'>[] => {
  const names = new Set([...Object.keys(before.rules), ...Object.keys(now.rules)]);
  return [...names].flatMap((name) => {
    const [a, b] = [before.rules[name], now.rules[name]];
    if (a === b || (way === 'reply' && name !== 'format') || (a === undefined && NOT_IN_3_0.includes(name))) return [];
    const came = b === undefined ? 'none' : 'another one';
    return [
      { expected: `the ${name} that it had`, came, breaks: false, ...(b !== undefined && { unsure: true as const }) },
    ];
  });
};

const differencesOfMembers = (before: SchemaShape, now: SchemaShape, way: Direction): SchemaDifference[] => {
  const isReply = way === 'reply';
  const names = new Set([...Object.keys(before.members), ...Object.keys(now.members)]);
  return [...names].flatMap((name): SchemaDifference[] => {
    const path = [name];
    const [was, is] = [Object.hasOwn(before.members, name), Object.hasOwn(now.members, name)];
    const [wasRequired, isRequired] = [before.required.has(name), now.required.has(name)];
    const absent = isReply && { absent: true as const };
    if (!is)
      return [{ path, expected: 'the member', came: NOTHING, breaks: isReply || now.others === false, ...absent }];
    if (isReply && wasRequired && !isRequired)
      return [{ path, expected: 'the member', came: 'it may be missing', breaks: true, ...absent }];
    if (!isReply && isRequired && !wasRequired)
      return [{ path, expected: 'no need of the member', came: 'it is required', breaks: true, demands: true }];
    if (was) return [];
    return [{ path, expected: 'no such member', came: isReply ? 'it is there' : 'it may be given', breaks: false }];
  });
};

/** Which of several members have to be there. */
const wordsOfAlternatives = ({ alternatives }: SchemaShape): string =>
  alternatives.length === 0
    ? 'no member of several'
    : `one of ${alternatives.map((names) => names.join(' and ')).join(', ')}`;

/** Differences in the sets of members of which one is required: the client may send fewer than are required now. */
const differencesOfAlternatives = (
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
): Omit<SchemaDifference, 'path'>[] => {
  if (way === 'reply' || JSON.stringify(before.alternatives) === JSON.stringify(now.alternatives)) return [];
  const sent = before.alternatives.length > 0 ? before.alternatives : [[]];
  const isTaken = (members: readonly string[]): boolean =>
    now.alternatives.length === 0 ||
    now.alternatives.some((needed) => needed.every((name) => members.includes(name) || before.required.has(name)));
  return [
    {
      expected: `${wordsOfAlternatives(before)} to be required`,
      came: wordsOfAlternatives(now),
      breaks: !sent.every(isTaken),
      demands: true,
    },
  ];
};

const differencesOf = (before: Side, now: Side, way: Direction, path: readonly string[] = []): SchemaDifference[] => {
  if (path.length > MAX_DEPTH) return [];
  const [a, b] = [shapeOf(before.document, before.schema), shapeOf(now.document, now.schema)];
  const here = [
    ...differencesOfSets('type', typesOf(a), typesOf(b), way),
    ...differencesOfSets('value', a.words, b.words, way),
    ...differencesOfAlternatives(a, b, way),
    ...differencesOfLimits(a, b, way),
    ...differencesOfRules(a, b, way),
  ].map((difference) => ({ ...difference, path }));
  const members = differencesOfMembers(a, b, way).map((difference) => ({
    ...difference,
    path: [...path, ...difference.path],
  }));
  const choices =
    JSON.stringify(a.choices) === JSON.stringify(b.choices)
      ? []
      : [{ path, expected: `one of ${a.choices.length} choices`, came: `${b.choices.length} others`, breaks: true }];
  const within = (one: unknown, other: unknown, name: string): SchemaDifference[] =>
    typeof one === 'object' && one !== null && typeof other === 'object' && other !== null
      ? differencesOf({ ...before, schema: one as RawSchema }, { ...now, schema: other as RawSchema }, way, [
          ...path,
          name,
        ])
      : [];
  return [
    ...here,
    ...members,
    ...choices,
    ...Object.entries(a.members).flatMap(([name, member]) => within(member, b.members[name], name)),
    ...within(a.items, b.items, '*'),
    ...within(a.others, b.others, '*'),
  ];
};

const compareOperations = (
  client: ClientDocument,
  current: ClientDocument,
  before: DocumentedOperation,
  now: DocumentedOperation,
): Change[] => {
  const { id: operation } = before;
  const whole = { operation, where: 'the operation' };
  const sides = (one: RawSchema, other: RawSchema): [Side, Side] => [
    { document: client.document, schema: one },
    { document: current.document, schema: other },
  ];
  const changes = (where: string, differences: readonly SchemaDifference[]): Change[] =>
    differences.map(({ path, ...difference }) => ({ operation, where: `${where} ${pointerOf(path)}`, ...difference }));
  const { input = {} } = now;
  return [
    ...(before.path === now.path ? [] : [{ ...whole, expected: before.path, came: now.path, breaks: true }]),
    ...(now.needsKey && !before.needsKey
      ? [{ ...whole, expected: 'no need of a key', came: 'it needs one', breaks: true }]
      : []),
    ...changes('the request', differencesOf(...sides(before.input ?? {}, input), 'request')),
    ...[...before.replies].flatMap(([status, schema]) => {
      const other = now.replies.get(status);
      if (other) return changes(status, differencesOf(...sides(schema, other), 'reply'));
      return [{ ...whole, expected: `the status ${status}`, came: NOTHING, breaks: status === '200' }];
    }),
    ...[...before.reasons]
      .filter((reason) => !now.reasons.has(reason))
      .map((reason) => ({ ...whole, expected: `the reason ${reason}`, came: NOTHING, breaks: false, reason })),
    ...[...now.replies.keys()]
      .filter((status) => !before.replies.has(status))
      .map((status) => ({ ...whole, expected: `no status ${status}`, came: 'it may come', breaks: false })),
  ];
};

/** The differences of the current document from a client's. */
export const changesFor = (client: ClientDocument, current: ClientDocument): Change[] => [
  ...[...client.operations.values()].flatMap((before) => {
    const now = current.operations.get(before.id);
    if (now) return compareOperations(client, current, before, now);
    return [{ operation: before.id, where: 'the operation', expected: 'the operation', came: NOTHING, breaks: true }];
  }),
  ...[...current.operations.keys()]
    .filter((id) => !client.operations.has(id))
    .map((operation) => ({
      operation,
      where: 'the operation',
      expected: 'no such operation',
      came: 'it is there',
      breaks: false,
    })),
];
