import { z } from 'zod';
import { type DeprecationKeywords, tellDeprecations } from '../../../contract/index.ts';

/** The subset of JSON Schema that tool inputs use. */
export interface ToolSchema {
  [keyword: string]: unknown;
  type?: string | string[];
}
type Definitions = Record<string, ToolSchema>;

/** The longest shown pattern, in characters. Patterns of URLs have hundreds; "http or https URL" says as much. */
const LONGEST_PATTERN = 60;
/** Keywords that do not help to call a tool. */
const OMITTED_KEYWORDS = new Set(['$schema', '$defs', 'id', 'examples', 'x-deprecated', 'x-deprecated-values']);
/** Keywords whose value is a map of schemas by names that callers see. */
const MAPS = new Set(['properties', 'patternProperties']);
/** Keywords that some clients refuse at the top of an input. */
const COMPOSERS = new Set(['anyOf', 'oneOf', 'allOf', 'if', 'else', 'x-required-any-of']);

/** Whether a pattern describes a format instead of forbidden characters. */
const describesForm = (pattern: unknown): boolean =>
  typeof pattern === 'string' && pattern.length <= LONGEST_PATTERN && !pattern.includes('[^');

const isSchema = (value: unknown): value is ToolSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a keyword is worth its tokens. */
const isKept = (keyword: string, value: unknown): boolean => {
  if (keyword === 'pattern') return describesForm(value);
  if (keyword === 'minLength') return value !== 0;
  return !OMITTED_KEYWORDS.has(keyword);
};

/** `anyOf: [{type: T, …}, {type: 'null'}]` as `type: [T, 'null'], …` */
const withoutNullChoice = (schema: ToolSchema): ToolSchema => {
  const { anyOf, ...rest } = schema;
  const [value, nothing, ...others] = Array.isArray(anyOf) ? (anyOf as ToolSchema[]) : [];
  if (!value || nothing?.type !== 'null' || others.length > 0 || typeof value.type !== 'string') return schema;
  return { ...value, ...rest, type: [value.type, 'null'] };
};

/** A schema with its reference replaced by the definition; keywords beside the reference win. */
const resolved = ({ $ref, ...rest }: ToolSchema, definitions: Definitions): ToolSchema =>
  typeof $ref === 'string' ? { ...definitions[$ref.split('/').pop() ?? ''], ...rest } : rest;

const compact = (value: unknown, definitions: Definitions): unknown => {
  if (Array.isArray(value)) return value.map((one) => compact(one, definitions));
  if (!isSchema(value)) return value;
  const whole = resolved(value, definitions);
  // The description beside the reference may have replaced that of the definition.
  tellDeprecations(whole as DeprecationKeywords);
  const members = Object.entries(whole)
    .filter(([keyword, said]) => isKept(keyword, said))
    .map(([keyword, said]) => {
      if (!MAPS.has(keyword)) return [keyword, compact(said, definitions)];
      const named = Object.entries(said as Definitions).map(([name, one]) => [name, compact(one, definitions)]);
      return [keyword, Object.fromEntries(named)];
    });
  return withoutNullChoice(Object.fromEntries(members) as ToolSchema);
};

/** The keywords that define the members of an output. */
const SHAPE = new Set(['type', 'properties', 'items', 'anyOf']);
/** The keywords of a deprecated member, whose description names the replacement. */
const DEPRECATED = new Set([...SHAPE, 'deprecated', 'description']);

/** A schema with only names and types, so that it allows further members, which later versions may add. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (!isSchema(value)) return value;
  const tells = value['deprecated'] === true ? DEPRECATED : SHAPE;
  const kept = Object.entries(value).filter(([keyword]) => tells.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, said]) => [
      keyword,
      keyword === 'properties'
        ? Object.fromEntries(Object.entries(said as Definitions).map(([name, one]) => [name, shapeOf(one)]))
        : shapeOf(said),
    ]),
  );
};

/** The JSON Schema of a tool's output: names and types of its members. It has no references. */
export const outputSchemaOf = (output: z.ZodType): ToolSchema & { type: 'object' } => {
  const { $defs = {}, ...whole } = z.toJSONSchema(output, { io: 'output' }) as ToolSchema & { $defs?: Definitions };
  return { ...(shapeOf(compact(whole, $defs)) as ToolSchema), type: 'object' };
};

/**
 * The JSON Schema of a tool's input, as short as possible, since the service validates by the contract. It has no
 * references, and no alternatives at the top level, which some clients do not understand.
 */
export const inputSchemaOf = (input: z.ZodType): ToolSchema & { type: 'object' } => {
  const { $defs = {}, ...whole } = z.toJSONSchema(input, { io: 'input' }) as ToolSchema & { $defs?: Definitions };
  const members = Object.entries(compact(whole, $defs) as ToolSchema).filter(
    ([keyword]) => !COMPOSERS.has(keyword) && keyword !== 'description',
  );
  return { ...Object.fromEntries(members), type: 'object' };
};
