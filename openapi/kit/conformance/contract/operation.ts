import { z } from 'zod';
import {
  isStream,
  type Operation as ContractOperation,
  operations,
  type Procedure,
  type Reason,
  type Scope,
} from '../../../../contract/index.ts';
import { strict } from './strict.ts';

/** The common prefix of the paths of all operations. */
export const API_PATH = operations.map(({ id, route }) => route.path.slice(0, -id.length))[0] ?? '';

/** A JSON Schema. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** An operation of the contract with the data to test it. */
export interface Operation extends Omit<Procedure, 'route'> {
  path: string;
  /** The schema of a request. */
  body: z.ZodType;
  /** The same as JSON Schema, which shows the allowed values. */
  bodySchema: JsonSchema;
  /** Whether it returns a stream of messages. */
  isStream: boolean;
  /** The schema of a success or, for a stream, of each message. It ignores unknown members. */
  success: z.ZodType;
  /** The same, but it refuses unknown members. */
  strictSuccess: z.ZodType;
  example: { input: Readonly<Record<string, unknown>>; output: unknown };
  /** The member of the input that names a record. */
  idMember: string | undefined;
  /** The reason for an id without a record. */
  notFound: Reason | undefined;
  /** The scopes that a key needs to call it. */
  needs: readonly Scope[];
}

/** The scopes that an input gives to a key: a key cannot give a scope that it lacks. */
const givenBy = ({ scopes = [] }: Operation['example']['input']): readonly Scope[] => scopes as Scope[];

type Input = Operation['example']['input'];
const isObject = (value: unknown): value is Input =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** The members of both inputs, at any depth; the second one's values take precedence. */
const merged = (one: Input, other: Input): Input => {
  const both = Object.entries(other).map(([name, value]) => {
    const base = one[name];
    return [name, isObject(base) && isObject(value) ? merged(base, value) : value];
  });
  return { ...one, ...Object.fromEntries(both) };
};

/** The example of an operation. The input of a change of a record has all members: those of a new record, too. */
const exampleOf = ({ example, laws, router }: ContractOperation): Operation['example'] => {
  const create = laws.includes('updates') && operations.find(({ id }) => id === `${router}.create`);
  if (!create) return example as Operation['example'];
  return { ...example, input: merged(create.example.input as Input, example.input as Input) };
};

/** An operation with the data to test it. */
export const operationOf = (operation: ContractOperation): Operation => {
  const { access, reasons, route, ...metadata } = operation;
  const { path, body } = route;
  const example = exampleOf(operation);
  const success = isStream(operation) ? operation.message : operation.route.responses[200];
  return {
    ...metadata,
    access,
    reasons,
    path,
    body,
    bodySchema: z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }),
    isStream: isStream(operation),
    success,
    strictSuccess: strict(success),
    example,
    idMember: Object.keys(example.input).find((member) => member === 'id' || member.endsWith('Id')),
    notFound: reasons.find((reason) => reason.endsWith('_NOT_FOUND')),
    needs: access === 'public' ? [] : [access, ...givenBy(example.input)],
  };
};
