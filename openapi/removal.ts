import { type Deprecation, earliestSunset, type DeprecationKeywords } from '../contract/index.ts';
import { type Change, isNamed, namesIn } from './compatibility.ts';

// The rule of the compatibility check on removals. oasdiff knows only sunsets of whole operations, and not `since`.

/** The keywords of JSON Schema that hold deprecations. */
interface Schema extends DeprecationKeywords {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Body {
  content?: Record<string, { schema?: Schema }>;
}

interface Operation extends DeprecationKeywords {
  operationId: string;
  requestBody?: Body;
  responses?: Record<string, Body>;
}

/** The parts of a document that hold deprecations. */
export interface DeprecatingDocument {
  paths?: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

/** A deprecated part of an operation. */
interface Place {
  operationId: string;
  /** The member as oasdiff names it, without the choices in between: `json/games/items/title`. */
  path?: string;
  /** The deprecated value of that member. */
  value?: string;
  deprecation: Deprecation;
}

/** The name that the changelog must contain: the value, else the member, else the operation. */
const nameOf = ({ operationId, path, value }: Place): string =>
  value ?? path?.split('/').findLast((step) => step !== 'items' && step !== 'additionalProperties') ?? operationId;

const placeText = ({ operationId, path, value }: Place): string =>
  [operationId, ...(path === undefined ? [] : [`\`${path}\``]), ...(value === undefined ? [] : [`\`${value}\``])].join(
    ' ',
  );

type Found = Pick<Place, 'path' | 'value' | 'deprecation'>;

/** The deprecations within a schema. */
const inSchema = (schema: Schema, schemas: Record<string, Schema>, path = '', within: string[] = []): Found[] => {
  const { $ref, properties = {}, items, additionalProperties: values, anyOf = [], oneOf = [], allOf = [] } = schema;
  const { 'x-deprecated': own, 'x-deprecated-values': named = {} } = schema;
  const inner = (one: Schema, step?: string): Found[] =>
    inSchema(one, schemas, step === undefined ? path : `${path}/${step}`.replace(/^\//, ''), within);
  const name = $ref?.split('/').pop();
  const referred = name === undefined || within.includes(name) ? undefined : schemas[name];
  return [
    ...(own === undefined ? [] : [{ path, deprecation: own }]),
    ...Object.entries(named).map(([value, deprecation]) => ({ path, value, deprecation })),
    ...(referred === undefined ? [] : inSchema(referred, schemas, path, [...within, String(name)])),
    ...Object.entries(properties).flatMap(([member, one]) => inner(one, member)),
    ...(items === undefined ? [] : inner(items, 'items')),
    ...(typeof values === 'object' ? inner(values, 'additionalProperties') : []),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((one) => inner(one)),
  ];
};

/** The deprecations of a document. */
const placesIn = ({ paths = {}, webhooks = {}, components: { schemas = {} } = {} }: DeprecatingDocument): Place[] =>
  [...Object.values(paths), ...Object.values(webhooks)]
    .flatMap((item) => Object.values(item))
    .flatMap(({ operationId, requestBody = {}, responses = {}, 'x-deprecated': own }) => [
      ...(own === undefined ? [] : [{ operationId, deprecation: own }]),
      ...[requestBody, ...Object.values(responses)]
        .flatMap(({ content = {} }) => Object.values(content))
        .flatMap(({ schema = {} }) => inSchema(schema, schemas))
        .map((found) => ({ operationId, ...found })),
    ]);

/** Whether a change is about this place, or about a part of it. */
const isAbout = ({ operationId, text }: Change, { operationId: own, path, value }: Place): boolean => {
  if (operationId !== own) return false;
  if (path === undefined) return true;
  const names = namesIn(text);
  return (
    names.some((name) => name === path || name.startsWith(`${path}/`)) && (value === undefined || names.includes(value))
  );
};

/** The first day on which a part may be missing; undefined until a sunset is announced. */
const endOf = ({ since, sunset }: Deprecation): string | undefined => {
  const earliest = earliestSunset(since);
  return sunset === undefined || sunset > earliest ? sunset : earliest;
};

const isRemoval = ({ id }: Change): boolean => id.includes('removed');

/** The judged changes. */
interface Judged {
  /** All changes; announced removals count as compatible. */
  changes: Change[];
  /** Why the other changes cannot be published, in lines. */
  refused: string[];
}

/** Judges removals and restrictions by the deprecations of the last release. `today` is a day. */
export const judgeEnds = (changes: readonly Change[], released: DeprecatingDocument, today: string): Judged => {
  const places = placesIn(released);
  const refused: string[] = [];
  const judge = (change: Change): Change => {
    if (change.level === 1 && !isRemoval(change)) return change;
    const announced = places.filter((place) => isAbout(change, place));
    if (announced.length === 0) {
      if (change.level === 1 || !isRemoval(change)) return change;
      const advice = `it was not deprecated before; deprecated today, it may go from ${earliestSunset(today)} on`;
      return { ...change, text: `${change.text} (${advice})` };
    }
    const [end] = announced.flatMap(({ deprecation }) => endOf(deprecation) ?? []).toSorted();
    if (end === undefined || end > today) {
      const when = end === undefined ? 'after a sunset that is not announced yet' : `from ${end} on`;
      refused.push(`${change.operationId}: ${change.text}: it is deprecated, and may go ${when}, not on ${today}`);
    }
    return { ...change, level: 1 };
  };
  return { changes: changes.map(judge), refused };
};

const keyOf = ({ operationId, path, value }: Place): string => JSON.stringify([operationId, path, value]);

/**
 * Why a document's deprecations cannot be published, in lines. `entries` are the changelog's since the last release.
 */
export const announcementRefusals = (
  released: DeprecatingDocument,
  current: DeprecatingDocument,
  entries: string,
): string[] => {
  const told = entries
    .split(/^### /m)
    .filter((section) => section.startsWith('Deprecated\n'))
    .join('\n');
  const before = placesIn(released);
  const beforeBy = new Map(before.map((place) => [keyOf(place), place]));
  const known = new Set(before.map((place) => `${nameOf(place)} ${place.deprecation.since}`));
  const lines = placesIn(current).flatMap((place) => {
    const { since, sunset } = place.deprecation;
    const old = beforeBy.get(keyOf(place))?.deprecation;
    if (old && old.since !== since)
      return `${placeText(place)} was released as deprecated since ${old.since}: restore it`;
    if (old?.sunset !== undefined && sunset !== undefined && sunset < old.sunset) {
      return `${placeText(place)} was released to end on ${old.sunset}: it must not end earlier, on ${sunset}`;
    }
    if (known.has(`${nameOf(place)} ${since}`) || isNamed(nameOf(place), told)) return [];
    return `CHANGELOG.md must name \`${nameOf(place)}\` under \`### Deprecated\` in \`## Unreleased\``;
  });
  return [...new Set(lines)];
};
