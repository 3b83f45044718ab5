import type { z } from 'zod';
import { errorOf, ErrorResponse, issuesOf, type ProcedureMetadata, type Reason } from '../contract/index.ts';
import type { SchemaComponents, Target } from './schemas.ts';

/** A route of the contract, as far as the document looks at it. */
export interface Route {
  path: string;
  summary: string;
  description: string;
  body: z.ZodType;
  responses: { 200: z.ZodType };
  metadata: ProcedureMetadata;
}

const MIB = 1024 * 1024;
const REQUEST_ID = '019a3c5e-c260-7f96-8a63-ae51df72b306';

const header = (name: string) => ({ [name]: { $ref: `#/components/headers/${name}` } });

const headersOf = (status: number) => ({
  ...header('X-Request-Id'),
  ...(status === 401 && header('WWW-Authenticate')),
  ...((status === 429 || status === 503) && header('Retry-After')),
});

/** The issues that a request without parameters gets or, where it needs none, one with an unknown one. */
const exampleIssues = (body: z.ZodType) => {
  const empty = body.safeParse({ json: {} });
  const failed = empty.success ? body.safeParse({ json: { name: 'demo' } }) : empty;
  return issuesOf(failed.error?.issues ?? []);
};

const exampleError = (reason: Reason, route: Route): ErrorResponse => {
  const { status, code, number, message, hint } = errorOf(reason);
  const issues = reason === 'VALIDATION_FAILED' ? exampleIssues(route.body) : undefined;
  const data = { code, httpStatus: status, path: route.metadata.id, reason, requestId: REQUEST_ID };
  return {
    error: { json: { message, code: number, data: { ...data, ...(issues && { issues }), ...(hint && { hint }) } } },
  };
};

const errorResponse = (status: number, route: Route, schema: { $ref: string }) => {
  const reasons = route.metadata.reasons.filter((reason) => errorOf(reason).status === status);
  const examples = Object.fromEntries(reasons.map((reason) => [reason, { value: exampleError(reason, route) }]));
  return {
    description: `${reasons.length > 1 ? 'Reasons' : 'Reason'}: ${reasons.map((reason) => `\`${reason}\``).join(', ')}.`,
    headers: headersOf(status),
    content: { 'application/json': { schema, examples } },
  };
};

interface Security {
  security: { ApiKey?: string[] }[];
  'x-required-scopes'?: string[];
}

/** Who may call. OpenAPI 3.0 knows scopes of OAuth2 only, so there they stand in an extension. */
const securityOf = ({ access }: ProcedureMetadata, target: Target): Security => {
  if (access === 'public') return { security: [{}, { ApiKey: [] }] };
  if (target === '3.1') return { security: [{ ApiKey: [access] }] };
  return { security: [{ ApiKey: [] }], 'x-required-scopes': [access] };
};

/** The operation object of one route; adds the schemas it needs to `components`. */
export const operation = (tag: string, route: Route, components: SchemaComponents, target: Target) => {
  const { id, reasons, bodyLimit, inputOptional, example } = route.metadata;
  const statuses = [...new Set(reasons.map((reason) => errorOf(reason).status))];
  const errorSchema = components.ref(ErrorResponse, 'output');
  return {
    operationId: id,
    tags: [tag],
    summary: route.summary,
    description: route.description,
    ...securityOf(route.metadata, target),
    requestBody: {
      description: `${inputOptional ? 'There are no parameters: the body may be left out.' : 'The parameters.'} At most ${bodyLimit / MIB} MiB.`,
      required: !inputOptional,
      content: {
        'application/json': { schema: components.ref(route.body, 'input'), example: { json: example.input } },
      },
    },
    responses: {
      200: {
        description: 'The output is in `result.data.json`.',
        headers: headersOf(200),
        content: {
          'application/json': {
            schema: components.ref(route.responses[200], 'output'),
            example: { result: { data: { json: example.output } } },
          },
        },
      },
      ...Object.fromEntries(statuses.map((status) => [status, errorResponse(status, route, errorSchema)])),
    },
  };
};
export type Operation = ReturnType<typeof operation>;
