import { z } from 'zod';

/** zod ignores a member of this name, and its sender would believe that it was stored. */
const refuseProto = (value: unknown, ctx: z.RefinementCtx): unknown => {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    ctx.addIssue({
      code: 'custom',
      path: ['__proto__'],
      message: 'is not a usable name: no member may have it',
      params: { code: 'invalid_key' },
    });
  }
  return value;
};

/** An object of an input whose members have names of the caller's own, `max` of them at most. */
export const mapOf = <K extends z.ZodString, V extends z.ZodType>(name: K, value: V, max: number) =>
  z
    .preprocess(refuseProto, z.record(name, value))
    .check((ctx) => {
      const count = Object.keys(ctx.value).length;
      if (count > max) {
        ctx.issues.push({
          code: 'custom',
          input: ctx.value,
          message: `must hold at most ${max} members, holds ${count}`,
          params: { code: 'too_big' },
        });
      }
    })
    .meta({ maxProperties: max });
