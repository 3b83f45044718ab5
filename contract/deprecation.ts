import { z } from 'zod';
import { schemasIn, type Side } from './parts.ts';

/** The least time between the announcement of an end and the end, in days. */
const DEPRECATION_DAYS = 180;

/** Announces that a part of the API ends. Days are `YYYY-MM-DD`, in UTC. */
export interface Deprecation {
  /** The day from which clients should no longer use it. */
  since: string;
  /**
   * The first day on which the part may be missing: `DEPRECATION_DAYS` after `since`, or later. Absent if undecided.
   */
  sunset?: string;
  /** The replacement, as the words after "Use": `` `title` ``, or `` the operation `game.list` ``. */
  use: string;
  /** The reason, in one sentence. */
  why: string;
}

/** A deprecated member or enum value of an input or output. */
export interface DeprecatedPart {
  /** The path of members to it; `*` for each element of an array or map. */
  path: readonly string[];
  /** The enum value; undefined where the whole member is deprecated. */
  value?: string;
  deprecation: Deprecation;
}

const MS_PER_DAY = 86_400_000;

/** The beginning of a day, in milliseconds since 1970. @throws Error for anything but a day, `YYYY-MM-DD` */
export const startOfDay = (day: string): number => {
  const time = Date.parse(`${day}T00:00:00Z`);
  // `Date.parse` takes the 31st of each month.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day) throw new Error(`${day} is not a day`);
  return time;
};

/** The first day on which a deprecation of this `since` may end. */
export const earliestSunset = (since: string): string =>
  new Date(startOfDay(since) + DEPRECATION_DAYS * MS_PER_DAY).toISOString().slice(0, 10);

/** @throws Error for a deprecation that does not keep the rules */
export const assertDeprecation = (deprecation: Deprecation): Deprecation => {
  const { since, sunset, why } = deprecation;
  const earliest = earliestSunset(since);
  if (sunset !== undefined && startOfDay(sunset) < startOfDay(earliest)) {
    throw new Error(`What is deprecated since ${since} may end from ${earliest} on, not on ${sunset}.`);
  }
  if (!/^[A-Z`].*\.$/.test(why)) throw new Error(`The reason must be a sentence: ${why}`);
  return deprecation;
};

/** The sentence about a deprecation, for the description of the deprecated part. */
export const deprecationText = ({ since, sunset, use, why }: Deprecation): string =>
  `Deprecated since ${since}: ${why} Use ${use} instead.${sunset === undefined ? '' : ` It ends on ${sunset}.`}`;

// Not `x-sunset`: oasdiff compares that with the clock of its machine, and ignores `since`.
const keywordsOf = (deprecation: Deprecation) => ({
  deprecated: true as const,
  'x-deprecated': assertDeprecation(deprecation),
});

/** Marks a member of an input or output as deprecated: `title: deprecated(Title.optional(), { since: …, … })`. */
export const deprecated = <T extends z.ZodType>(schema: T, deprecation: Deprecation): T =>
  schema.meta(keywordsOf(deprecation));

/** Marks values of an enum as deprecated. Name the schema afterwards: `.meta({ id: … })`. */
export const deprecatedValues = <T extends z.ZodType<string>>(
  schema: T,
  values: { [V in z.output<T>]?: Deprecation },
): T => {
  for (const deprecation of Object.values<Deprecation | undefined>(values)) {
    if (deprecation) assertDeprecation(deprecation);
  }
  return schema.meta({ 'x-deprecated-values': values });
};

/** The keywords of deprecations in a schema of the contract, and in its JSON Schema. */
export interface DeprecationKeywords {
  'x-deprecated'?: Deprecation;
  'x-deprecated-values'?: Record<string, Deprecation>;
}

/** The keywords of an operation in the document; none without a deprecation. */
export const deprecationKeywords = (deprecation: Deprecation | undefined) =>
  deprecation === undefined ? {} : keywordsOf(deprecation);

/** The deprecated members and values of an input or output. */
export const deprecatedParts = (schema: z.ZodType, side: Side): DeprecatedPart[] =>
  [...schemasIn(schema, side)].flatMap(({ schema: inner, path }) => {
    const { 'x-deprecated': own, 'x-deprecated-values': values = {} } = (z.globalRegistry.get(inner) ??
      {}) as DeprecationKeywords;
    return [
      ...(own === undefined ? [] : [{ path, deprecation: own }]),
      ...Object.entries(values).map(([value, deprecation]) => ({ path, value, deprecation })),
    ];
  });

/** Whether a value, as the caller sent it, has a deprecated part. */
export const hasPart = (sent: unknown, { path, value }: Pick<DeprecatedPart, 'path' | 'value'>): boolean => {
  const [step, ...rest] = path;
  if (step === undefined) return value === undefined || sent === value;
  if (typeof sent !== 'object' || sent === null) return false;
  if (step === '*') return Object.values(sent).some((one) => hasPart(one, { path: rest, value }));
  return Object.hasOwn(sent, step) && hasPart((sent as Record<string, unknown>)[step], { path: rest, value });
};

const join = (description: string | undefined, sentence: string): string => {
  if (description === undefined) return sentence.slice(0, -1);
  // Descriptions of members do not end with a period, those of whole records do.
  return description.endsWith('.') ? `${description} ${sentence}` : `${description}. ${sentence.slice(0, -1)}`;
};

/** Adds the sentences about deprecations to the description of a JSON Schema made by zod. Idempotent. */
export const tellDeprecations = (schema: DeprecationKeywords & { description?: string | undefined }): void => {
  const { 'x-deprecated': own, 'x-deprecated-values': values = {} } = schema;
  const sentences = [
    ...(own === undefined ? [] : [deprecationText(own)]),
    ...Object.entries(values).map(([value, one]) => `\`${value}\` is d${deprecationText(one).slice(1)}`),
  ];
  for (const sentence of sentences) {
    if (schema.description?.includes(sentence.slice(0, -1))) continue;
    schema.description = join(schema.description, sentence);
  }
};
