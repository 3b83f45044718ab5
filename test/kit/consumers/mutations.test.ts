/**
 * @engines sqlite
 * @tier long
 * @needs languages
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ConsumerContract } from '../../../contract/consumer-contract.ts';
import { documented } from '../../../openapi/kit/conformance/document/client-document.ts';
import { changesFor } from '../../../openapi/kit/conformance/document/compare.ts';
import { type Impact, impactOf, isBroken, isUnknown } from '../../../openapi/kit/consumers/impact.ts';
import { unknownParts } from '../../../openapi/kit/consumers/needs.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { markdownTable } from '../../harness/markdown-table.mjs';
import { type Exchange, servicesFor } from './mutated-service.ts';
import { type Json, mutantsOf, sampled } from './mutants.ts';
import {
  type Answer,
  buildConsumers,
  type RunningConsumer,
  type SentCall,
  type Service,
  startConsumer,
  startStandIn,
} from './samples.ts';

// Whether what `can-i-deploy` says is true: the document is mutated in each node and by each kind of edit, and the tests of four
// consumers run against a service that takes and answers what the mutant says. Where one fails, the mutant is unsafe.

/** For the SDKs to be made, also where what makes them is installed first. */
const BUILDING_MS = 900_000;
const RESULTS = new URL('RESULTS.md', import.meta.url);
/** How many mutants are tried; `MUTANTS` is another number, or `all`. */
const SAMPLE = 300;
const wanted = process.env['MUTANTS'] === 'all' ? Infinity : Number(process.env['MUTANTS'] ?? SAMPLE);
const DAY_MS = 86_400_000;
const SCOPES = ['content:write', 'user:read', 'user:write'] as const;
const read = (path: string): string => readFileSync(new URL(`../../../openapi/${path}`, import.meta.url), 'utf8');

/** The document of the operations that the consumers call alone, with what they refer to; no other matters to them. */
const documentOf = (ids: readonly string[]): string => {
  const document = JSON.parse(read('openapi.json'), (name, value: unknown) =>
    name.startsWith('x-code') ? undefined : value,
  ) as Json;
  const paths = Object.fromEntries(ids.map((id) => [`/api/trpc/${id}`, document['paths'][`/api/trpc/${id}`] as Json]));
  const components: Json = { securitySchemes: document['components'].securitySchemes as Json };
  const visit = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)) {
      const own = (components[kind] ??= {}) as Json;
      if (own[name] !== undefined) continue;
      own[name] = document['components'][kind][name] as Json;
      visit(own[name]);
    }
  };
  visit(paths);
  return JSON.stringify({ openapi: document['openapi'], info: document['info'], paths, components });
};

let app: TestApp;
let user: TestUser;
let consumers: Awaited<ReturnType<typeof buildConsumers>>;
let standIn: Awaited<ReturnType<typeof startStandIn>>;
const contracts: ConsumerContract[] = [];
const running = new Map<string, RunningConsumer>();
const exchanges = new Map<string, Exchange[]>();
/** What came of the tests of a consumer, by how its calls were answered. */
const outcomes = new Map<string, string>();

/** How the service as it is answers a call. */
const call = async ({ id, headers, body }: SentCall): Promise<Answer> => {
  const authorization = headers['authorization'] && { Authorization: `Bearer ${user.key}` };
  const reply = await fetch(`${app.url}/api/trpc/${id}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...authorization },
    body: JSON.stringify(body),
  });
  const {
    'content-length': _,
    connection: _c,
    'keep-alive': _k,
    'transfer-encoding': _t,
    ...rest
  } = Object.fromEntries(reply.headers);
  return { status: reply.status, headers: rest, body: await reply.json() };
};

/** Records the contract of a consumer, and its calls. */
const record = async (consumer: string): Promise<ConsumerContract> => {
  const made: Exchange[] = [];
  exchanges.set(consumer, made);
  standIn.service = async (sent) => {
    const answer = await call(sent);
    made.push({ ...sent, answer });
    return answer;
  };
  return consumers.record(consumer, standIn.url);
};

/** Answers calls that are known, and no other. */
const playing =
  (known: readonly Exchange[]): Service =>
  ({ id, body }) => {
    const found = known.find((one) => one.id === id && JSON.stringify(one.body) === JSON.stringify(body));
    if (!found) throw new Error(`${id} was called otherwise: ${JSON.stringify(body)}`);
    return found.answer;
  };

/** `passed`, or why a test of a consumer fails by one of several answers. What is answered alike is tried once. */
const outcomeOf = async (consumer: string, variants: readonly Exchange[][]): Promise<string> => {
  for (const answered of variants) {
    const key = JSON.stringify([consumer, answered.map(({ id, body, answer }) => [id, body, answer])]);
    let outcome = outcomes.get(key);
    if (outcome === undefined) {
      standIn.service = playing(answered);
      outcome = (await running.get(consumer)?.run()) ?? '';
      outcomes.set(key, outcome);
    }
    if (outcome !== 'passed') return outcome;
  }
  return 'passed';
};

type Verdict = 'yes' | 'no' | 'cannot tell';

/** What `can-i-deploy` says of one consumer. */
const verdictOf = (impacts: readonly Impact[], consumer: string): Verdict => {
  const own = impacts.map((impact) => ({
    ...impact,
    affected: impact.affected.filter((one) => one.consumer === consumer),
  }));
  return own.some(isBroken) ? 'no' : own.some(isUnknown) ? 'cannot tell' : 'yes';
};

beforeAll(async () => {
  let now = Date.now() - 400 * DAY_MS;
  [app, consumers, standIn] = await Promise.all([
    startApp({ now: () => new Date(now) }),
    buildConsumers(),
    startStandIn(),
  ]);
  user = await app.aUser({ scopes: SCOPES });
  await app.aGame({ title: 'One', tagNames: ['rpg'], coverUrl: 'https://a.example/c.png' }, user);
  await app.anImagePost({ title: 'One' }, user);
  now = Date.now();
  await app.aGame({ title: 'Two', isFree: false }, user);
  await app.anImagePost({ title: 'Two' }, user);
  now += 1000;
  await app.aGame({ title: 'Three' }, user);
  // What a consumer makes does not matter to others.
  for (const consumer of ['shop-web', 'profile-page', 'ranking-bot', 'author-tool']) {
    contracts.push(await record(consumer));
    running.set(consumer, startConsumer(consumers.programs[consumer]!, standIn.url));
  }
}, BUILDING_MS);
afterAll(async () => {
  await Promise.all([...running.values()].map(({ stop }) => stop()));
  standIn.stop();
  consumers.remove();
  await app.stop();
});

/** The page of results. */
const resultsOf = (tried: number, all: number, table: string): string => `# Is \`can-i-deploy\` right?

\`MUTANTS=${process.env['MUTANTS'] ?? SAMPLE} UPDATE_RESULTS=true TEST_TIER=long npm test -- --selectProjects sqlite --coverage=false test/kit/consumers/mutations.test.ts\`
wrote this page. It edits the published document in each node of the operations that four consumers call, in each way that JSON Schema
2020-12 and OpenAPI 3.1 allow there: ${all} mutants, of which it tried ${tried}, spread evenly. It runs the tests of the consumers against a
service that takes and answers what the mutant says. One has the TypeScript SDK and one the Python SDK, which recorded their contracts;
of one in Go and one with the client of tRPC, the proxy recorded the calls, and what they read is told by hand.

All pairs of a mutant and a consumer count, also where the consumer does not call the operation. Without \`MUTANTS\`, as in CI,
${SAMPLE} mutants are tried, and held to the same: no pair is falsely safe, at most 5 % of the noes are falsely unsafe, and of at most 10 % of the
pairs it cannot tell.

${table}

Not looked at:

- Several edits at once.
- Webhooks, callbacks, streams, batches, and reads by GET.
- \`$dynamicRef\`, \`$id\` and \`$vocabulary\`; \`content\` of parameters; media types other than JSON; documents of OpenAPI 3.0.
- Fewer answers than before, and failures that are new: the tests run against the answers as they were.
- Consumers known by their recorded use alone.
- Texts that 1.1.0 no longer takes: of the release after 1.0.0, the two consumers that send texts get no yes.
`;

describe('can-i-deploy', () => {
  // 1.1.0 takes fewer texts than 1.0.0, such as those with control characters. Whether a consumer sends such, no contract says.
  const TEXTS = /^the request .*: pattern/;
  test.each([
    ['1.0.0', 'released/1.0.0/openapi.json', 'released/1.1.0/openapi.json', ['author-tool', 'profile-page']],
    ['1.1.0', 'released/1.1.0/openapi.json', 'openapi.json', []],
  ])('says yes to the release after %s, but for texts', async (_, old, fresh, sendTexts) => {
    const before = documented(old, JSON.parse(read(old)) as Json);
    const now = documented(fresh, JSON.parse(read(fresh)) as Json);
    const { impacts } = await impactOf(changesFor(before, now), { contracts });
    const doubts = impacts.filter((impact) => isBroken(impact) || isUnknown(impact));
    const others = doubts
      .map((impact) => `${impact.operation}, ${impact.where}: ${impact.expected} → ${impact.came}`)
      .filter((told) => !TEXTS.test(told.slice(told.indexOf(', ') + 2)));
    expect(others).toEqual([]);
    const told = contracts.map(({ consumer }) => [consumer, verdictOf(impacts, consumer)]);
    expect(told).toEqual(
      contracts.map(({ consumer }) => [consumer, sendTexts.includes(consumer) ? 'cannot tell' : 'yes']),
    );
    for (const contract of contracts) expect(unknownParts(contract, before, now)).toEqual([]);
  });

  test('calls no mutant safe that breaks a consumer, and few unsafe that break none', async () => {
    const ids = [...new Set(contracts.flatMap(({ needs }) => needs.map(({ operation }) => operation)))].toSorted();
    const text = documentOf(ids);
    const original = JSON.parse(text) as Json;
    const before = documented('before', original);
    const failure = [...exchanges.values()].flat().find(({ answer }) => answer.status >= 400)?.answer.body as Json;
    const serviceOf = servicesFor(original, call, failure, SCOPES);
    const none = { pairs: 0, broken: 0, refused: 0, falselySafe: 0, falselyUnsafe: 0, untold: 0 };
    const rows = new Map<string, typeof none>();
    const falselySafe: string[] = [];
    const falselyUnsafe: string[] = [];
    const all = mutantsOf(original, ids);
    const mutants = sampled(all, wanted);
    for (const { kind, edit, path, apply } of mutants) {
      const document = JSON.parse(text) as Json;
      apply(document);
      const { impacts } = await impactOf(changesFor(before, documented('now', document)), { contracts });
      const service = serviceOf(document, path);
      for (const consumer of running.keys()) {
        const verdict = verdictOf(impacts, consumer);
        const outcome = await outcomeOf(consumer, await service.answers(exchanges.get(consumer) ?? []));
        const isBorne = outcome === 'passed';
        const row = rows.get(kind) ?? { ...none };
        rows.set(kind, row);
        row.pairs += 1;
        row.broken += isBorne ? 0 : 1;
        row.refused += verdict === 'no' ? 1 : 0;
        row.falselySafe += verdict === 'yes' && !isBorne ? 1 : 0;
        row.falselyUnsafe += verdict === 'no' && isBorne ? 1 : 0;
        row.untold += verdict === 'cannot tell' ? 1 : 0;
        const told = `${consumer}, ${kind}, ${edit}, at ${path.join('/')}: ${verdict}, and its tests: ${outcome}`;
        if (verdict === 'yes' && !isBorne) falselySafe.push(told);
        if (verdict === 'no' && isBorne) falselyUnsafe.push(told);
      }
    }
    const total = { ...none };
    for (const row of rows.values())
      for (const name of Object.keys(none) as (keyof typeof none)[]) total[name] += row[name];
    const line = (kind: string, row: typeof total) => [kind, ...Object.values(row).map(String)];
    const table = markdownTable(
      ['Change', 'Mutants × consumers', 'Break one', 'No', 'Falsely safe', 'Falsely unsafe', 'Cannot tell'],
      [
        ...Array.from(rows, ([kind, row]) => line(kind, row)).toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
        line('all', total),
      ],
    );
    if (process.env['UPDATE_RESULTS'] === 'true') writeFileSync(RESULTS, resultsOf(mutants.length, all.length, table));
    expect(falselySafe).toEqual([]);
    expect(mutants.length).toBe(wanted < all.length ? wanted : all.length);
    // A failure shows them. The share in a sample differs from that in all by two standard deviations at most.
    const few = 0.05 * total.refused;
    const most = mutants.length < all.length ? few + 2 * Math.sqrt(few) : few;
    expect(falselyUnsafe.length > most ? falselyUnsafe : []).toEqual([]);
    expect(total.untold / total.pairs).toBeLessThanOrEqual(0.1);
  }, 7_200_000);
});
