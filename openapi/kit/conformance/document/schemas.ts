import { counted } from '../../../../contract/text.ts';
import { show } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import type { Difference, Direction } from './change.ts';
import type { ClientDocument } from './client-document.ts';
import { differencesOfKeywords, isAny } from './keywords.ts';
import {
  asObject,
  isSchema,
  meaningOf,
  type PlacedSchema,
  type RawSchema,
  resolved,
  type SchemaShape,
  shapeOf,
} from './schema.ts';

/** A difference of two schemas, or of schemas within them: with the path to it, and its place in the document. */
export type SchemaDifference = Omit<Difference, 'name'> & { path: readonly string[]; node: string };

/** Two documents to compare, and the known differences of schemas in them. */
export interface Documents {
  client: ClientDocument;
  current: ClientDocument;
  known: Record<Direction, Map<RawSchema, Map<RawSchema, SchemaDifference[]>>>;
}

/** The rules that OpenAPI 3.0 cannot express: they may have applied before. */
const NOT_IN_3_0: readonly string[] = ['propertyNames', 'if', 'then', 'else'];

/** Whether the client's document has version 3.0 of OpenAPI. */
export const isOlder = ({ client }: Documents): boolean =>
  String(valueAt(client.document, ['openapi'])).startsWith('3.0');

const wordsOfDefault = ({ fallback }: SchemaShape): string =>
  `default ${fallback === undefined ? 'none' : show(fallback)}`;

/** Differences in the values that replace missing members. */
const differencesOfDefaults = (
  { client, current }: Documents,
  before: SchemaShape,
  now: SchemaShape,
  way: Direction,
): Difference[] =>
  Object.keys(before.members).flatMap((name): Difference[] => {
    if (!now.members[name]) return [];
    const was = shapeOf(client.document, { schema: asObject(before.members[name]), node: '' });
    const is = shapeOf(current.document, { schema: asObject(now.members[name]), node: '' });
    if (JSON.stringify(was.fallback) !== JSON.stringify(is.fallback)) {
      const isSent = way === 'request' && !before.required.has(name);
      return [
        {
          name,
          expected: wordsOfDefault(was),
          came: wordsOfDefault(is),
          breaks: isSent,
          ...(isSent && { demands: true as const }),
        },
      ];
    }
    if (was.fallbackBy === is.fallbackBy) return [];
    const unsure = is.fallbackBy.includes('against') && { unsure: true as const };
    const told = { expected: `default said by ${was.fallbackBy}`, came: `by ${is.fallbackBy}`, breaks: false };
    return [{ name, ...told, ...unsure }];
  });

/** The differences of two schemas, each with the path to it. A schema that refers to itself is compared once. */
export const differencesOf = (
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
  const tell = (differences: readonly Difference[]): void => {
    for (const { name, ...one } of differences) {
      const path = name === undefined ? [] : [name];
      found.push({ node: [a.node, ...path].join('/'), ...one, path });
    }
  };
  if (way === 'request' && isAny(now.schema) && !isAny(before.schema)) {
    // The service accepts any value; the document does not tell its effect.
    tell([{ expected: 'a schema', came: 'any value', breaks: false, unsure: true }]);
    return found;
  }
  const choices = differencesOfChoices(documents, [before.schema, now.schema], [a, b], way);
  if (choices) {
    tell(choices);
    return found;
  }
  const isPaired = a.choices.length === b.choices.length;
  tell([
    ...differencesOfKeywords(a, b, way, isOlder(documents) ? NOT_IN_3_0 : []),
    ...(isPaired
      ? []
      : [{ expected: `one of ${counted(a.choices.length, 'choice')}`, came: `of ${b.choices.length}`, breaks: true }]),
    ...differencesOfDefaults(documents, a, b, way),
  ]);
  /** Compares schemas within these: those of a member, by its name, or of a choice. */
  const within = (one: unknown, other: unknown, name: string, isMember = true): void => {
    if (one === undefined || other === undefined || !(isSchema(one) || isSchema(other))) return;
    const [was, is] = [
      { schema: asObject(one), node: `${a.node}/${name}` },
      { schema: asObject(other), node: `${b.node}/${name}` },
    ];
    const inner = differencesOf(documents, was, is, way);
    found.push(
      ...inner.map((difference) => ({ ...difference, path: [...(isMember ? [name] : []), ...difference.path] })),
    );
  };
  for (const [name, member] of Object.entries(a.members)) within(member, b.members[name], name);
  if (a.items !== undefined || b.items !== undefined) within(a.items ?? {}, b.items ?? {}, '*');
  if (isSchema(a.others) && isSchema(b.others)) within(a.others, b.others, '*');
  if (isPaired) a.choices.forEach((one, n) => within(one, b.choices[n], `${n}`, false));
  return found;
};

/** Whether a schema, as JSON, is that of null. */
const isOfNull = (one: string): boolean => (JSON.parse(one) as RawSchema)['type'] === 'null';

/** The choices of a schema by their meaning; the schema itself if it has none. */
const meaningsOf = (document: object, { options }: SchemaShape, whole: string): string[] =>
  options.length === 0 ? [whole] : options.map((one) => meaningOf(document, one));

/** The meaning of a schema apart from its choices. */
const meaningBeside = (document: object, schema: RawSchema): string => {
  if (typeof schema['$ref'] === 'string') return meaningBeside(document, resolved(document, schema) as RawSchema);
  const { anyOf: _, oneOf: _o, default: _d, 'x-default': _x, ...rest } = schema;
  return meaningOf(document, rest);
};

/**
 * The differences of two schemas in their choices, where one has more. These are the only differences if one schema is
 * a choice of the other, or if both are equal apart from them; undefined if they need another comparison.
 */
const differencesOfChoices = (
  { client, current }: Documents,
  [before, now]: readonly [RawSchema, RawSchema],
  [a, b]: readonly [SchemaShape, SchemaShape],
  way: Direction,
): Difference[] | undefined => {
  if (a.choices.length === b.choices.length || (a.options.length === 0 && b.options.length === 0)) return undefined;
  const [x, y] = [meaningBeside(client.document, before), meaningBeside(current.document, now)];
  const [old, fresh] = [meaningsOf(client.document, a, x), meaningsOf(current.document, b, y)];
  const gone = fresh.includes('{}') ? [] : old.filter((one) => !fresh.includes(one));
  // A choice of null with another rule still allows only null.
  const isKnown = (one: string): boolean => old.includes(one) || (isOfNull(one) && old.some(isOfNull));
  const came = old.includes('{}') ? [] : fresh.filter((one) => !isKnown(one));
  const told = { expected: `one of ${counted(a.options.length, 'choice')}`, came: `of ${b.options.length}` };
  if (x === y && (a.options.length === 0 || b.options.length === 0)) {
    const isLess = b.options.length > 0;
    if (isLess === (way === 'reply')) return [{ ...told, breaks: false }];
    return [{ ...told, breaks: way === 'reply', ...(way === 'request' && { unsure: true as const }) }];
  }
  if (gone.length === old.length && came.length === fresh.length) return undefined;
  // `oneOf` refuses a value that matches two of its schemas.
  const isExclusive = [before, now].some(({ oneOf }) => oneOf !== undefined);
  const [less, more] = way === 'request' ? [gone, came] : [came, gone];
  return [
    ...(less.length > 0 ? [{ ...told, breaks: true }] : []),
    ...(more.length > 0 ? [{ ...told, breaks: false, ...(isExclusive && { unsure: true as const }) }] : []),
  ];
};
