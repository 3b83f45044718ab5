import { z } from 'zod';
import { contract, type ProcedureMetadata, type Reason, type Scope } from '../../contract/index.ts';
import { strict } from './strict.ts';

/** A route of the contract, as far as the kit looks at it. */
interface Route {
  path: string;
  body: z.ZodType;
  responses: { 200: z.ZodType };
  metadata: ProcedureMetadata;
}

/** A JSON Schema. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** An operation of the contract with what is needed to try it. */
export interface Operation extends ProcedureMetadata {
  /** `game` of `game.list` */
  router: string;
  /** `list` of `game.list` */
  name: string;
  path: string;
  /** What a request is parsed by. */
  body: z.ZodType;
  /** The same as JSON Schema, for all to see what is allowed. */
  bodySchema: JsonSchema;
  /** What a success has to fit, without members that are not described. */
  success: z.ZodType;
  example: { input: Readonly<Record<string, unknown>>; output: unknown };
  /** The member of the input that names a record. */
  idMember: string | undefined;
  /** What it answers to an id that nothing has. */
  notFound: Reason | undefined;
  /** The scopes a key needs to call it. */
  needs: readonly Scope[];
}

const operationOf = ({ path, body, responses, metadata }: Route): Operation => {
  const { id, access, reasons } = metadata;
  const [router = '', name = ''] = id.split('.');
  const example = metadata.example as Operation['example'];
  return {
    ...metadata,
    router,
    name,
    path,
    body,
    bodySchema: z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }),
    success: strict(responses[200]),
    example,
    idMember: Object.keys(example.input).find((member) => member === 'id' || member.endsWith('Id')),
    notFound: reasons.find((reason) => reason.endsWith('_NOT_FOUND')),
    needs: access === 'public' ? [] : [access],
  };
};

/** The operations of a contract, in its order. */
export const operationsOf = (routers: Record<string, object> = contract): Operation[] =>
  Object.values(routers).flatMap((routes) => Object.values<Route>(routes as Record<string, Route>).map(operationOf));
