/**
 * @engines sqlite
 * @tier long
 * @needs languages
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ConsumerContract } from '../../../contract/consumer-contract.ts';
import { documented } from '../../../src/testkit/conformance/document/client-document.ts';
import { changesFor } from '../../../src/testkit/conformance/document/compare.ts';
import { impactOf, isBroken } from '../../../src/testkit/consumers/impact.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { markdownTable } from '../../harness/markdown-table.mjs';
import {
  type Answer,
  buildConsumers,
  type RunningConsumer,
  type SentCall,
  type Service,
  startConsumer,
  startStandIn,
} from './samples.ts';

// Whether what `can-i-deploy` says is true: the document is mutated in each place and way, and the tests of three consumers, with
// the TypeScript SDK, the Python SDK and Go's HTTP client, run against a service that takes and answers what the mutant says. Where
// one fails, the mutant is unsafe.

// oxlint-disable-next-line typescript/no-explicit-any -- schemas that are changed anywhere
type Json = Record<string, any>;

/** For the SDKs to be made, also where what makes them is installed first. */
const BUILDING_MS = 300_000;
const RESULTS = new URL('RESULTS.md', import.meta.url);
const published = readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8');
/** The operations of the consumers; no other matters to them. */
const CALLED = ['game.list', 'game.getById', 'game.create', 'user.me', 'user.updateProfile', 'image.list'];

/** The document of these operations alone, without what binds nobody. */
const called = ((): string => {
  const document = JSON.parse(published, (name, value: unknown) =>
    name.startsWith('x-code') ? undefined : value,
  ) as Json;
  const paths = Object.fromEntries(CALLED.map((id) => [`/api/trpc/${id}`, document['paths'][`/api/trpc/${id}`]]));
  const schemas = document['components'].schemas as Json;
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(schemas[name]);
    }
  };
  visit(paths);
  const components = { schemas: Object.fromEntries([...used].map((name) => [name, schemas[name]])) };
  return JSON.stringify({ openapi: document['openapi'], paths, components });
})();

const newDocument = (): Json => JSON.parse(called) as Json;
/** As it is published: it is never changed. */
const original = newDocument();

let app: TestApp;
let user: TestUser;
let consumers: Awaited<ReturnType<typeof buildConsumers>>;
let standIn: Awaited<ReturnType<typeof startStandIn>>;
let contracts: ConsumerContract[];
const running = new Map<string, RunningConsumer>();

/** The calls of a consumer, and how the service answers them. */
interface Exchange extends SentCall {
  answer: Answer;
}
const exchanges = new Map<string, Exchange[]>();
/** What came of the tests of a consumer, by how its calls were answered. */
const outcomes = new Map<string, boolean>();
/** How the service words a failure. */
let failure: Json;

/** Records the contract of a consumer, and its calls. */
const record = async (consumer: string): Promise<ConsumerContract> => {
  const made: Exchange[] = [];
  exchanges.set(consumer, made);
  standIn.service = async ({ id, input }) => {
    const { status, body } = await app.send(id as never, input, user.key);
    const answer = { status, body: body as object };
    made.push({ id, input, answer });
    return answer;
  };
  return consumers.record(consumer, standIn.url);
};

const resolved = (document: Json, schema: Json): Json =>
  typeof schema['$ref'] === 'string'
    ? resolved(document, document['components'].schemas[schema['$ref'].split('/').at(-1) as string] as Json)
    : schema;

/** What is directly within a schema. */
const innerOf = (schema: Json): Json[] =>
  [
    ...Object.values((schema['properties'] ?? {}) as Json),
    schema['items'],
    schema['additionalProperties'],
    ...((schema['anyOf'] ?? []) as Json[]),
  ].filter((inner): inner is Json => typeof inner === 'object' && inner !== null);

/** All schemas of requests, or of replies with status 200, with their references followed, each once. */
const schemasOf = (document: Json, side: 'request' | 'reply'): Json[] => {
  const found = new Set<Json>();
  const visit = (schema: Json): void => {
    const own = resolved(document, schema);
    if (found.has(own)) return;
    found.add(own);
    innerOf(own).forEach(visit);
  };
  for (const { post } of Object.values(document['paths'] as Json) as Json[]) {
    const holder = (side === 'request' ? post['requestBody'] : post['responses']['200']) as Json;
    visit(
      resolved(document, holder['content']['application/json'].schema as Json)['properties'][
        side === 'request' ? 'json' : 'result'
      ],
    );
  }
  return [...found];
};

/** Applies a change to each place of a reply that a schema describes. */
const changeReply = (
  document: Json,
  schema: Json,
  value: unknown,
  target: Json,
  act: (holder: unknown) => unknown,
): unknown => {
  const own = resolved(document, schema);
  let now = own === target ? act(value) : value;
  if (Array.isArray(now) && own['items']) {
    now = now.map((one) => changeReply(document, own['items'] as Json, one, target, act));
  } else if (typeof now === 'object' && now !== null) {
    const members = (own['properties'] ?? {}) as Json;
    now = Object.fromEntries(
      Object.entries(now).map(([name, one]) => {
        const inner = (members[name] ?? own['additionalProperties']) as unknown;
        return [name, typeof inner === 'object' ? changeReply(document, inner as Json, one, target, act) : one];
      }),
    );
  }
  for (const choice of (own['anyOf'] ?? []) as Json[]) {
    if (now !== null && choice['type'] !== 'null') now = changeReply(document, choice, now, target, act);
  }
  return now;
};

interface Mutant {
  kind: string;
  apply: () => void;
  /** Of a reply: the schema whose values change, and how. */
  target?: Json;
  answer?: (value: unknown) => unknown;
  /** Of an operation: how its call ends instead. */
  instead?: { id: string; reason: string; only?: string };
}

const isObject = (schema: Json): boolean => schema['properties'] !== undefined;
const without = (name: string) => (value: unknown) =>
  Object.fromEntries(Object.entries(value as Json).filter(([own]) => own !== name));
const withMember = (name: string, made: unknown) => (value: unknown) =>
  Object.hasOwn(value as Json, name) ? { ...(value as Json), [name]: made } : value;

const requestMutants = (schemas: readonly Json[]): Mutant[] =>
  schemas.flatMap((schema): Mutant[] => {
    const members = (schema['properties'] ?? {}) as Json;
    const required = (schema['required'] ?? []) as string[];
    const ofMembers = isObject(schema)
      ? Object.keys(members).flatMap((name): Mutant[] => [
          { kind: 'request: remove a member', apply: () => void delete members[name] },
          {
            kind: 'request: rename a member',
            apply: () => {
              members[`${name}New`] = members[name];
              delete members[name];
            },
          },
          ...(required.includes(name)
            ? [
                {
                  kind: 'request: stop to require a member',
                  apply: () => void (schema['required'] = required.filter((one) => one !== name)),
                },
              ]
            : [{ kind: 'request: require a member', apply: () => void (schema['required'] = [...required, name]) }]),
        ])
      : [];
    const words = schema['enum'] as string[] | undefined;
    const limits = ['maxLength', 'maximum', 'maxItems', 'maxProperties'].filter((name) => name in schema);
    const least = ['minLength', 'minimum', 'minItems'].filter((name) => name in schema);
    const texts = schema['type'] === 'string' || (Array.isArray(schema['type']) && schema['type'].includes('string'));
    return [
      ...ofMembers,
      ...(isObject(schema)
        ? [
            { kind: 'request: add a member', apply: () => void (members['fresh'] = { type: 'string' }) },
            {
              kind: 'request: add a required member',
              apply: () => {
                members['fresh'] = { type: 'string' };
                schema['required'] = [...required, 'fresh'];
              },
            },
          ]
        : []),
      ...(words ?? []).map((word) => ({
        kind: 'request: remove a word',
        apply: () => void (schema['enum'] = words?.filter((one) => one !== word)),
      })),
      ...(words ? [{ kind: 'request: add a word', apply: () => void (schema['enum'] = [...words, 'fresh']) }] : []),
      ...limits.flatMap((name) => [
        { kind: 'request: narrow a limit', apply: () => void (schema[name] = 0) },
        { kind: 'request: widen a limit', apply: () => void (schema[name] = schema[name] * 2) },
      ]),
      ...least.map((name) => ({ kind: 'request: narrow a limit', apply: () => void (schema[name] = 1_000_000) })),
      ...(texts && !words
        ? [
            { kind: 'request: another pattern', apply: () => void (schema['pattern'] = '^never$') },
            { kind: 'request: another type', apply: () => void Object.assign(schema, { type: 'integer' }) },
          ]
        : []),
    ];
  });

const replyMutants = (schemas: readonly Json[]): Mutant[] =>
  schemas.flatMap((schema): Mutant[] => {
    const members = (schema['properties'] ?? {}) as Json;
    const required = (schema['required'] ?? []) as string[];
    const leaveOut = (name: string) => () => void (schema['required'] = required.filter((one) => one !== name));
    const ofMembers = Object.keys(members).flatMap((name): Mutant[] => [
      {
        kind: 'reply: remove a member',
        apply: () => {
          delete members[name];
          leaveOut(name)();
        },
        target: schema,
        answer: without(name),
      },
      {
        kind: 'reply: rename a member',
        apply: () => {
          members[`${name}New`] = members[name];
          delete members[name];
          leaveOut(name)();
        },
        target: schema,
        answer: without(name),
      },
      { kind: 'reply: a member may be missing', apply: leaveOut(name), target: schema, answer: without(name) },
      {
        kind: 'reply: another type',
        apply: () => void (members[name] = { type: 'boolean' }),
        target: schema,
        answer: withMember(name, true),
      },
      {
        kind: 'reply: a member may be null',
        apply: () => void (members[name] = { anyOf: [members[name], { type: 'null' }] }),
        target: schema,
        answer: withMember(name, null),
      },
    ]);
    const words = schema['enum'] as string[] | undefined;
    return [
      ...ofMembers,
      ...(isObject(schema)
        ? [
            {
              kind: 'reply: add a member',
              apply: () => void (members['fresh'] = { type: 'string' }),
              target: schema,
              answer: (value: unknown) => ({ ...(value as Json), fresh: 'x' }),
            },
          ]
        : []),
      ...(words
        ? [
            {
              kind: 'reply: add a word',
              apply: () => void (schema['enum'] = [...words, 'fresh']),
              target: schema,
              answer: () => 'fresh',
            },
            ...words.map((word) => ({
              kind: 'reply: remove a word',
              apply: () => void (schema['enum'] = words.filter((one) => one !== word)),
            })),
          ]
        : []),
    ];
  });

const operationMutants = (document: Json): Mutant[] =>
  CALLED.flatMap((id): Mutant[] => {
    const paths = document['paths'] as Json;
    const path = `/api/trpc/${id}`;
    const { post } = paths[path] as Json;
    const reasons = Object.entries(post['responses'] as Json).flatMap(([, { content }]) => {
      const examples = (content['application/json'].examples ?? {}) as Json;
      return Object.keys(examples)
        .filter((name) => /^[A-Z_]+$/.test(name))
        .map((name) => ({ examples, name }));
    });
    return [
      {
        kind: 'operation: remove it',
        apply: () => void delete paths[path],
        instead: { id, reason: 'PROCEDURE_NOT_FOUND' },
      },
      {
        kind: 'operation: rename it',
        apply: () => {
          post['operationId'] = `${id}New`;
          paths[`${path}New`] = paths[path];
          delete paths[path];
        },
        instead: { id, reason: 'PROCEDURE_NOT_FOUND' },
      },
      ...reasons.map(({ examples, name }) => ({
        kind: 'operation: rename a reason',
        apply: () => {
          examples[`${name}_NEW`] = examples[name];
          delete examples[name];
        },
        instead: { id, reason: `${name}_NEW`, only: name },
      })),
    ];
  });

const mutantsOf = (document: Json): Mutant[] => [
  ...requestMutants(schemasOf(document, 'request')),
  ...replyMutants(schemasOf(document, 'reply')),
  ...operationMutants(document),
];

/** Validators of the requests of a document, by operation. */
const validatorsOf = (document: Json) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'document', components: document['components'] as object });
  const made = new Map<string, ValidateFunction>();
  return (id: string): ValidateFunction => {
    const request = original['paths'][`/api/trpc/${id}`].post['requestBody'].content['application/json'].schema as Json;
    const valid = made.get(id) ?? ajv.compile({ $ref: `document${request['$ref']}` });
    made.set(id, valid);
    return valid;
  };
};

const refusal = (reason: string, status: number): Answer => {
  const body = structuredClone(failure);
  Object.assign(body['error'].json.data as Json, { reason, httpStatus: status });
  return { status, body };
};

/** How a service with a mutant answers a call. */
const answerTo = (
  { id, input, answer: { status, body } }: Exchange,
  takes: (id: string) => ValidateFunction,
  { target, answer, instead }: Mutant,
): Answer => {
  const isMutated = instead?.id === id;
  if (isMutated && instead.only === undefined) return refusal(instead.reason, 404);
  if (!takes(id)({ json: input })) return refusal('VALIDATION_FAILED', 400);
  const reason = (body as Json)['error']?.json.data.reason as string | undefined;
  if (reason !== undefined)
    return isMutated && reason === instead.only ? refusal(instead.reason, status) : { status, body };
  if (!target || !answer) return { status, body };
  // By the document as it was: the mutant may not have the place any more.
  const { post: was } = original['paths'][`/api/trpc/${id}`] as Json;
  const schema = was['responses']['200'].content['application/json'].schema as Json;
  return { status, body: changeReply(original, schema, body, target, answer) as object };
};

/** Answers calls that are known, and no other. */
const playing =
  (known: readonly Exchange[]): Service =>
  ({ id, input }) => {
    const found = known.find((one) => one.id === id && JSON.stringify(one.input) === JSON.stringify(input));
    if (!found) throw new Error(`${id} was called otherwise: ${JSON.stringify(input)}`);
    return found.answer;
  };

/** Whether a consumer's tests pass against a service with a mutant. What is answered alike is tried once. */
const bears = async (consumer: string, takes: (id: string) => ValidateFunction, mutant: Mutant): Promise<boolean> => {
  const answered = (exchanges.get(consumer) ?? []).map((one) => ({ ...one, answer: answerTo(one, takes, mutant) }));
  const key = JSON.stringify([consumer, answered]);
  const known = outcomes.get(key);
  if (known !== undefined) return known;
  standIn.service = playing(answered);
  const isBorne = (await running.get(consumer)?.run()) === 'passed';
  outcomes.set(key, isBorne);
  return isBorne;
};

beforeAll(async () => {
  [app, consumers, standIn] = await Promise.all([startApp(), buildConsumers(), startStandIn()]);
  user = await app.aUser({ scopes: ['content:write', 'user:read', 'user:write'] });
  await app.aGame({ title: 'One', tagNames: ['rpg'], coverUrl: 'https://a.example/c.png' }, user);
  await app.anImagePost({}, user);
  failure = (await app.send('game.getById', { id: 'none' })).body as Json;
  contracts = [];
  for (const [consumer, program] of Object.entries(consumers.programs)) {
    contracts.push(await record(consumer));
    running.set(consumer, startConsumer(program, standIn.url));
  }
}, BUILDING_MS);
afterAll(async () => {
  await Promise.all([...running.values()].map(({ stop }) => stop()));
  standIn.stop();
  consumers.remove();
  await app.stop();
});

describe('can-i-deploy, for mutants of the document', () => {
  test('calls none safe that breaks a consumer, and few unsafe that break none', async () => {
    const before = documented('before', original);
    const none = { mutants: 0, broken: 0, refused: 0, falselySafe: 0, falselyUnsafe: 0, untold: 0 };
    const rows = new Map<string, typeof none>();
    const falselySafe: string[] = [];
    const falselyUnsafe: string[] = [];
    const targets = mutantsOf(original).map(({ target }) => target);
    const usual = validatorsOf(original);
    for (const [index, target] of targets.entries()) {
      const document = newDocument();
      const { target: _, ...mutant } = mutantsOf(document)[index] as Mutant;
      mutant.apply();
      const { impacts } = await impactOf(changesFor(before, documented('now', document)), { contracts });
      const takes = mutant.kind.startsWith('request') ? validatorsOf(document) : usual;
      for (const consumer of running.keys()) {
        const concern = impacts.filter(({ affected }) => affected.some((one) => one.consumer === consumer));
        const isRefused = concern.some(isBroken);
        const isUntold = !isRefused && (concern.length > 0 || impacts.some(({ concernsAll }) => concernsAll));
        const isSafe = !isRefused && !isUntold;
        const isBorne = await bears(consumer, takes, { ...mutant, ...(target && { target }) });
        const row = rows.get(mutant.kind) ?? { ...none };
        row.mutants += 1;
        row.broken += isBorne ? 0 : 1;
        row.falselySafe += isSafe && !isBorne ? 1 : 0;
        row.refused += isRefused ? 1 : 0;
        row.falselyUnsafe += isRefused && isBorne ? 1 : 0;
        row.untold += isUntold ? 1 : 0;
        rows.set(mutant.kind, row);
        if (!isUntold && isSafe !== isBorne) {
          const told = impacts.map(
            ({ operation, where, expected, came }) => `${operation} ${where}: ${expected} → ${came}`,
          );
          (isSafe ? falselySafe : falselyUnsafe).push(`${consumer}, ${mutant.kind}: ${told.join('; ')}`);
        }
      }
    }
    const total = { ...none };
    for (const row of rows.values()) {
      for (const name of Object.keys(none) as (keyof typeof none)[]) total[name] += row[name];
    }
    const line = (kind: string, row: typeof total) => [kind, ...Object.values(row).map(String)];
    const table = markdownTable(
      ['Change', 'Mutants × consumers', 'Break one', 'No', 'Falsely safe', 'Falsely unsafe', 'Cannot tell'],
      [...Array.from(rows, ([kind, row]) => line(kind, row)), line('all', total)],
    );
    if (process.env['UPDATE_RESULTS'] === 'true') {
      writeFileSync(
        RESULTS,
        `# Is \`can-i-deploy\` right?\n\n\`UPDATE_RESULTS=true TEST_TIER=long npm test -- test/testkit/consumers/mutations.test.ts\` wrote this table. It mutates the published\ndocument in each place that three consumers use, and runs their tests against a service that takes and answers what the mutant says.\nOne has the TypeScript SDK and one the Python SDK, which recorded their contracts; the third is in Go, and its reads are told by hand.\n\n${table}\n`,
      );
    }
    expect(falselySafe).toEqual([]);
    expect(targets.length).toBeGreaterThan(200);
    expect(falselyUnsafe.length / total.refused).toBeLessThanOrEqual(0.05);
    expect(total.untold / total.mutants).toBeLessThanOrEqual(0.1);
    expect(readFileSync(RESULTS, 'utf8')).toContain(table);
  });
});
