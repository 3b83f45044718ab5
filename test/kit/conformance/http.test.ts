/**
 * @engines sqlite
 * @tier long
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { operations, type Scope, scopes, streams } from '../../../contract/index.ts';
import { differenceOf } from '../../../openapi/kit/conformance/findings/finding.ts';
import type { CheckResult, VerifyObserver, VerifyTarget } from '../../../openapi/kit/conformance/verify.ts';
import { startApp, type TestUser } from '../../harness/app/app.ts';
import { runVerify } from '../../harness/http/verify.ts';
import {
  type Meddle,
  type PassingReply,
  type PassingRequest,
  startMeddler,
  together,
} from '../../harness/servers/meddler.ts';
import {
  calls,
  changed,
  failures,
  html,
  inputOf,
  inputs,
  type Json,
  outputs,
  replies,
} from '../../harness/servers/planting.ts';

// The conformance kit: green on the service itself, and red on each fault that a proxy in front of it plants.

const app = await startApp();
app.context.lifecycle.relay.start();
const meddler = await startMeddler(app.url);
afterAll(async () => {
  await meddler.stop();
  await app.stop();
});
afterEach(() => meddler.meddle(undefined));

const ids = operations.map(({ id }) => id);
let user: TestUser;

beforeAll(async () => {
  user = await app.aUser({ nickname: '試験 tester' });
  // Records of another author: some to read, and one to be kept from.
  const other = await app.aUser();
  for (const title of ['one', 'two', 'three', 'four']) {
    await app.aGame({ title }, other);
    await app.anImagePost({ title }, other);
  }
});

const run = async (target: Partial<VerifyTarget>, observer?: VerifyObserver): Promise<CheckResult[]> =>
  (await runVerify({ baseUrl: app.url, ...target }, observer)).results;

/** `game.list: refuses /limit: 0`, with what was found. */
const failuresOf = (results: readonly CheckResult[]): string[] =>
  results.flatMap(({ subject, name, findings }) =>
    findings.map((finding) => `${subject}: ${name}: ${differenceOf(finding)}`),
  );

const subjectsOf = (results: readonly CheckResult[]): string[] => [...new Set(results.map(({ subject }) => subject))];
const skipsOf = (results: readonly CheckResult[]): CheckResult[] =>
  results.filter(({ outcome }) => outcome === 'skipped');
/** Why checks were skipped. */
const reasonsOf = (results: readonly CheckResult[]): string[] => [
  ...new Set(skipsOf(results).map(({ reason }) => `${reason}`)),
];

// With a key of all scopes, `test/kit/conformance/all-engines.test.ts` runs it on each database.
describe('on the service itself', () => {
  test.each(scopes.map((scope, index) => [scope, scopes.at(index - 1)!] as const))(
    'is green with a key of %s and without %s, and says what that leaves out',
    async (scope, other) => {
      const { key } = await app.aUser({ scopes: [scope] });
      const results = await run({ key, only: [firstWith(scope), firstWith(other)] });
      expect(failuresOf(results)).toEqual([]);
      expect(reasonsOf(results)).toEqual(
        expect.arrayContaining([
          `it needs a key without ${scope}`,
          expect.stringMatching(`^it needs a key with ${other}`),
        ]),
      );
      const refused = results.filter(
        ({ name, outcome }) => name === 'refuses a key without its scope' && outcome === 'passed',
      );
      expect(subjectsOf(refused)).toEqual([firstWith(other)]);
    },
  );

  test('is green without a key where there is nothing to read', async () => {
    const empty = await startApp();
    empty.context.lifecycle.relay.start();
    const reads = operations.filter(({ effect }) => effect === 'read').map(({ id }) => id);
    const results = await run({ baseUrl: empty.url, only: ['service', ...reads] });
    await empty.stop();
    expect(failuresOf(results)).toEqual([]);
    expect(reasonsOf(results)).toContain('there is no record to read');
  });

  test('leaves the caller as it was, and marks what it publishes', async () => {
    const profile = { bio: '紹介', pronouns: 'they', website: 'https://example.com/', location: '京都' };
    await app.call('user.updateProfile', { ...profile, socialLinks: { pixiv: '@tester' } }, user.key);
    const before = await app.call('user.updateAvatar', { avatar: '/avatars/tester.png' }, user.key);
    await run({ key: user.key, only: ['user.updateProfile', 'user.updateAvatar', 'game.create', 'image.batchCreate'] });
    const { updatedAt: _, gameCount: __, imagePostCount: ___, ...after } = await app.call('user.me', {}, user.key);
    expect(before).toMatchObject(after);

    const mine = [
      ...(await app.call('game.list', { limit: 100, page: 1 })).items,
      ...(await app.call('image.list', { limit: 100, page: 1 })).items,
    ].filter(({ author }) => author.id === user.id);
    expect(mine.length).toBeGreaterThan(10);
    for (const { title, tags } of mine) {
      expect(title).toMatch(/^\[verify [0-9a-f]{12}\] /);
      expect(tags).toContainEqual({ name: 'verify', slug: 'verify' });
    }
  });
});

/** An operation that needs this scope. */
const firstWith = (scope: Scope): string => operations.find(({ access }) => access === scope)?.id ?? '';

const HEADER = 'idempotency-key';
/** What it was sent as, in a request to an operation. */
const repeatedAs = (id: string, request: PassingRequest): string | undefined =>
  calls(id, request) ? (request.headers[HEADER] as string | undefined) : undefined;

const withoutKey = (request: PassingRequest): PassingRequest => {
  const { [HEADER]: _, ...headers } = request.headers;
  return { ...request, headers };
};

/** Answers requests to an operation with what was answered to the first one with the same key, whatever they hold. */
const blindly = (id: string): Meddle => {
  const answers = new Map<string, PassingReply>();
  return async (request, forward) => {
    const key = repeatedAs(id, request);
    const known = key === undefined ? undefined : answers.get(key);
    if (known) return { ...known, headers: { ...known.headers, 'idempotency-replayed': 'true' } };
    const reply = await forward(request);
    if (key !== undefined && reply.status === 200) answers.set(key, reply);
    return reply;
  };
};

/** Answers whatever follows a request to an operation, with the same key, with what was answered to it. */
const evenRefused = (id: string): Meddle => {
  const answers = new Map<string, PassingReply>();
  return async (request, forward) => {
    const key = repeatedAs(id, request) ?? '';
    const reply = answers.get(key) ?? (await forward(request));
    if (key.endsWith(' refused')) answers.set(key, reply);
    return reply;
  };
};

/** What the walk asks for, on a page or behind a cursor. */
const isWalked = ({ search, page }: Json, number: number): boolean =>
  String(search).endsWith('walk') && page === number;

interface Planted {
  fault: string;
  only: string;
  meddle: Meddle;
  /** What has to be among the failures. */
  found: RegExp | RegExp[];
}

/**
 * Faults by the runs in which they are planted together: the faults of a run hide none of the others. Each is found by a check
 * that no fault of planted.test.ts, findings.test.ts or read-only.test.ts shows to work.
 */
const rounds: Planted[][] = [
  [
    {
      fault: 'a record that is dropped',
      only: 'image.list',
      meddle: outputs('image.list', (page, input) => {
        if (isWalked(input, 2) && input['cursor'] !== undefined) page['items'].pop();
      }),
      found: /^image\.list: has each .*: expected each record once in the walk by cursor, came "[0-9a-f-]{36}" never$/,
    },
    {
      fault: 'a wrong total',
      only: 'image.list',
      meddle: outputs('image.list', (page) => (page['total'] += 1)),
      found: /^image\.list: has each .*: \/result\/data\/json\/total: expected 7, came 8$/,
    },
    {
      fault: 'another request id in failures',
      only: 'game.create',
      meddle: failures('game.create', ({ data }) => (data.requestId = 'another')),
      found:
        /^game\.create: tells the request id in every failure: \/error\/json\/data\/requestId: expected the X-Request-Id "verify-.*", came "another",/,
    },
    {
      fault: 'a fault that there is not',
      only: 'game.create',
      meddle: failures('game.create', ({ data }) =>
        data.issues?.push({ path: '/isFree', code: 'too_small', message: '' }),
      ),
      found:
        /^game\.create: finds no fault where there is none: .*: expected no other issue, came "too_small" at "\/isFree"$/,
    },
    {
      fault: 'lengths in UTF-16 units',
      only: 'image.create',
      meddle: inputs('image.create', (input) => {
        const isLong = typeof input['title'] === 'string' && input['title'].length > 200;
        return isLong ? { ...input, title: 'x'.repeat(201) } : input;
      }),
      found:
        /^image\.create: stores texts at their longest, counted in code points: .* came status 400 "VALIDATION_FAILED"$/,
    },
    {
      fault: 'a key that is passed over',
      only: 'image.list',
      meddle: async (request, forward) => {
        const { authorization: _, ...headers } = request.headers;
        return forward(calls('image.list', request) ? { ...request, headers } : request);
      },
      found: /^image\.list: knows the caller by the key: .*\/viewer: expected what the caller did, came null$/,
    },
    {
      fault: 'a search that is late',
      only: 'game.create',
      meddle: outputs('game.list', (page, { search }) => {
        if (String(search).endsWith('sought')) Object.assign(page, { items: [], total: 0 });
      }),
      found:
        /^game\.create: is found by the very next search: \/result\/data\/json\/items\/0: expected "[0-9a-f-]{36}", came nothing$/,
    },
    {
      fault: 'a batch out of order',
      only: 'image.batchCreate',
      meddle: outputs('image.batchCreate', (output) => (output['items'] = output['items'].toReversed())),
      found:
        /^image\.batchCreate: stores all, in their order: \/result\/data\/json\/items\/0\/title: expected ".* batch one"/,
    },
    {
      fault: 'scopes that the key has not',
      only: 'user.me',
      meddle: outputs('user.me', ({ apiKey }) => apiKey.scopes.pop()),
      found:
        /^user\.me: tells what the key allows: \/result\/data\/json\/apiKey\/scopes\/\d: expected "webhook:write", came nothing$/,
    },
    {
      fault: 'a proxy that takes bodies of less than 4 MiB',
      only: 'image.batchCreate',
      meddle: async (request, forward) => (request.body.length > 1_048_576 ? html(413) : forward(request)),
      found: /^image\.batchCreate: reads a body of 4194304 bytes: .* came status 413, text\/html, no JSON: /,
    },
    {
      fault: 'no reads by GET',
      only: 'game.getById',
      meddle: async (request, forward) =>
        forward(request.method === 'GET' && calls('game.getById', request) ? { ...request, method: 'PUT' } : request),
      found:
        /^game\.getById: answers tRPC’s GET: expected status 200 with a result, came status 405 "METHOD_NOT_SUPPORTED"$/,
    },
    {
      fault: 'HTML beside the API',
      only: 'service',
      meddle: async (request, forward) => (request.path === '/no-such-route' ? html(404) : forward(request)),
      found:
        /^service: finds nothing beside the API: expected status 404 "ROUTE_NOT_FOUND", came status 404, text\/html,/,
    },
    {
      fault: 'batches that are refused',
      only: 'service',
      meddle: async (request, forward) => forward({ ...request, path: request.path.replace(/,.*/, '') }),
      found:
        /^service: answers each call of a batch: expected status 207 with 2 replies, came status 200 with a result$/,
    },
    {
      fault: 'a 429 that does not say when to try again',
      only: 'service',
      meddle: async (request, forward) =>
        request.path.endsWith('no.such') ? { ...html(429), headers: {} } : forward(request),
      found:
        /^service: says with every 429 and 503 when to try again: expected the header Retry-After in seconds, came nothing,/,
    },
    {
      fault: 'rates in another form',
      only: 'game.getTypeStats',
      meddle: async (request, forward) => {
        const reply = await forward(request);
        return { ...reply, headers: { ...reply.headers, 'ratelimit-policy': '"a";q=5, b;q=1', ratelimit: '5' } };
      },
      found: [
        /by RateLimit-Policy, .*, came "\\?"a\\?";q=5, b;q=1", likewise/,
        /by RateLimit, .*: expected the header RateLimit such as .*, came "5", likewise/,
      ],
    },
    {
      fault: 'what is done again when it comes at the same time',
      only: 'game.create',
      meddle: (() => {
        let times = 0;
        return (request, forward) => {
          if (!repeatedAs('game.create', request)?.endsWith(' at once')) return forward(request);
          times += 1;
          return forward(times === 2 ? withoutKey(request) : request);
        };
      })(),
      found:
        /^game\.create: is done once when it comes 5 times at once: \/result\/data\/json\/id: expected ".*", came "/,
    },
    {
      fault: 'another input that is answered like the first one',
      only: 'user.updateAvatar',
      meddle: blindly('user.updateAvatar'),
      found:
        /^user\.updateAvatar: refuses another input with the same Idempotency-Key: expected status 422 "IDEMPOTENCY_MISMATCH", came status 200/,
    },
    {
      fault: 'an Idempotency-Key that is cut off',
      only: 'user.updateProfile',
      meddle: (request, forward) => {
        const key = repeatedAs('user.updateProfile', request);
        const headers = { ...request.headers, ...(key !== undefined && { [HEADER]: key.slice(0, 255) }) };
        return forward({ ...request, headers });
      },
      found:
        /^user\.updateProfile: refuses the Idempotency-Key "k+…: expected status 400 "IDEMPOTENCY_KEY_INVALID", came status 200/,
    },
    {
      fault: 'a read that looks at the Idempotency-Key',
      only: 'game.getTypeStats',
      meddle: async (request, forward) =>
        repeatedAs('game.getTypeStats', request) === undefined ? forward(request) : html(400),
      found: /^game\.getTypeStats: ignores an Idempotency-Key: expected status 200 with a result, came status 400/,
    },
  ],
  [
    {
      fault: 'another order behind cursors',
      only: 'image.list',
      meddle: outputs('image.list', (page, input) => {
        if (isWalked(input, 2) && input['cursor'] !== undefined) page['items'].reverse();
      }),
      found:
        /^image\.list: .*: expected "[0-9a-f-]{36}" as record 4 of the walk by cursor, as by page, came "[0-9a-f-]{36}"$/,
    },
    {
      fault: 'a counter that reads differ on',
      only: 'image.toggleFavorite',
      meddle: outputs('image.getById', (post) => (post['favoriteCount'] = 0)),
      found:
        /^image\.toggleFavorite: switches on and off again.*: \/result\/data\/json\/favoriteCount: expected 1, came 0$/,
    },
    {
      fault: 'views that are not counted',
      only: 'image.getById',
      meddle: outputs('image.getById', (post) => (post['viewCount'] = 0)),
      found:
        /^image\.getById: counts a view soon: \/result\/data\/json\/viewCount: expected a view to be counted by now, came 0$/,
    },
    {
      fault: 'a list that is late',
      only: 'image.create',
      meddle: outputs('image.list', (page) => page['items'].shift()),
      found:
        /^image\.create: is among the latest of the list: .*: expected "[0-9a-f-]{36}" among the latest 100, came others$/,
    },
    {
      fault: 'text that is not stored as it came',
      only: 'image.create',
      meddle: inputs('image.create', (input) => ({
        ...input,
        description: String(input['description']).trimEnd().slice(0, -1),
      })),
      found:
        /^image\.create: stores what it is given: \/result\/data\/json\/description: expected "Five studies.*\.", came "Five/,
    },
    {
      fault: 'a batch that is not atomic',
      only: 'game.batchCreate',
      meddle: async (request, forward) => {
        const [first, second] = inputOf(request)['games'] ?? [];
        const isFaulty = calls('game.batchCreate', request) && /atomic/.test(first?.title ?? '') && second.title === '';
        if (isFaulty) await forward({ ...request, body: JSON.stringify({ json: { games: [first] } }) });
        return forward(request);
      },
      found:
        /^game\.batchCreate: stores nothing when one of all is faulty: \/result\/data\/json\/items\/0: expected nothing, came "/,
    },
    {
      fault: 'an update that changes too much',
      only: 'image.update',
      meddle: inputs('image.update', (input) => ({ description: null, ...input })),
      found:
        /^image\.update: changes what is given and nothing else: \/result\/data\/json\/description: expected ".*", came null$/,
    },
    {
      fault: 'a profile that does not change',
      only: 'user.updateProfile',
      meddle: inputs('user.updateProfile', (input) => (typeof input['bio'] === 'object' ? {} : input)),
      found:
        /^user\.updateProfile: changes what is given and nothing else, and back again: \/result\/data\/json\/bio: expected null, came "\[verify [0-9a-f]{12}\] 𠮷/,
    },
    {
      fault: 'types that do not add up',
      only: 'game.getTypeStats',
      meddle: outputs('game.getTypeStats', ({ items }) => (items[0].count += 1)),
      found:
        /^game\.getTypeStats: counts every game once, .*: \/result\/data\/json\/total: expected [0-9]+, came [0-9]+$/,
    },
    {
      fault: 'a game related to itself',
      only: 'game.getRelated',
      meddle: outputs('game.getRelated', ({ items }, { gameId }) => (items[0].id = gameId)),
      found: /^game\.getRelated: names 3 others.*: expected each other game once, came "[0-9a-f-]{36}"$/,
    },
    {
      fault: 'no page about errors',
      only: 'service',
      meddle: async (request, forward) => (request.path === '/errors' ? html(404) : forward(request)),
      found:
        /^service: explains every reason at \/errors: expected a page, status 200, text\/html, came status 404, text\/html,/,
    },
    {
      fault: 'rates that are told in some replies only',
      only: 'game.getTypeStats',
      meddle: async (request, forward) => {
        const reply = await forward(request);
        const headers = { 'ratelimit-policy': '"a b";q=5;w=60, "c";q=1;qu="bytes"', ratelimit: '"a b";r=5' };
        return reply.status === 200 ? { ...reply, headers: { ...reply.headers, ...headers } } : reply;
      },
      found: [
        /^game\.getTypeStats: tells in every reply or in none, by RateLimit-Policy, .*: expected the header RateLimit-Policy such as .*, came nothing,/,
        /^game\.getTypeStats: tells in every reply or in none, by RateLimit, .*: expected the header RateLimit such as .*, came nothing,/,
      ],
    },
    {
      fault: 'another answer to a repetition',
      only: 'image.create',
      meddle: replies('image.create', (reply) =>
        reply.headers['idempotency-replayed'] === undefined
          ? reply
          : changed(reply, ({ result }) => (result.data.json.viewCount += 1)),
      ),
      found: /^image\.create: is done once however often .*: \/result\/data\/json\/viewCount: expected 0, came 1$/,
    },
    {
      fault: 'a refusal that is repeated',
      only: 'image.toggleReaction',
      meddle: evenRefused('image.toggleReaction'),
      found:
        /^image\.toggleReaction: leaves the Idempotency-Key of a refused .*: expected status 200 with a result, came status 400/,
    },
  ],
  [
    {
      fault: 'a record against the filter',
      only: 'image.list',
      meddle: outputs('image.list', (page, input) => {
        if (isWalked(input, 1)) page['items'][0].id = 'strange';
      }),
      found:
        /^image\.list: has each .*: expected each record once in the walk by page, came "strange" against the filter$/,
    },
    {
      fault: 'a reaction that is only added',
      only: 'image.toggleReaction',
      meddle: outputs('image.toggleReaction', (state, { type }) => {
        if (state['reaction'] === null) Object.assign(state, { reaction: type, [`${type}Count`]: 2 });
      }),
      found:
        /^image\.toggleReaction: switches a like on and off again.*: \/result\/data\/json\/likeCount: expected 0, came 2$/,
    },
    {
      fault: 'a list with all images of a post',
      only: 'image.list',
      meddle: outputs('image.list', ({ items }) => items[0]?.images.push('https://images.example.com/4.webp')),
      found:
        /^image\.list: shows the first 4 images .*: \/result\/data\/json\/items\/0\/images\/4: expected nothing, came "https:/,
    },
    {
      fault: 'another version of the document',
      only: 'service',
      meddle: async (request, forward) =>
        request.path === '/openapi.json'
          ? changed(await forward(request), ({ info }) => (info.version = '0.9.0'))
          : forward(request),
      found:
        /^service: publishes the version of this contract: \/info\/version: expected "[0-9.]+" or a later version .*, came "0\.9\.0"$/,
    },
    {
      fault: 'a page that leaves errors out',
      only: 'service',
      meddle: async (request, forward) => {
        const reply = await forward(request);
        if (request.path !== '/errors') return reply;
        return { ...reply, body: reply.body.replace(/ id="(?:TIMEOUT|INTERNAL)"/g, '') };
      },
      found:
        /^service: explains every reason at \/errors: expected a section for each reason, came none for TIMEOUT, INTERNAL$/,
    },
  ],
  [
    {
      fault: 'JSON that is cut short',
      only: 'game.getTypeStats',
      meddle: replies('game.getTypeStats', (reply) => ({ ...reply, body: reply.body.slice(0, -3) })),
      found: /^game\.getTypeStats: answers its example.*, came status 200, application\/json; charset=utf-8, no JSON: /,
    },
  ],
  [
    {
      fault: 'a reply that breaks off',
      only: 'game.getTypeStats',
      meddle: replies('game.getTypeStats', (reply) => ({ ...reply, breaksOff: true })),
      found: /^game\.getTypeStats: answers its example.*: expected a reply, came none: /,
    },
    {
      fault: 'a wrong hasMore',
      only: 'game.list',
      meddle: outputs('game.list', (page, input) => {
        if (isWalked(input, 3)) page['hasMore'] = true;
      }),
      found: /^game\.list: has each .*: \/result\/data\/json\/hasMore: expected false, came true$/,
    },
  ],
  [
    {
      fault: 'a cursor at the end',
      only: 'game.list',
      meddle: outputs('game.list', (page) => (page['nextCursor'] ??= 'more')),
      found: /^game\.list: has each .*: \/result\/data\/json\/nextCursor: expected null, came "more"$/,
    },
  ],
  [
    {
      fault: 'a change that changes nothing',
      only: 'webhook.update',
      meddle: inputs('webhook.update', ({ id, ...changes }) =>
        changes['types'] === null ? { id } : { id, ...changes },
      ),
      found:
        /^webhook\.update: changes what is sent, and nothing else: \/result\/data\/json\/types: expected null, came \[/,
    },
    {
      fault: 'a key that is not listed',
      only: 'apiKey.create',
      meddle: outputs('apiKey.list', (page) => (page['items'] = [])),
      found: /^apiKey\.create: is listed afterwards, without a secret: \/result\/data\/json: expected \{/,
    },
    {
      fault: 'a contract beside the one before',
      only: 'consumerContract.publish',
      meddle: outputs('consumerContract.list', ({ items }) => items[0] && items.push(items[0])),
      found:
        /^consumerContract\.publish: keeps it in place of the one before: \/result\/data\/json\/1: expected nothing, came \{/,
    },
  ],
];

describe('behind a proxy', () => {
  test('is as green as in front of it', async () => {
    const only = ['service', 'game.list', 'image.update', 'user.me'];
    expect(failuresOf(await run({ baseUrl: meddler.url, key: user.key, only, strict: true }))).toEqual([]);
  });

  describe.each(rounds.map((faults) => ({ faults })))('', ({ faults }) => {
    let failed: string[];
    beforeAll(async () => {
      meddler.meddle(together(faults.map(({ meddle }) => meddle)));
      const only = [...new Set(faults.map((fault) => fault.only))];
      failed = failuresOf(await run({ baseUrl: meddler.url, key: user.key, only }));
    });

    test.each(faults)('finds $fault', ({ found }) => {
      const expected = [found].flat().map((pattern) => expect.stringMatching(pattern));
      expect(failed).toEqual(expect.arrayContaining(expected));
    });
  });

  const sentEvent = streams.find(({ id }) => id === 'event.tail')?.example.output as object;
  /** A service of a later version, in which everything that may hold more does. */
  const newer: Meddle = async (request, forward) => {
    const reply = await forward(request);
    if (request.path === '/openapi.json') {
      return changed(reply, ({ info, paths, components: { schemas, parameters } }) => {
        info.version = info.version.replace(/[0-9]+\.[0-9]+$/, '10.0');
        info.description = 'other words';
        paths['/api/trpc/game.lend'] = { post: { operationId: 'game.lend', responses: {} } };
        paths['/api/trpc/game.list'].post.description = 'other words';
        paths['/api/trpc/game.list'].post.responses['418'] = paths['/api/trpc/game.list'].post.responses['400'];
        paths['/api/trpc/game.list'].post.tags.push('later');
        parameters.Later = { in: 'header', name: 'Later' };
        schemas.GameSummary.properties.inList = { type: 'string' };
        schemas.GameInput.properties.title.maxLength = 300;
      });
    }
    if (calls('event.tail', request) && reply.status === 200) {
      const message = JSON.stringify({ json: { ...sentEvent, inTail: 'new' } });
      return { ...reply, body: reply.body.replace('event: return', `data: ${message}\n\nevent: return`) };
    }
    if (!request.path.startsWith('/api/trpc/') || !/^[[{]/.test(reply.body)) return reply;
    // No two operations have the same new members.
    const name = `in${request.path.replace(/^.*\.|\?.*$/g, '')}`;
    const grown = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(grown);
      if (typeof value !== 'object' || value === null) return value;
      const members = Object.entries(value).map(([member, one]) => [
        member,
        // What users put in is a map, which has no members of the service.
        member === 'socialLinks' ? one : grown(one),
      ]);
      return { ...Object.fromEntries(members), [name]: 'new' };
    };
    return { ...reply, body: JSON.stringify(grown(JSON.parse(reply.body))) };
  };

  test('finds nothing in a newer service, notes what is new, and fails by it where it is to be strict', async () => {
    meddler.meddle(newer);
    const target = { baseUrl: meddler.url, key: user.key };
    // Nothing sends webhooks here, and checks of these wait for one.
    const left = ['webhook.test', 'webhook.deliveries', 'webhook.redeliver'];
    const made = await runVerify({ ...target, only: ['service', ...ids.filter((id) => !left.includes(id))] });
    expect(failuresOf(made.results)).toEqual([]);
    const notes = made.changes.map(({ operation, where, breaks }) => `${operation} ${where} ${breaks}`);
    expect(notes).toEqual(
      expect.arrayContaining([
        'game.lend the operation false',
        'game.list the operation false',
        'game.create the request /json/title false',
        'user.me 200 /result/data/json/inme false',
        'image.list 200 /result/data/json/items/*/author/inlist false',
        'service 404 /error/json/data/insuch false',
        'event.tail 200 /json/inTail false',
      ]),
    );
    const told = made.changes.map(({ operation, where, expected, came }) => [operation, where, expected, came].join());
    expect(told.filter((one, n) => told.indexOf(one) !== n)).toEqual([]);

    const only = ['service', 'game.list', 'user.me', 'event.tail'];
    expect(failuresOf((await runVerify({ ...target, strict: true, only })).results)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^service: publishes the version of this contract: /),
        expect.stringMatching(/^service: publishes no operations of other contracts: /),
        expect.stringMatching(/^service: answers no member .*: \/error\/json\/data\/insuch: /),
        expect.stringMatching(/^game\.list: is published as the contract says: .*\/responses\/418: /),
        expect.stringMatching(/^user\.me: answers no member .*: \/result\/data\/json\/inme: expected no such member/),
        expect.stringMatching(/^event\.tail: answers no member .*: \/json\/inTail: expected no such member/),
      ]),
    );
  });

  test('tells a fault of one operation once, and skips what stands on it', async () => {
    meddler.meddle(replies('game.create', () => html(502)));
    const only = ['game.getById', 'game.toggleFavorite', 'game.getTypeStats'];
    const results = await run({ baseUrl: meddler.url, key: user.key, only });
    expect(failuresOf(results)).toEqual([]);
    expect(reasonsOf(results)).toContain('game.create does not work');
  });

  test('sends nothing more to an operation that is silent three times', async () => {
    let calledFor = 0;
    meddler.meddle((request, forward) => {
      if (!request.path.startsWith('/api/trpc/game.getRelated')) return forward(request);
      calledFor += 1;
      return new Promise<never>(() => undefined);
    });
    const results = await run({ baseUrl: meddler.url, only: ['game.getRelated'], timeoutMs: 1000 });
    expect(calledFor).toBe(3);
    expect(failuresOf(results)).toContainEqual(
      expect.stringMatching(/^game\.getRelated: .*: expected a reply, came none: it took more than 1 s$/),
    );
    expect(reasonsOf(results)).toContain('3 requests in a row got no reply');
  });

  test('waits as long as a rate limit asks for', async () => {
    const refused = { ...html(429), headers: { 'retry-after': '1' } };
    let left = 2;
    meddler.meddle(async (request, forward) => {
      const isRefused = calls('game.getTypeStats', request) && left > 0;
      if (isRefused) left -= 1;
      return isRefused ? refused : forward(request);
    });
    const waits: number[] = [];
    const results = await run(
      { baseUrl: meddler.url, only: ['game.getTypeStats'] },
      { onWait: (seconds) => waits.push(seconds) },
    );
    expect(waits).toEqual([1, 1]);
    expect(failuresOf(results)).not.toContainEqual(expect.stringContaining('answers its example'));
  });
});

test('waits where rates are limited, says so, and is green', async () => {
  const limited = await startApp({ rates: 'anonymous=60' });
  const waits: number[] = [];
  // More calls than there is room for.
  const results = await run(
    { baseUrl: limited.url, only: ['game.getTypeStats', 'image.getById', 'game.getById'] },
    { onWait: (seconds) => waits.push(seconds) },
  );
  await limited.stop();
  expect(failuresOf(results)).toEqual([]);
  expect(waits.length).toBeGreaterThan(0);
});

test('is green where only some sites may call, as one of them, and says so as any other', async () => {
  const origin = 'https://app.example.com';
  const only = ['game.getTypeStats'];
  const closed = await startApp({ settings: { CORS_ORIGINS: `${origin},https://other.example.com` } });
  const own = await run({ baseUrl: closed.url, only, origin });
  const foreign = await run({ baseUrl: closed.url, only, origin: 'https://elsewhere.example.com' });
  await closed.stop();
  expect(failuresOf(own)).toEqual([]);
  expect(failuresOf(foreign)).toEqual([
    expect.stringMatching(
      / Access-Control-Allow-Origin "\*" or "https:\/\/elsewhere\.example\.com", see --origin, came nothing,/,
    ),
  ]);
});
