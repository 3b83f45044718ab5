import type { z } from 'zod';
import {
  ErrorBody,
  errorOf,
  type ErrorResponse,
  failureBody,
  idempotencyKey,
  idempotencyReplayed,
  inBytes,
  isStreamRoute,
  issuesOf,
  deprecationKeywords,
  type ProcedureMetadata,
  type Reason,
  type Route,
  STREAM_TYPE,
  type StreamRoute,
} from '../contract/index.ts';
import { samplesOf } from './samples/samples.ts';
import type { Reference, Target } from './schemas.ts';

interface Generated {
  content: { 'application/json': { schema: Reference } };
}

/** The content of a reply as `@ts-rest/open-api` makes it: JSON, or the text of a stream. */
interface GeneratedReply {
  content: Record<string, { schema: Reference }>;
}

/** The members that the document uses of an operation made by `@ts-rest/open-api` from a route. */
export interface GeneratedOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  requestBody: Generated;
  responses: Record<string, GeneratedReply>;
}

interface Media {
  schema: Reference;
  example?: unknown;
  examples?: Record<string, { value: unknown } | Reference>;
}

/** The only content, by its media type. */
interface Response {
  description: string;
  headers: Record<string, Reference>;
  content: Record<string, Media>;
}

/** The description of a stream's messages, for programs. */
interface Streaming {
  'x-streaming'?: { format: 'sse'; message: Reference; error: Reference };
}

/** The cursors before and after the event of the example. */
const EXAMPLE_CURSOR = 'WzEsIjAxOWEzYzVlLWE1NTAiXQ';
const NEXT_CURSOR = 'WzIsIjAxOWEzYzVlLWE1NTAiXQ';
const REQUEST_ID = '019a3c5e-c260-7f96-8a63-ae51df72b306';

/** Makes a component from a schema of outputs. */
type RefOf = (schema: z.ZodType) => Reference;

const header = (name: string) => ({ [name]: { $ref: `#/components/headers/${name}` } });

/** The headers of calls that use deprecated parts. */
const deprecationHeaders = { ...header('Deprecation'), ...header('Sunset'), ...header('Link') };

const mayUseDeprecated = ({ deprecated, deprecatedParts }: ProcedureMetadata): boolean =>
  deprecated !== undefined || deprecatedParts.input.length > 0;

const headersOf = (status: number, metadata: ProcedureMetadata) => ({
  ...header('X-Request-Id'),
  ...header('RateLimit-Policy'),
  ...header('RateLimit'),
  ...(status === 200 && metadata.effect === 'write' && header(idempotencyReplayed.name)),
  ...(status === 401 && header('WWW-Authenticate')),
  ...((status === 409 || status === 429 || status === 503) && header('Retry-After')),
  ...(metadata.effect === 'write' && [409, 422, 503].includes(status) && header('X-Should-Retry')),
  ...(mayUseDeprecated(metadata) && deprecationHeaders),
});

/** The headers of writes. */
const parametersOf = ({ effect }: ProcedureMetadata) =>
  effect === 'write' ? { parameters: [{ $ref: `#/components/parameters/${idempotencyKey.name}` }] } : {};

/** The issues of a request without parameters or, if that is valid, with an unknown one. */
const exampleIssues = (body: z.ZodType) => {
  const empty = body.safeParse({ json: {} });
  const failed = empty.success ? body.safeParse({ json: { name: 'demo' } }) : empty;
  return issuesOf(failed.error?.issues ?? []);
};

const exampleError = (reason: Reason, route: Route | StreamRoute): ErrorResponse =>
  failureBody(reason, {
    path: route.metadata.id,
    requestId: REQUEST_ID,
    hint: route.metadata.hints[reason],
    issues: reason === 'VALIDATION_FAILED' ? exampleIssues(route.body) : undefined,
  });

const success = ({ metadata }: Route | StreamRoute, schema: Reference): Response => ({
  description: 'The output is in `result.data.json`.',
  headers: headersOf(200, metadata),
  content: { 'application/json': { schema, example: { result: { data: { json: metadata.example.output } } } } },
});

/** An example of a stream: its first message, an event, and the last message. */
const exampleStream = (output: unknown): string =>
  [
    ['event: connected', 'data: {"reconnectAfterInactivityMs":45000}', `id: ${EXAMPLE_CURSOR}`],
    [`data: ${JSON.stringify({ json: output })}`, `id: ${NEXT_CURSOR}`],
    ['event: return', 'data: ', `id: ${NEXT_CURSOR}`],
  ]
    .map((lines) => `${lines.join('\n')}\n\n`)
    .join('');

const streamed = ({ metadata }: StreamRoute, schema: Reference): Response => ({
  description:
    'The messages, one by one. Those without an `event` hold an event; `connected` comes first, `ping` every ten seconds, `serialized-error` on a failure under way, and `return` when `maxDuration` is over.',
  headers: headersOf(200, metadata),
  content: { [STREAM_TYPE]: { schema, example: exampleStream(metadata.example.output) } },
});

const failure = (route: Route | StreamRoute, schema: Reference, status: number): Response => {
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

/** The access rule. OpenAPI 3.0 has scopes only for OAuth2; there an extension holds them. */
const securityOf = ({ access }: ProcedureMetadata, target: Target): Security => {
  if (access === 'public') return { security: [{}, { ApiKey: [] }] };
  if (target === '3.1') return { security: [{ ApiKey: [access] }] };
  return { security: [{ ApiKey: [] }], 'x-required-scopes': [access] };
};

/** The mark of an operation that streams; `ref` names a schema. */
const streamingOf = (route: Route | StreamRoute, ref: RefOf): Streaming =>
  isStreamRoute(route)
    ? { 'x-streaming': { format: 'sse', message: ref(route.metadata.message), error: ref(ErrorBody) } }
    : {};

/** The reply for one status. */
const responseOf = (route: Route | StreamRoute, status: number, content: GeneratedReply['content']): Response => {
  const [media] = Object.values(content);
  const schema = (media as { schema: Reference }).schema;
  if (status !== 200) return failure(route, schema, status);
  return isStreamRoute(route) ? streamed(route, schema) : success(route, schema);
};

/** The operation object of one route: the generated parts, with access, body limits, headers, examples and samples. */
export const operation = (
  { operationId, tags, summary, description, requestBody, responses }: GeneratedOperation,
  route: Route | StreamRoute,
  target: Target,
  ref: RefOf,
) => {
  const { bodyLimit, inputOptional, example } = route.metadata;
  const { schema } = requestBody.content['application/json'];
  return {
    operationId,
    tags,
    summary,
    description,
    ...deprecationKeywords(route.metadata.deprecated),
    ...securityOf(route.metadata, target),
    ...parametersOf(route.metadata),
    requestBody: {
      description: `${inputOptional ? 'No parameters; you may omit the body.' : 'The parameters.'} At most ${inBytes(bodyLimit)}.`,
      required: !inputOptional,
      content: { 'application/json': { schema, example: { json: example.input } } },
    },
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, { content }]) => [status, responseOf(route, Number(status), content)]),
    ),
    ...streamingOf(route, ref),
    'x-codeSamples': samplesOf(route),
  };
};
export type Operation = ReturnType<typeof operation>;
