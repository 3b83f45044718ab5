import { z } from 'zod';
import type { Procedure, Reason, Scope } from '../../../../contract/index.ts';
import { strict } from './strict.ts';

/** A JSON Schema. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** A procedure of the contract with what is needed to try it. */
export interface Operation extends Omit<Procedure, 'route'> {
  path: string;
  /** The schema of a request. */
  body: z.ZodType;
  /** The same as JSON Schema, for all to see what is allowed. */
  bodySchema: JsonSchema;
  /** The schema of a success, which passes over unknown members. */
  success: z.ZodType;
  /** The same, which refuses them. */
  strictSuccess: z.ZodType;
  example: { input: Readonly<Record<string, unknown>>; output: unknown };
  /** The member of the input that names a record. */
  idMember: string | undefined;
  /** The reason for an id without a record. */
  notFound: Reason | undefined;
  /** The scopes a key needs to call it. */
  needs: readonly Scope[];
}

/** A procedure with what is needed to try it. */
export const operationOf = ({ route, ...procedure }: Procedure): Operation => {
  const { path, body, responses } = route;
  const { access, reasons } = procedure;
  const example = procedure.example as Operation['example'];
  return {
    ...procedure,
    path,
    body,
    bodySchema: z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }),
    success: responses[200],
    strictSuccess: strict(responses[200]),
    example,
    idMember: Object.keys(example.input).find((member) => member === 'id' || member.endsWith('Id')),
    notFound: reasons.find((reason) => reason.endsWith('_NOT_FOUND')),
    needs: access === 'public' ? [] : [access],
  };
};
