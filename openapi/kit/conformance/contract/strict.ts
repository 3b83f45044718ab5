import { z } from 'zod';

type StrictShape = Record<string, z.ZodType>;

const leaves = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral, z.ZodNull, z.ZodISODateTime];

/**
 * A schema that accepts the same as another one, but refuses unknown members at any depth. Replies are open, so that
 * versions can add members; a deployment of this very contract has no others.
 * @throws Error for a kind of schema that no reply of the contract has had so far
 */
export const strict = (schema: z.ZodType): z.ZodType => {
  if (schema instanceof z.ZodObject) {
    const shape = Object.fromEntries(Object.entries<z.ZodType>(schema.shape).map(([name, one]) => [name, strict(one)]));
    return schema.clone({ ...schema.def, shape: shape satisfies StrictShape, catchall: z.never() });
  }
  if (schema instanceof z.ZodArray)
    return schema.clone({ ...schema.def, element: strict(schema.element as z.ZodType) });
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return (schema as z.ZodNullable).clone({ ...schema.def, innerType: strict(schema.unwrap() as z.ZodType) } as never);
  }
  if (schema instanceof z.ZodRecord) {
    return schema.clone({ ...schema.def, valueType: strict(schema.valueType as z.ZodType) });
  }
  if (leaves.some((leaf) => schema instanceof leaf)) return schema;
  throw new Error(
    `A reply has a schema of type ${schema.type}: teach strict() in openapi/kit/conformance/strict.ts how to close it.`,
  );
};
