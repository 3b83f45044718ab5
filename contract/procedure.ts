import { type ContractOtherResponse, initContract } from '@ts-rest/core';
import { z } from 'zod';
import {
  assertDeprecation,
  type DeprecatedPart,
  deprecatedParts,
  type Deprecation,
  deprecationText,
} from './deprecation.ts';
import {
  commonReasons,
  ErrorResponse,
  errorOf,
  protectedReasons,
  type Reason,
  type StatusOf,
  writingReasons,
} from './errors.ts';
import type { Law } from './laws.ts';
import { BATCH_BODY_LIMIT, MAX_VALUES, READ_BODY_LIMIT, WRITE_BODY_LIMIT } from './limits.ts';

/** The scopes a key can hold; none implies another. */
export const scopes = [
  'content:write',
  'user:read',
  'user:write',
  'webhook:write',
  'key:write',
  'contract:write',
] as const;
export type Scope = (typeof scopes)[number];

export const Scope = z
  .enum(scopes)
  .meta({ id: 'Scope', description: 'A permission that an API key holds. No scope implies another.' });

/** The permitted callers: all, or holders of a key with this scope. */
export type Access = 'public' | Scope;

/** A `read` changes nothing but view counts. */
export type Effect = 'read' | 'write';

/** A procedure as its block in `game.ts`, `image.ts` and so on describes it. */
export interface Spec<
  I extends z.ZodType,
  O extends z.ZodType,
  A extends Access,
  R extends Reason,
  E extends Effect = Effect,
> {
  /** One line, for the list of operations. */
  summary: string;
  /** The description for callers, in Markdown. */
  description: string;
  access: A;
  effect: E;
  input: I;
  output: O;
  /** `high` for a read that takes several times the work of a list; absent for all others. */
  cost?: 'high';
  /** Its reasons for failures beyond `commonReasons`, `protectedReasons` and `writingReasons`. */
  errors: readonly R[];
  /** Hints of this operation that replace those of the catalogue. */
  hints?: Partial<Record<R, string>>;
  /** The relations between calls that hold of it. */
  laws?: readonly Law[];
  /** The member of the input whose words it searches for, if any. */
  searchMember?: string;
  /** The member of the input with the list of records to store together, if any. */
  recordsMember?: string;
  /** Set for an input with more values than a record has. */
  holdsManyValues?: true;
  /** Set when the whole operation is deprecated. Its members have `deprecated()` and `deprecatedValues()`. */
  deprecated?: Deprecation;
  example: { input: z.input<I>; output: z.output<O> };
}

/** The properties of a procedure beyond its schemas, for the server and the document. */
export interface ProcedureMetadata {
  /** `game.list` */
  id: string;
  access: Access;
  effect: Effect;
  /** All its reasons for failures, including the common ones. */
  reasons: readonly Reason[];
  /** Hints in place of the catalogue's. */
  hints: Partial<Record<Reason, string>>;
  /** Largest request body in bytes. */
  bodyLimit: number;
  /** The most members and elements of an input. */
  maxValues: number;
  /** The work that a call takes, compared with that of others. */
  cost: 'usual' | 'high';
  /** The relations between calls that hold of it. */
  laws: readonly Law[];
  /** The member of the input whose words it searches for. */
  searchMember: string | undefined;
  /** The member of the input with the list of records to store together. */
  recordsMember: string | undefined;
  /** Whether it returns a list, which may be large, rather than one record. */
  answersList: boolean;
  /** Whether the input may be left out altogether. */
  inputOptional: boolean;
  /** Set when the whole operation is deprecated. */
  deprecated: Deprecation | undefined;
  /** The deprecated members and values. */
  deprecatedParts: { input: readonly DeprecatedPart[]; output: readonly DeprecatedPart[] };
  example: { input: unknown; output: unknown };
}

/** The common type of all routes of the contract that return one answer. */
export interface Route {
  method: 'POST';
  path: string;
  summary: string;
  description: string;
  /** The request envelope: `json` holds the parameters. */
  body: z.ZodType<{ json?: unknown }, { json?: unknown }>;
  /** The reply envelope for status 200, `ErrorResponse` for all others. */
  responses: { 200: z.ZodType<{ result: { data: { json: unknown } } }> };
  metadata: ProcedureMetadata;
}

/** The media type of Server-Sent Events (HTML, section 9.2). */
export const STREAM_TYPE = 'text/event-stream';

/** The common type of all routes that return a stream of Server-Sent Events. */
export interface StreamRoute extends Omit<Route, 'responses' | 'metadata'> {
  responses: { 200: ContractOtherResponse<z.ZodType> };
  metadata: ProcedureMetadata & {
    /** The JSON in the `data` of each message that has no `event`. */
    message: z.ZodType<{ json: unknown }>;
  };
}

/** The common type of routes with one answer and routes with a stream. */
export type AnyRoute = Pick<Route, 'path' | 'body' | 'metadata'>;

/** The input as a caller may send it: members with a default may be left out. */
export type SentOf<R extends Route | StreamRoute> = z.input<R['body']>['json'];
/** The input of a procedure as its contract parses it, with the defaults. */
export type InputOf<R extends Route | StreamRoute> = z.output<R['body']>['json'];
/** The output of a procedure as its contract describes it. */
export type OutputOf<R extends Route> = z.output<R['responses'][200]>['result']['data']['json'];

/** A procedure of the contract with all its properties. */
export interface Procedure extends ProcedureMetadata {
  /** `game` of `game.list` */
  router: string;
  /** `list` of `game.list` */
  name: string;
  route: Route;
}

export const isStreamRoute = (route: Route | StreamRoute): route is StreamRoute => 'message' in route.metadata;

/** An operation of the contract that returns a stream, with all its properties. */
export interface Stream extends Omit<Procedure, 'route'> {
  message: z.ZodType<{ json: unknown }>;
  route: StreamRoute;
}

/** Any operation of the contract. */
export type Operation = Procedure | Stream;

export const isStream = (operation: Operation): operation is Stream => 'message' in operation;
export const isProcedure = (operation: Operation): operation is Procedure => !isStream(operation);

/** Describes a procedure: an identity function that ties the example to the schemas. */
export const procedure = <
  I extends z.ZodType,
  O extends z.ZodType,
  A extends Access,
  E extends Effect,
  const R extends Reason = never,
>(
  spec: Spec<I, O, A, R, E>,
): Spec<I, O, A, R, E> => spec;

/** A public read that sends a stream of outputs. Its example shows the input and one output. */
type StreamSpec<I extends z.ZodType, O extends z.ZodType, R extends Reason> = Spec<I, O, 'public', R, 'read'> & {
  streams: true;
};

/** Describes an operation that returns a stream of its outputs. */
export const stream = <I extends z.ZodType, O extends z.ZodType, const R extends Reason = never>(
  spec: Omit<StreamSpec<I, O, R>, 'access' | 'effect' | 'streams'>,
): StreamSpec<I, O, R> => ({ ...spec, access: 'public', effect: 'read', streams: true });

const NoInput = z.strictObject({}).meta({ id: 'NoInput', description: 'No parameters.' });

/** The input of a procedure that takes no parameters. */
export const noInput = () => NoInput.optional();

const SuperjsonMeta = z.looseObject({}).meta({
  id: 'SuperjsonMeta',
  description: 'Annotations that tRPC clients with superjson send. Other clients omit it.',
});

const request = <I extends z.ZodType>(name: string, input: I) =>
  z
    .strictObject({ json: input, meta: SuperjsonMeta.optional() })
    .meta({ id: `${name}Request`, description: 'The request envelope: the parameters are in `json`.' });

/** These names differ from types that generators add, such as `GameListResponse`, `GameListData`, `GameListResult`. */
const reply = <O extends z.ZodType>(name: string, output: O) => {
  const data = z
    .object({ json: output })
    .meta({ id: `${name}ReplyData`, description: 'The superjson envelope of the output.' });
  const result = z.object({ data }).meta({ id: `${name}ReplyResult`, description: 'The tRPC envelope of the output.' });
  return z
    .object({ result })
    .meta({ id: `${name}Reply`, description: 'The reply; the output is in `result.data.json`.' });
};

/** The text of a stream, which no schema describes further. */
const StreamText = z.string().meta({
  id: 'EventStream',
  description:
    'Server-Sent Events (HTML, section 9.2), as text. `x-streaming` of the operation says what their `data` is.',
});

const streamed = initContract().otherResponse({ contentType: STREAM_TYPE, body: StreamText });

const message = <O extends z.ZodType>(name: string, output: O) =>
  z
    .object({ json: output })
    .meta({ id: `${name}Message`, description: 'The JSON in the `data` of each message that has no `event`.' });

type AnySpec = Spec<z.ZodType, z.ZodType, Access, Reason> & { streams?: true };
type ReasonsOf<S> =
  S extends Spec<z.ZodType, z.ZodType, infer A, infer R, infer E>
    ? | R
      | (typeof commonReasons)[number]
      | (A extends 'public' ? never : (typeof protectedReasons)[number])
      | (E extends 'read' ? never : (typeof writingReasons)[number])
    : never;

/** The ts-rest route of a spec. */
type RouteOf<N extends string, S extends AnySpec> = {
  method: 'POST';
  path: `/api/trpc/${N}`;
  summary: string;
  description: string;
  body: ReturnType<typeof request<S['input']>>;
  responses: Record<StatusOf<ReasonsOf<S>>, typeof ErrorResponse> &
    (S extends { streams: true } ? { 200: typeof streamed } : { 200: ReturnType<typeof reply<S['output']>> });
  metadata: ProcedureMetadata &
    Pick<S, 'access' | 'effect'> &
    (S extends { streams: true } ? { message: ReturnType<typeof message<S['output']>> } : unknown);
};

const capitalise = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** A schema under a component name, unless it already has one. */
const named = <T extends z.ZodType>(schema: T, id: string, description: string): T =>
  schema.meta()?.['id'] || schema instanceof z.ZodOptional
    ? schema
    : schema.meta({ description, ...schema.meta(), id });

const bodyLimitOf = ({ effect, recordsMember }: Pick<AnySpec, 'effect' | 'recordsMember'>): number => {
  if (effect === 'read') return READ_BODY_LIMIT;
  return recordsMember === undefined ? WRITE_BODY_LIMIT : BATCH_BODY_LIMIT;
};

/** The description, with a sentence on the deprecation, if any. */
const descriptionOf = ({ description, deprecated }: AnySpec): string =>
  deprecated === undefined ? description : `${description} ${deprecationText(assertDeprecation(deprecated))}`;

const routeOf = (id: string, name: string, spec: AnySpec) => {
  const { streams = false, output } = spec;
  const reasons: Reason[] = [
    ...commonReasons,
    ...(spec.access === 'public' ? [] : protectedReasons),
    ...(spec.effect === 'read' ? [] : writingReasons),
    ...spec.errors,
  ];
  const failures = reasons.map((reason) => [errorOf(reason).status, ErrorResponse]);
  return {
    method: 'POST' as const,
    path: `/api/trpc/${id}`,
    summary: spec.summary,
    description: descriptionOf(spec),
    body: request(name, named(spec.input, `${name}Input`, `The parameters of \`${id}\`.`)),
    responses: {
      200: streams ? streamed : reply(name, named(output, `${name}Output`, `What \`${id}\` answers.`)),
      ...Object.fromEntries(failures),
    },
    metadata: {
      id,
      access: spec.access,
      effect: spec.effect,
      reasons,
      hints: spec.hints ?? {},
      bodyLimit: bodyLimitOf(spec),
      maxValues: spec.recordsMember === undefined && !spec.holdsManyValues ? MAX_VALUES.single : MAX_VALUES.many,
      cost: spec.cost ?? 'usual',
      laws: spec.laws ?? [],
      searchMember: spec.searchMember,
      recordsMember: spec.recordsMember,
      answersList: output instanceof z.ZodObject && 'items' in output.shape,
      inputOptional: spec.input instanceof z.ZodOptional,
      deprecated: spec.deprecated,
      deprecatedParts: {
        input: deprecatedParts(spec.input, 'input'),
        output: deprecatedParts(spec.output, 'output'),
      },
      example: spec.example,
      ...(streams && { message: message(name, output) }),
    } satisfies ProcedureMetadata,
  };
};

/**
 * Turns the blocks of one router into ts-rest routes. The names give path, operation id and component names: `list` in
 * `game` becomes `POST /api/trpc/game.list` with `GameListRequest`, `GameListInput`, `GameListReply`, ….
 */
export const router = <N extends string, S extends Record<string, AnySpec>>(
  name: N,
  specs: S,
): { [K in keyof S & string]: RouteOf<`${N}.${K}`, S[K]> } =>
  Object.fromEntries(
    Object.entries(specs).map(([key, spec]) => [
      key,
      routeOf(`${name}.${key}`, capitalise(name) + capitalise(key), spec),
    ]),
  ) as never;

/** The operations of these routers, in their order. */
export const operationsOf = (routers: Record<string, Record<string, Route | StreamRoute>>): Operation[] =>
  Object.entries(routers).flatMap(([prefix, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ ...route.metadata, router: prefix, name, route }) as Operation),
  );

/** The procedures of these routers, in their order. */
export const proceduresOf = (routers: Parameters<typeof operationsOf>[0]): Procedure[] =>
  operationsOf(routers).filter(isProcedure);
