/**
 * @engines none
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { z } from 'zod';
import { contract, errorOf, operations as described } from '../../contract/index.ts';
import { buildDocument, type Document, formatDocument, type Target } from '../../openapi/document.ts';
import { SchemaComponents } from '../../openapi/schemas.ts';

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Every object within `value`, itself included. */
const objectsIn = (value: unknown): Json[] =>
  isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];

const refsIn = (value: unknown): string[] =>
  objectsIn(value).flatMap(({ $ref }) => (typeof $ref === 'string' ? $ref : []));

const resolve = (document: Document, ref: string): unknown =>
  ref
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), document);

/** The references that lead out of `value`, followed to the end. */
const reachable = (document: Document, value: unknown, seen = new Set<string>()): Set<string> => {
  for (const ref of refsIn(value)) {
    if (seen.has(ref)) continue;
    seen.add(ref);
    reachable(document, resolve(document, ref), seen);
  }
  return seen;
};

interface Media {
  schema: { $ref: string };
  example?: unknown;
  examples?: Record<string, { value: unknown } | { $ref: string }>;
}

interface Reply {
  description: string;
  content: Record<string, Media>;
}

/** Each example of the document with the schema it stands beside. */
const examplesIn = (document: Document) =>
  Object.values(document.paths).flatMap(({ post }) => {
    const bodies: [string, Reply][] = [['request', post.requestBody], ...Object.entries(post.responses)];
    return bodies.flatMap(([name, { content }]) => {
      const { schema, example, examples = {} } = Object.values(content)[0] as Media;
      const values = Object.entries(examples).map(([key, named]) => {
        const { value } = ('$ref' in named ? resolve(document, named.$ref) : named) as { value: unknown };
        return [key, value] as const;
      });
      return [...values, ...(example === undefined ? [] : [['example', example] as const])].map(([key, value]) => ({
        place: `${post.operationId} ${name} ${key}`,
        ref: schema.$ref,
        value,
      }));
    });
  });

/** JSON Schema has no `nullable`. As generators read it, it allows null whatever else a schema demands. */
const withoutNullable = (components: unknown): object =>
  JSON.parse(JSON.stringify(components), (_key, value) =>
    value?.nullable === true ? { anyOf: [{ ...value, nullable: undefined }, { type: 'null' }] } : value,
  );

const validatorOf = ({ components }: Document) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', components: withoutNullable(components) });
  return (ref: string, value: unknown): string[] => {
    const validate = ajv.getSchema(`document${ref}`);
    if (!validate) throw new Error(`No schema ${ref}`);
    return validate(value) === true ? [] : (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message}`);
  };
};

const documents = await Promise.all(
  (['3.1', '3.0'] as const).map(async (target: Target) => ({
    target,
    file: target === '3.1' ? 'openapi/openapi.json' : 'openapi/openapi-3.0.json',
    document: await buildDocument(version, target),
  })),
);

describe('the workflows', () => {
  const { workflows } = parse(readFileSync('openapi/workflows.arazzo.yaml', 'utf8')) as {
    workflows: { workflowId: string; steps: { stepId: string; operationPath: string }[] }[];
  };
  const steps = workflows.flatMap(({ workflowId, steps: own }) => own.map((step) => ({ workflowId, ...step })));

  // The linter does not follow these paths.
  test.each(steps)('call operations that there are: $workflowId, $stepId', ({ operationPath }) => {
    const pointer = operationPath.slice(operationPath.indexOf('#/') + 2).split('/');
    const keys = pointer.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    expect(documents[0]!.document).toHaveProperty(keys);
  });
});

describe.each(documents)('$file', ({ target, file, document }) => {
  const operations = Object.entries(document.paths).map(([path, { post }]) => Object.assign({ path }, post));

  test('is what the contract says', () => {
    // Compared as a boolean: a diff of 12 000 lines helps nobody.
    if (readFileSync(file, 'utf8') !== formatDocument(document)) {
      throw new Error(`${file} is out of date. Run \`npm run openapi\` and commit the result.`);
    }
  });

  test('is the same each time it is built', async () => {
    expect(formatDocument(await buildDocument(version, target))).toBe(formatDocument(document));
  });

  test('has patterns that mean the same in every dialect of regular expressions', () => {
    const patterns = [...new Set(objectsIn(document).map(({ pattern }) => pattern))].filter(
      (pattern) => typeof pattern === 'string',
    );
    expect(patterns.length).toBeGreaterThan(5);
    for (const pattern of patterns) {
      // No look-around, flags and names; of escapes only punctuation, `\\x00` to `\\x7f` and `\\u0080` to `\\uffff`; nothing beyond
      // the BMP.
      expect(pattern).toMatch(/^\^([^\\]|\\(x[0-7][0-9a-f]|u[0-9a-f]{4}|[\\.?[\]]))*\$$/);
      // Go refuses U+FEFF within a source, and what is not seen gets lost on the way.
      expect(pattern).not.toMatch(/[\p{C}\p{M}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u);
      expect(pattern.replaceAll(/\\[[\]]/g, '')).not.toMatch(
        /\(\?|[*+?}][+?]|\[[^\]]*\[|&&|--|[\u{10000}-\u{10ffff}]/u,
      );
      // Generators write it between slashes.
      const literal: unknown = runInNewContext(`/${pattern}/`);
      expect(literal).toHaveProperty('source', new RegExp(pattern).source);
    }
  });

  test('has a null for each member that may be null', () => {
    const faultsOf = validatorOf(document);
    const places = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, member]) => JSON.stringify(member).match(/"null"|"nullable":true/))
        .map(([member]) => ({ ref: `#/components/schemas/${name}/properties/${member}`, place: `${name}.${member}` })),
    );
    expect(places.map(({ place }) => place)).toEqual(expect.arrayContaining(['GameSummary.viewer', 'Viewer.reaction']));
    const refused = places.filter(({ ref }) => faultsOf(ref, null).length > 0);
    expect(refused).toEqual([]);
  });

  test('has no choice but between objects: of a reference or null, generators make types that do not compile', () => {
    const choices = objectsIn(document.components.schemas).flatMap(({ anyOf }) => anyOf ?? []);
    expect(choices.filter((choice) => target === '3.0' && Object.hasOwn(choice, 'enum'))).toEqual([]);
  });

  test('has no names that generators give to types of their own, and no inputs that they make unions of', () => {
    const names = Object.keys(document.components.schemas);
    const generated = operations.flatMap(({ operationId }) => {
      const name = operationId.replaceAll(/(?:^|\.)(.)/g, (_, letter: string) => letter.toUpperCase());
      return ['Response', 'Responses', 'Data', 'Result', 'Error', 'Errors', 'Params'].map((suffix) => name + suffix);
    });
    expect(names.filter((name) => generated.includes(name))).toEqual([]);
    // Constructors in Go: openapi-generator makes `NewWebhook` of `Webhook`. Some file systems do not tell cases apart.
    expect(names.filter((name) => /^New[A-Z]/.test(name))).toEqual([]);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    const objects = Object.values(document.components.schemas).filter(({ properties }) => properties);
    expect(objects.filter((schema) => schema.anyOf ?? schema.oneOf ?? schema.allOf)).toEqual([]);
  });

  test('tells each default in words, by the keyword and by its extension', () => {
    const told = objectsIn(document.components.schemas).filter((one) => 'default' in one || 'x-default' in one);
    for (const { description, default: fallback, 'x-default': extension } of told) {
      expect(extension).toEqual(fallback);
      expect(description).toMatch(`. Default: ${String(fallback)}`);
    }
    expect(document.components.schemas['GameInput']?.properties).toMatchObject({
      isFree: { default: true, 'x-default': true },
    });
  });

  test('has no description that would end a comment, into which generators write it', () => {
    const descriptions = objectsIn(document).map(({ description }) => description);
    expect(descriptions.filter((text) => typeof text === 'string' && text.includes('*/'))).toEqual([]);
  });

  test('has no tag for what callers send and what they get', () => {
    const tagsOf = (value: unknown) => objectsIn(value).flatMap(({ tags }) => (Array.isArray(tags) ? tags : []));
    const messages = [
      ...tagsOf('webhooks' in document ? document.webhooks : []),
      ...tagsOf(operations.map((operation) => ('callbacks' in operation ? operation.callbacks : []))),
    ];
    expect(new Set(messages)).toEqual(new Set(['webhookMessage']));
    expect(operations.flatMap(({ tags }) => tags)).not.toContain('webhookMessage');
  });

  test('holds no character that is not seen', () => {
    expect(readFileSync(file, 'utf8')).not.toMatch(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/u);
  });

  test('has every operation of the contract once, with its id, tag and access', () => {
    const found = operations.map(({ path, operationId, tags, security, 'x-required-scopes': required }) => ({
      path,
      operationId,
      tags,
      security,
      required,
    }));
    const expected = described.map(({ id, access, router, route: { path } }) => {
      const scopes = access === 'public' ? [] : [access];
      return {
        path,
        operationId: id,
        tags: [router],
        security: access === 'public' ? [{}, { ApiKey: [] }] : [{ ApiKey: target === '3.1' ? scopes : [] }],
        required: target === '3.0' && access !== 'public' ? scopes : undefined,
      };
    });
    expect(found).toEqual(expected.toSorted((a, b) => (a.path < b.path ? -1 : 1)));
    expect(document.tags.map(({ name }) => name)).toEqual([...Object.keys(contract), 'webhookMessage']);
  });

  test('demands a body except where there are no parameters', () => {
    const optional = operations.filter(({ requestBody }) => !requestBody.required).map((o) => o.operationId);
    const withoutParameters = described.filter(({ route }) => route.body.safeParse({}).success).map(({ id }) => id);
    expect(optional.toSorted()).toEqual(withoutParameters.toSorted());
    expect(withoutParameters).toContain('user.me');
  });

  test('names each reason at its status, with an example', () => {
    const errorResponses = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status]) => status !== '200')
        .map(([status, { description, content }]: [string, Reply]) => ({ operationId, status, description, content })),
    );
    const named = errorResponses.flatMap(({ operationId, status, description }) =>
      [...description.matchAll(/`([A-Z_]+)`/g)].map(([, reason]) => `${operationId} ${status} ${reason}`),
    );
    const shown = errorResponses.flatMap(({ operationId, status, content }) =>
      Object.keys(content['application/json']?.examples ?? {}).map((reason) => `${operationId} ${status} ${reason}`),
    );
    const expected = described.flatMap(({ id, reasons }) =>
      reasons.map((reason) => `${id} ${errorOf(reason).status} ${reason}`),
    );
    expect(named.toSorted()).toEqual(expected.toSorted());
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });

  test('lists the headers of each response', () => {
    const usual: Record<string, string[]> = { 401: ['WWW-Authenticate'], 429: ['Retry-After'], 503: ['Retry-After'] };
    const ofWrites: Record<string, string[]> = {
      ...usual,
      200: ['Idempotency-Replayed'],
      409: ['Retry-After', 'X-Should-Retry'],
      422: ['X-Should-Retry'],
      503: ['Retry-After', 'X-Should-Retry'],
    };
    for (const { operationId, responses } of operations) {
      const { effect } = described.find(({ id }) => id === operationId)!;
      for (const [status, { headers }] of Object.entries(responses)) {
        const special = (effect === 'write' ? ofWrites : usual)[status] ?? [];
        const all = [...special, 'RateLimit', 'RateLimit-Policy', 'X-Request-Id'].toSorted();
        expect([status, Object.keys(headers).toSorted()]).toEqual([status, all]);
      }
    }
  });

  test('has the header by which a write is repeated, and no read', () => {
    const repeatable = operations.flatMap(({ operationId, parameters = [] }) =>
      parameters.map(({ $ref }) => `${operationId} ${$ref}`),
    );
    const writes = described.filter(({ effect }) => effect === 'write');
    expect(repeatable.toSorted()).toEqual(
      writes.map(({ id }) => `${id} #/components/parameters/Idempotency-Key`).toSorted(),
    );
    expect(document.components.parameters['Idempotency-Key']).toMatchObject({
      in: 'header',
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    });
  });

  test('has examples that fit its schemas', () => {
    const faultsOf = validatorOf(document);
    const examples = examplesIn(document);
    const reasons = described.flatMap((operation) => operation.reasons);
    expect(examples).toHaveLength(2 * described.length + reasons.length);
    const faults = examples.flatMap(({ place, ref, value }) =>
      faultsOf(ref, value).map((fault) => `${place}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  test('has schemas that refuse what the service refuses', () => {
    const faultsOf = validatorOf(document);
    const create = (json: object) => faultsOf('#/components/schemas/GameCreateRequest', { json });
    expect(create({ title: '😀'.repeat(200) })).toEqual([]);
    expect(create({ title: '😀'.repeat(201) })).toHaveLength(1);
    expect(create({ title: 'x', coverUrl: 'ftp://example.com/' })).toHaveLength(1);
    expect(create({ title: 'x', extraInfo: { downloads: [{ name: 'x' }] } })).toHaveLength(1);
    expect(create({ title: 'x', tittle: 'x' })).toHaveLength(1);
    const list = (json: object) => faultsOf('#/components/schemas/ImageListRequest', { json });
    expect(list({ limit: 1, cursor: 'x' })).toEqual([]);
    // 3.0 says it by an extension.
    expect(list({ limit: 1 }).length > 0).toBe(target === '3.1');
    const links = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`site-${i}`, '@x']));
    const profile = { json: { bio: null, socialLinks: links } };
    expect(faultsOf('#/components/schemas/UserUpdateProfileRequest', profile)).toHaveLength(1);
  });

  test('resolves every reference and uses every component', () => {
    const refs = [...reachable(document, document.paths)];
    expect(refs.filter((ref) => resolve(document, ref) === undefined)).toEqual([]);
    const { securitySchemes: _, ...named } = document.components;
    const components = Object.entries(named).flatMap(([kind, members]) =>
      Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    );
    expect(refs.toSorted()).toEqual(components.toSorted());
  });

  test('has closed inputs and open outputs', () => {
    const requests = [
      ...reachable(
        document,
        operations.map(({ requestBody }) => requestBody),
      ),
    ];
    const responses = [
      ...reachable(
        document,
        operations.map((operation) => operation.responses),
      ),
    ];
    const open = requests.filter((ref) =>
      objectsIn(resolve(document, ref)).some((o) => isObject(o['properties']) && o['additionalProperties'] !== false),
    );
    const closed = responses.filter((ref) =>
      objectsIn(resolve(document, ref)).some((o) => o['additionalProperties'] === false),
    );
    // superjson's annotations are not ours to close.
    expect(open).toEqual(['#/components/schemas/SuperjsonMeta']);
    expect(closed).toEqual([]);
  });

  test('names schemas …UpdateInput where null clears a member: the generators of the SDKs tell null from left out by it', () => {
    const schemas = Object.entries(document.components.schemas);
    const clearing = schemas.filter(([, { properties = {}, required = [], additionalProperties }]) =>
      Object.entries(properties).some(
        ([name, member]) =>
          additionalProperties === false &&
          /"null"|"nullable":true/.test(JSON.stringify(member)) &&
          !required.includes(name),
      ),
    );
    expect(clearing.length).toBeGreaterThan(4);
    expect(clearing.map(([name]) => name).filter((name) => !/Update.*Input$/.test(name))).toEqual([]);
  });

  test('gives every integer a format and no bound that only JavaScript has', () => {
    const integers = objectsIn(document.components.schemas).filter(({ type }) => type === 'integer');
    expect(integers.length).toBeGreaterThan(20);
    expect(integers.filter(({ format }) => format !== 'int32' && format !== 'int64')).toEqual([]);
    const bounds = integers.flatMap(({ minimum, maximum }) => [minimum, maximum]);
    expect(bounds.filter((bound) => Math.abs(Number(bound ?? 0)) > 2 ** 31)).toEqual([]);
  });

  test('speaks its own dialect only', () => {
    const schemas = objectsIn(document.components.schemas);
    const foreign = target === '3.1' ? ['nullable'] : ['propertyNames', '$defs', 'examples', 'const'];
    expect(schemas.filter((schema) => foreign.some((keyword) => keyword in schema))).toEqual([]);
    if (target === '3.0') {
      expect(schemas.filter(({ type }) => type === 'null' || Array.isArray(type))).toEqual([]);
      expect(schemas.filter(({ nullable, type }) => nullable !== undefined && typeof type !== 'string')).toEqual([]);
      expect(schemas.filter((schema) => '$ref' in schema && Object.keys(schema).length > 1)).toEqual([]);
    }
  });
});

describe('SchemaComponents', () => {
  const Point = z.strictObject({ x: z.int() }).meta({ id: 'Point' });

  test('refuses one id for two schemas', () => {
    const components = new SchemaComponents('3.1');
    expect(components.ref(Point, 'input')).toEqual({ $ref: '#/components/schemas/Point' });
    expect(() => components.ref(Point, 'output')).toThrow('Two different schemas have the id Point');
  });

  test('refuses a schema without an id', () => {
    expect(() => new SchemaComponents('3.1').ref(z.string(), 'input')).toThrow('.meta({ id })');
  });
});
