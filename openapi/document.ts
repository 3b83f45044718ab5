import { generateOpenApiAsync } from '@ts-rest/open-api';
import type { z } from 'zod';
import {
  contract,
  idempotencyKey,
  idempotencyReplayed,
  KEY_LENGTH,
  KEY_PREFIX,
  MAX_BATCH_CALLS,
  RATE_SECONDS,
  rates,
  type Route,
  type StreamRoute,
} from '../contract/index.ts';
import { escapeOf, escapeUnseen } from '../contract/text.ts';
import { type GeneratedOperation, type Operation, operation } from './operation.ts';
import { introduction, tagDescriptions } from './prose.ts';
import { SchemaComponents, type Target } from './schemas.ts';
import { callbacksOf, webhooksOf, webhookTag } from './webhooks.ts';

export type { Target };

/** The routers of a document. */
type Routers = Record<string, Record<string, Route | StreamRoute>>;

/** The promises about all calls that no keyword of OpenAPI can express. Programs that compare documents read them. */
const limits = {
  batchCalls: MAX_BATCH_CALLS,
  rates,
  ratesInSeconds: RATE_SECONDS,
  readsByGet: { etag: true },
};

/** A header is required if all replies that name it have it. */
const headers = {
  'X-Request-Id': {
    description:
      'Identifies this request in the log: the `X-Request-Id` that you sent, if it is well-formed and holds no API key, or a new one.',
    required: true,
    schema: { type: 'string' },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate: `Bearer`, with the error if you sent a key.',
    required: true,
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description:
      'The limits that apply to you, by name: a quota of `q` within `w` seconds. Absent if the operator has set no limits. For example `"read";q=600;w=60, "work";q=30000;w=60;qu="milliseconds"`.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'The limit that you are closest to: `r` is what is left of its quota, `t` the seconds until all of it is available again. For example `"read";r=599;t=1`.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'How many seconds to wait before trying again.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0 },
  },
  'X-Should-Retry': {
    description: 'Whether repeating the request makes sense, where the status alone does not say: `true` or `false`.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  [idempotencyReplayed.name]: {
    description: idempotencyReplayed.description,
    schema: { type: 'string', enum: ['true'] },
  },
} as const;

/** A document has those of these headers that its operations may send. */
const deprecationHeaders = {
  Deprecation: {
    description:
      'The call uses what is deprecated, since this time: a date of RFC 9651, `@` and seconds, for example `@1767225600`. The first one, if there are several.',
    schema: { type: 'string' },
  },
  Sunset: {
    description:
      'From this time on, what the call uses may be gone (RFC 8594): an HTTP date. The first one, if there are several.',
    schema: { type: 'string' },
  },
  Link: {
    description: 'Where it is told what to use instead, with `rel="deprecation"`: a link for each operation.',
    schema: { type: 'string' },
  },
} as const;

const parameters = {
  [idempotencyKey.name]: {
    name: idempotencyKey.name,
    in: 'header',
    description: idempotencyKey.description,
    required: false,
    schema: {
      type: 'string',
      minLength: idempotencyKey.minLength,
      maxLength: idempotencyKey.maxLength,
      pattern: idempotencyKey.pattern,
    },
  },
} as const;

const securitySchemes = {
  ApiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: `${KEY_PREFIX}[0-9A-Za-z]{${KEY_LENGTH}}`,
    description: `An API key: \`${KEY_PREFIX}\` and ${KEY_LENGTH} letters and digits. Its scopes decide what it may do.`,
  },
} as const;

/**
 * A copy with sorted keys, so that a change of the contract makes a small diff. The members of a schema and of an
 * example keep their order: it is that of the contract and of replies, chosen for readers.
 */
function sorted<T>(value: T, areNames?: boolean): T;
function sorted(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => sorted(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]: [string, unknown]) => {
    const isExample = !areNames && (key === 'example' || key === 'value');
    return [key, isExample ? member : sorted(member, !areNames && key === 'properties')] as const;
  });
  return Object.fromEntries(areNames ? entries : entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The examples that the responses of operations name, moved into components. */
type NamedExamples = Record<string, unknown>;

/** Replaces the examples by references: for others, openapi-generator warns that it "failed to get the schema name". */
const takeExamples = (paths: Record<string, { post: Operation }>): NamedExamples => {
  const taken: NamedExamples = {};
  for (const { post } of Object.values(paths)) {
    for (const media of Object.values(post.responses).flatMap(({ content }) => Object.values(content))) {
      for (const [reason, example] of Object.entries(media.examples ?? {})) {
        const name = `${post.operationId}.${reason}`;
        taken[name] = example;
        media.examples = { ...media.examples, [reason]: { $ref: `#/components/examples/${name}` } };
      }
    }
  }
  return taken;
};

/**
 * The OpenAPI document of the whole API, derived from the contract alone. Two calls give equal documents.
 * `@ts-rest/open-api` makes the paths; it does not know JSON Schema of zod 4, components, examples, headers or scopes.
 *
 * @param version the semantic version of the API, for `info.version`
 * @param target `3.1` for the document proper; `3.0` for readers that know no better, in the dialect of 3.0.3
 * @param routers other routers than the contract's, for tests
 * @throws Error if a schema of the contract has no name, or two have the same
 */
export const buildDocument = async (version: string, target: Target, routers: Routers = contract) => {
  const components = new SchemaComponents(target);
  const head = {
    info: {
      title: 'Content Gateway',
      version,
      description: introduction(),
      contact: { name: 'The operator of this service' },
      license: {
        name: 'MIT',
        ...(target === '3.1' ? { identifier: 'MIT' } : { url: 'https://opensource.org/license/mit' }),
      },
    },
    servers: [{ url: '/', description: 'The service that hosts this document.' }],
    tags: [...Object.entries(tagDescriptions).map(([name, description]) => ({ name, description })), webhookTag],
  };
  const { paths } = await generateOpenApiAsync(routers, head, {
    setOperationId: 'concatenated-path',
    // It also asks for parameters of path, query and headers, which no route has.
    schemaTransformer: async ({ schema, type }) =>
      schema === undefined ? null : components.ref(schema as z.ZodType, type === 'response' ? 'output' : 'input'),
    operationMapper: (generated, route) =>
      operation(generated as GeneratedOperation, route as Route | StreamRoute, target, (schema) =>
        components.ref(schema, 'output'),
      ),
  });
  const described = paths as Record<string, { post: Operation }>;
  const { post: create } = described[contract.webhook.create.path] ?? {};
  if (create) Object.assign(create, { callbacks: callbacksOf(components) });
  const mayDeprecate = Object.values(described).some(
    ({ post }) => 'Deprecation' in (post.responses[200]?.headers ?? {}),
  );
  const examples = target === '3.0' ? { examples: takeExamples(described) } : {};
  return {
    openapi: target === '3.1' ? '3.1.1' : '3.0.3',
    ...head,
    paths: sorted(described),
    ...(target === '3.1' && { webhooks: sorted(webhooksOf(components)) }),
    'x-limits': limits,
    components: sorted({
      ...examples,
      headers: { ...headers, ...(mayDeprecate && deprecationHeaders) },
      parameters,
      schemas: components.schemas,
      securitySchemes,
    }),
  };
};

export type Document = Awaited<ReturnType<typeof buildDocument>>;

/** A document as its file holds it, with escapes for invisible characters in patterns. */
export const formatDocument = (document: Document): string =>
  escapeUnseen(`${JSON.stringify(document, null, 2)}\n`).replaceAll(/[\p{Cf}\p{Cn}]/gu, escapeOf);
