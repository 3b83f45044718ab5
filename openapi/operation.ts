import type { z } from 'zod';
import {
  errorOf,
  type ErrorResponse,
  failureBody,
  idempotencyKey,
  idempotencyReplayed,
  inBytes,
  issuesOf,
  type ProcedureMetadata,
  type Reason,
  type Route,
} from '../contract/index.ts';
import { samplesOf } from './samples/samples.ts';
import type { Reference, Target } from './schemas.ts';

interface Generated {
  content: { 'application/json': { schema: Reference } };
}

/** An operation as `@ts-rest/open-api` makes it of a route, as far as it goes into the document. */
export interface GeneratedOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  requestBody: Generated;
  responses: Record<string, Generated>;
}

interface Response {
  description: string;
  headers: Record<string, Reference>;
  content: {
    'application/json': { schema: Reference; example?: unknown; examples?: Record<string, { value: unknown }> };
  };
}

const REQUEST_ID = '019a3c5e-c260-7f96-8a63-ae51df72b306';

const header = (name: string) => ({ [name]: { $ref: `#/components/headers/${name}` } });

const headersOf = (status: number, { effect }: ProcedureMetadata) => ({
  ...header('X-Request-Id'),
  ...header('RateLimit-Policy'),
  ...header('RateLimit'),
  ...(status === 200 && effect === 'write' && header(idempotencyReplayed.name)),
  ...(status === 401 && header('WWW-Authenticate')),
  ...((status === 409 || status === 429 || status === 503) && header('Retry-After')),
  ...(effect === 'write' && [409, 422, 503].includes(status) && header('X-Should-Retry')),
});

/** The headers that a write takes. */
const parametersOf = ({ effect }: ProcedureMetadata) =>
  effect === 'write' ? { parameters: [{ $ref: `#/components/parameters/${idempotencyKey.name}` }] } : {};

/** The issues that a request without parameters gets or, where it needs none, one with an unknown one. */
const exampleIssues = (body: z.ZodType) => {
  const empty = body.safeParse({ json: {} });
  const failed = empty.success ? body.safeParse({ json: { name: 'demo' } }) : empty;
  return issuesOf(failed.error?.issues ?? []);
};

const exampleError = (reason: Reason, route: Route): ErrorResponse =>
  failureBody(reason, {
    path: route.metadata.id,
    requestId: REQUEST_ID,
    issues: reason === 'VALIDATION_FAILED' ? exampleIssues(route.body) : undefined,
  });

const success = ({ metadata }: Route, schema: Reference): Response => ({
  description: 'The output is in `result.data.json`.',
  headers: headersOf(200, metadata),
  content: { 'application/json': { schema, example: { result: { data: { json: metadata.example.output } } } } },
});

const failure = (route: Route, schema: Reference, status: number): Response => {
  const reasons = route.metadata.reasons.filter((reason) => errorOf(reason).status === status);
  const examples = Object.fromEntries(reasons.map((reason) => [reason, { value: exampleError(reason, route) }]));
  return {
    description: `${reasons.length > 1 ? 'Reasons' : 'Reason'}: ${reasons.map((reason) => `\`${reason}\``).join(', ')}.`,
    headers: headersOf(status, route.metadata),
    content: { 'application/json': { schema, examples } },
  };
};

interface Security {
  security: { ApiKey?: string[] }[];
  'x-required-scopes'?: string[];
}

/** The access rule. OpenAPI 3.0 has scopes for OAuth2 only, so there an extension holds them. */
const securityOf = ({ access }: ProcedureMetadata, target: Target): Security => {
  if (access === 'public') return { security: [{}, { ApiKey: [] }] };
  if (target === '3.1') return { security: [{ ApiKey: [access] }] };
  return { security: [{ ApiKey: [] }], 'x-required-scopes': [access] };
};

/** The operation object of one route: what was generated, with who may call, what a body may be, headers, examples and samples. */
export const operation = (
  { operationId, tags, summary, description, requestBody, responses }: GeneratedOperation,
  route: Route,
  target: Target,
) => {
  const { bodyLimit, inputOptional, example } = route.metadata;
  const { schema } = requestBody.content['application/json'];
  return {
    operationId,
    tags,
    summary,
    description,
    ...securityOf(route.metadata, target),
    ...parametersOf(route.metadata),
    requestBody: {
      description: `${inputOptional ? 'No parameters; you may omit the body.' : 'The parameters.'} At most ${inBytes(bodyLimit)}.`,
      required: !inputOptional,
      content: { 'application/json': { schema, example: { json: example.input } } },
    },
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, { content }]) => {
        const reply = content['application/json'].schema;
        return [status, status === '200' ? success(route, reply) : failure(route, reply, Number(status))];
      }),
    ),
    'x-codeSamples': samplesOf(route),
  };
};
export type Operation = ReturnType<typeof operation>;
