import { type Issue, issuesOf } from '../../../../contract/index.ts';
import { pointerOf } from '../../../../contract/issues.ts';
import type { Operation } from './operation.ts';
import { type ValuePlace, placesOf, withValue } from './places.ts';

/** A fault to plant in the example of an operation, and the contract's issues for it. */
export interface InputFault {
  /** For example `/limit: 0`. */
  name: string;
  /** Its place in the body. */
  at: readonly string[];
  /** The value at the place; undefined to omit it. */
  value: unknown;
  issues: readonly Issue[];
}

/** One code point, but two UTF-16 units and four bytes of UTF-8. */
const WIDE = '𠮷';
const LONE_SURROGATE = '\ud800';
const UNKNOWN = 'unknownMember';

type Wrong = [name: string, value: unknown];

/** One more than a limit allows; nothing without a limit. */
const beyond = (limit: number | undefined, noun: string, make: (n: number) => unknown): Wrong[] =>
  limit === undefined ? [] : [[`${limit + 1} ${noun}`, make(limit + 1)]];

/** Values that a place of a type may refuse; the contract decides. */
const wrongOfTypes: Readonly<Record<string, (place: ValuePlace) => Wrong[]>> = {
  string: ({ schema: { maxLength, enum: words } }) =>
    words
      ? [['another word', 'no such word']]
      : [
          ['no characters', ''],
          ...beyond(maxLength, 'characters', (n) => WIDE.repeat(n)),
          ['a lone surrogate', LONE_SURROGATE],
          ['U+0000', 'a\0b'],
          ['U+202E', 'a\u202eb'],
          ['another form', ' ! '],
        ],
  integer: ({ schema: { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } }) =>
    [minimum - 1, minimum + 0.5, maximum + 1].map((n) => [String(n), n]),
  array: ({ schema: { maxItems }, sample }) => {
    const [item = 'x'] = (sample ?? []) as unknown[];
    return [['no items', []], ...beyond(maxItems, 'items', (n) => Array(n).fill(item))];
  },
};

const wrongMaps = ({ maxProperties = 0 }: ValuePlace['schema']): Wrong[] => [
  ['a name of another form', { 'A NAME!': 'x' }],
  ...beyond(maxProperties, 'members', (length) =>
    Object.fromEntries(Array.from({ length }, (_, n) => [`name-${n}`, 'x'])),
  ),
];

const wrongValues = (place: ValuePlace): Wrong[] => {
  const { schema, required } = place;
  return [
    ...(required ? [['missing', undefined] satisfies Wrong] : []),
    ['null', null],
    schema.type === 'string' ? ['a number', 5] : ['a text', 'text'],
    ...(wrongOfTypes[String(schema.type)]?.(place) ?? []),
    ...(schema.propertyNames === undefined ? [] : wrongMaps(schema)),
  ];
};

/** `/title` of `['json', 'title']`. */
const nameOf = ([root, ...path]: readonly string[]): string => {
  if (root === undefined) return 'the body';
  return root === 'json' && path.length > 0 ? pointerOf(path) : `\`${root}\`${pointerOf(path)}`;
};

const faultsAt = (place: ValuePlace): Omit<InputFault, 'issues'>[] => {
  const { at, schema } = place;
  const unknown = [...at, UNKNOWN];
  return [
    ...wrongValues(place).map(([what, value]) => ({ name: `${nameOf(at)}: ${what}`, at, value })),
    ...(schema.additionalProperties === false
      ? [{ name: `${nameOf(unknown)}: not known`, at: unknown, value: 1 }]
      : []),
  ];
};

/** All rules of an operation's input, broken one by one: the input to send, and the contract's issues for it. */
export const faultsOf = (operation: Operation): InputFault[] => {
  const sample = { json: operation.example.input };
  return placesOf(operation)
    .flatMap(faultsAt)
    .map((fault) => {
      const { error } = operation.body.safeParse(withValue(sample, fault.at, fault.value));
      return { ...fault, issues: issuesOf(error?.issues ?? []) };
    })
    .filter(({ issues }) => issues.length > 0);
};

const isWithin = (a: readonly string[], b: readonly string[]): boolean =>
  b.every((member, index) => a[index] === member);

/** Whether a body lacks its parameters: the service may then take the members beside them for these. */
const lacksInput = ({ at, value }: InputFault): boolean => at.length === 1 && at[0] === 'json' && value === undefined;

/** Whether one request can have both faults. */
const areApart = (a: InputFault, b: InputFault): boolean =>
  !isWithin(a.at, b.at) && !isWithin(b.at, a.at) && !lacksInput(a) && !lacksInput(b);

/** Faults in as few requests as possible, since a reply names all of them. */
export const roundsOf = (faults: readonly InputFault[]): InputFault[][] => {
  const rounds: InputFault[][] = [];
  for (const fault of faults) {
    const round = rounds.find((others) => others.every((other) => areApart(fault, other)));
    if (round) round.push(fault);
    else rounds.push([fault]);
  }
  return rounds;
};

/** A request with all faults of a round. */
export const faultyBody = (body: unknown, round: readonly InputFault[]): unknown =>
  round.reduce((changed, { at, value }) => withValue(changed, at, value), body);

/** Whether a text may hold anything but blanks alone. */
const isFree = ({ schema: { type, enum: words, pattern } }: ValuePlace): boolean =>
  type === 'string' && words === undefined && new RegExp(pattern ?? '').test(`${WIDE}  ${WIDE}`);

/** The free texts of an input at their longest in code points. In UTF-16 units or bytes they exceed the limit. */
export const longestTexts = (operation: Operation): Pick<InputFault, 'name' | 'at' | 'value'>[] =>
  placesOf(operation).flatMap((place) => {
    const { maxLength } = place.schema;
    if (!isFree(place) || maxLength === undefined) return [];
    return [{ name: `${nameOf(place.at)}: ${maxLength} characters`, at: place.at, value: WIDE.repeat(maxLength) }];
  });
