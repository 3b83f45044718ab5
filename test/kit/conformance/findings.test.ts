/**
 * @engines sqlite
 * @tier long
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { groupsOf } from '../../../openapi/kit/conformance/findings/groups.ts';
import { startApp, type TestUser } from '../../harness/app/app.ts';
import { type Meddle, type PassingReply, startMeddler, together } from '../../harness/servers/meddler.ts';
import { runVerify } from '../../harness/http/verify.ts';

// One fault is one finding, however many operations show it.

const app = await startApp();
app.context.lifecycle.relay.start();
const meddler = await startMeddler(app.url);
let user: TestUser;

describe('verify finds', () => {
  beforeAll(async () => {
    user = await app.aUser();
    for (const title of ['one', 'two', 'three', 'four']) {
      await app.aGame({ title, gameType: 'RPG', tagNames: ['a', 'b'] });
      await app.anImagePost({ title, tagNames: ['a', 'b'] });
    }
  });
  afterAll(async () => {
    await meddler.stop();
    await app.stop();
  });
  afterEach(() => meddler.meddle(undefined));

  type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- faults are planted anywhere

  /** Changes every reply of the API. */
  const all =
    (change: (reply: PassingReply) => PassingReply): Meddle =>
    async (request, forward) => {
      const reply = await forward(request);
      return request.path.startsWith('/api/') ? change(reply) : reply;
    };

  const json = (change: (body: Json) => unknown): Meddle =>
    all((reply) =>
      // Streams are no JSON.
      !/^[[{]/.test(reply.body) ? reply : { ...reply, body: JSON.stringify(change(JSON.parse(reply.body) as Json)) },
    );

  const failures = (change: (data: Json) => void): Meddle =>
    json((body) => {
      if (body['error']) change(body['error'].json.data);
      return body;
    });

  const withoutHeader =
    (name: string): Meddle =>
    async (request, forward) => {
      const reply = await forward(request);
      const { [name]: _, ...headers } = reply.headers;
      return { ...reply, headers };
    };

  const status = (from: (status: number) => boolean, to: number): Meddle =>
    all((reply) => (from(reply.status) ? { ...reply, status: to } : reply));

  /** By the runs in which they are planted together. */
  const planted: [fault: string, meddle: Meddle, found: RegExp][][] = [
    [
      ['no X-Request-Id', withoutHeader('x-request-id'), /X-Request-Id.* nothing$/],
      ['no CORS', withoutHeader('access-control-allow-origin'), /^the header Access-Control-Allow-Origin /],
      [
        'no headers to read',
        withoutHeader('access-control-expose-headers'),
        /^the header Access-Control-Expose-Headers /,
      ],
      ['no WWW-Authenticate', withoutHeader('www-authenticate'), /^the header WWW-Authenticate /],
      ['no Allow', withoutHeader('allow'), /^the header Allow /],
      [
        'another type',
        all((reply) => ({ ...reply, headers: { ...reply.headers, 'content-type': 'text/json' } })),
        /^the header Content-Type .* "text\/json"$/,
      ],
      [
        'another number',
        json((body) => {
          if (body['error']) body['error'].json.code = -1;
          return body;
        }),
        / -1$/,
      ],
    ],
    [
      ['a leak', failures((data) => (data['stack'] = `at ${String(data['path'])}`)), /^no such member "at /],
      ['a missing member', failures((data) => delete data['path']), /^string nothing$/],
      ['no address of pages about errors', failures((data) => delete data['docs']), /^"\/errors#[A-Z_]+" nothing$/],
    ],
    [
      [
        'pages about another error',
        failures((data) => (data['docs'] = '/errors#OTHER')),
        /^"\/errors#[A-Z_]+" "\/errors#OTHER"$/,
      ],
      [
        'issues by another notation',
        failures(({ issues = [] }) =>
          issues.forEach((issue: Json) => (issue['path'] = String(issue['path']).slice(1).replaceAll('/', '.'))),
        ),
        /^an issue "[a-z_]+" at ".*" "[a-z_]+" at "[^/"]+"$/,
      ],
    ],
    [
      ['successes with 201', status((one) => one === 200, 201), /^status 200 with a result status 201 with a result$/],
      ['failures with 400', status((one) => one > 400, 400), /^status 40[0-9] "[A-Z_]+" status 400 "[A-Z_]+"$/],
      ['no issues', failures((data) => delete data['issues']), /^an issue .* none at all$/],
    ],
    [['a wrapping', json((body) => ({ data: body })), /^an envelope, .* status [0-9]+, \{"data":/]],
    [
      [
        'another wrapping',
        json(({ result, error }) => ({ ok: !error, value: result ?? error ?? null })),
        /^an envelope, /,
      ],
    ],
    [
      [
        'HTML',
        all(() => ({ status: 502, headers: { 'content-type': 'text/html' }, body: '<html>' })),
        / status 502, text\/html, no JSON: "<html>"$/,
      ],
    ],
  ];

  /** Some of each kind: all would take half a minute for each fault. */
  const only = ['service', 'game.list', 'game.create', 'image.getById', 'user.getProfile', 'user.me'];

  test.each(planted.map((faults) => [faults.map(([fault]) => fault).join(', '), faults] as const))(
    '%s: each is one finding',
    async (_, faults) => {
      meddler.meddle(together(faults.map(([, meddle]) => meddle)));
      const { results } = await runVerify({ baseUrl: meddler.url, only, strict: true });
      const groups = groupsOf(results);
      const found = groups.map(({ finding }) => `${finding.expected} ${finding.came}`);
      const expected = faults.map(([, , pattern]) => expect.stringMatching(pattern));
      expect(found).toEqual(expect.arrayContaining(expected));
      expect(found).toHaveLength(faults.length);
      for (const { places } of groups) expect(places.length).toBeGreaterThan(4);
    },
  );

  /** What a key is needed for, too. */
  const more = [...only, 'image.update', 'game.toggleFavorite', 'user.updateProfile', 'webhook.create'];

  test('a fault of all operations is one finding, with a key, too', async () => {
    meddler.meddle(json((body) => ({ data: body })));
    const { results } = await runVerify({ baseUrl: meddler.url, key: user.key, only: more });
    const [group, ...others] = groupsOf(results);
    expect(others).toEqual([]);
    expect(new Set(group?.places.map(({ subject }) => subject))).toEqual(new Set(more));
  });

  test('two faults are two findings, with a key, too', async () => {
    const wrong = json((body) => {
      if (body['result']?.data.json) body['result'].data.json.debug = true;
      if (body['error']) delete body['error'].json.data.requestId;
      return body;
    });
    meddler.meddle(wrong);
    const { results } = await runVerify({ baseUrl: meddler.url, key: user.key, only: more, strict: true });
    const groups = groupsOf(results).map(({ finding }) => `${finding.at}: ${finding.expected}`);
    expect(groups.toSorted()).toEqual([
      '/error/json/data/requestId: string',
      '/result/data/json/debug: no such member',
    ]);
  });
});
