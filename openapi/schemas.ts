import { z } from 'zod';
import { tellDeprecations } from '../contract/index.ts';

/** The OpenAPI version to write: 3.1 uses JSON Schema 2020-12, 3.0 a dialect of its own. */
export type Target = '3.1' | '3.0';
type Io = 'input' | 'output';
type JsonSchema = z.core.JSONSchema.BaseSchema;
type Definitions = Record<string, JsonSchema>;

/** A reference to a component. */
export interface Reference {
  $ref: string;
}

const COMPONENTS = '#/components/schemas/';

/** Integers that zod bounds only by the range of a double are int64; those bounds themselves have no meaning. */
const adjustInteger = (schema: JsonSchema): void => {
  const unbounded = schema.maximum === Number.MAX_SAFE_INTEGER || schema.minimum === Number.MIN_SAFE_INTEGER;
  schema.format ??= unbounded ? 'int64' : 'int32';
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
};

/** `anyOf: [{type: T, …}, {type: 'null'}]` as `type: [T, 'null'], …`, which generators read better. */
const mergeNull = (schema: JsonSchema): void => {
  const [value, nothing] = schema.anyOf ?? [];
  if (nothing?.type !== 'null' || typeof value?.type !== 'string' || value.enum) return;
  delete schema.anyOf;
  Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] });
};

/** Adjusts zod's schemas for readers of the document. Idempotent: zod calls it more than once on a schema. */
const adjust = (schema: JsonSchema, io: Io): void => {
  // Replies stay open, so that a new member breaks no client that validates.
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.type === 'integer') adjustInteger(schema);
  mergeNull(schema);
  tellDeprecations(schema);
  // The format suffices; zod's pattern is a calendar in 300 characters.
  if (schema.format === 'date-time') delete schema.pattern;
};

/**
 * States the default of an input's member also in words, which generators copy into the comments of clients, and in
 * `x-default`, for programs that know the documents from before these had `default`.
 */
const tellDefault = ({ default: fallback, description, ...schema }: JsonSchema): JsonSchema => ({
  ...schema,
  description: `${description}. Default: ${String(fallback)}`,
  default: fallback,
  'x-default': fallback,
});

/** A reference to a component or null, in 3.0, where `nullable` has an effect only beside a `type`. */
const orNull = (schema: JsonSchema, definitions: Definitions): JsonSchema => {
  const name: string = schema.allOf?.[0]?.$ref?.slice(COMPONENTS.length) ?? '';
  return { type: definitions[name]?.type, ...schema };
};

/** Rewrites references to components, and for 3.0 unwraps needless `allOf`s. */
const relocate = (schema: JsonSchema, definitions: Definitions): JsonSchema =>
  JSON.parse(JSON.stringify(schema), (key, value) => {
    if (key === '$ref') return COMPONENTS + value.split('/').pop();
    if (typeof value?.description === 'string' && 'default' in value) return tellDefault(value);
    if (!Array.isArray(value?.allOf)) return value;
    if (Object.keys(value).length === 1) return value.allOf[0];
    return value.nullable === true ? orNull(value, definitions) : value;
  });

/** Turns the zod schemas of the contract into named components and references to them. */
export class SchemaComponents {
  /** The components so far, by name. */
  readonly schemas: Definitions = {};
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  /**
   * A reference to a schema. Adds its components to `schemas`.
   *
   * @throws Error if the schema has no id, or if one id means two different schemas
   */
  ref(schema: z.ZodType, io: Io): Reference {
    const id = schema.meta()?.id;
    if (!id) throw new Error('A request or response of the contract has no `.meta({ id })`');
    const { $defs = {}, definitions = $defs } = z.toJSONSchema(schema, {
      io,
      target: this.#target === '3.1' ? 'draft-2020-12' : 'openapi-3.0',
      override: ({ jsonSchema }) => adjust(jsonSchema, io),
    }) as { $defs?: Definitions; definitions?: Definitions };
    for (const [name, definition] of Object.entries(definitions)) this.#add(name, relocate(definition, definitions));
    return { $ref: COMPONENTS + id };
  }

  #add(name: string, written: JsonSchema): void {
    const schema = this.#target === '3.1' ? written : this.#simple(name, written);
    const known = this.schemas[name];
    if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas have the id ${name}: one may be an input, the other an output`);
    }
    this.schemas[name] = schema;
  }

  /** A schema in the keywords of 3.0; openapi-generator warns of a map whose values have no name. */
  #simple(name: string, { ...schema }: JsonSchema): JsonSchema {
    delete schema.if;
    delete schema.else;
    const { additionalProperties: values } = schema;
    if (typeof values !== 'object' || values === null || '$ref' in values) return schema;
    if (Object.keys(values).length === 0) return { ...schema, additionalProperties: true };
    this.#add(`${name}Value`, { description: `A value of ${name}.`, ...values });
    return { ...schema, additionalProperties: { $ref: `${COMPONENTS}${name}Value` } };
  }
}
