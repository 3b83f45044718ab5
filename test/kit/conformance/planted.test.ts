/**
 * @engines sqlite
 * @tier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_PAGE_DEPTH, type Scope } from '../../../contract/index.ts';
import { differenceOf } from '../../../openapi/kit/conformance/findings/finding.ts';
import { failureLines } from '../../../openapi/kit/conformance/report/text.ts';
import { startApp, type TestUser } from '../../harness/app/app.ts';
import { runVerify } from '../../harness/http/verify.ts';
import { type Meddle, type PassingRequest, startMeddler, together } from '../../harness/servers/meddler.ts';
import {
  calls,
  changed,
  failures,
  inputOf,
  inputs,
  outputs,
  replies,
  withoutHeader,
} from '../../harness/servers/planting.ts';

// The measure of `verify`: 32 ways to break the contract, one to a run, and what it says of each. It misses two.

const REPEATED = 'idempotency-key';

const app = await startApp();
app.context.lifecycle.relay.start();
const meddler = await startMeddler(app.url);

/** Answers a request that is valid as if it lacked a member, by which cursors are told apart, too. */
const ignoring =
  (id: string, member: string): Meddle =>
  async (request, forward) => {
    const reply = await forward(request);
    const { [member]: value, ...rest } = inputOf(request);
    const isValid = reply.status === 200 || reply.body.includes('"CURSOR_INVALID"');
    if (!calls(id, request) || !isValid || value === undefined || value === null) return reply;
    return forward({ ...request, body: JSON.stringify({ json: rest }) });
  };

/** Takes another key for the one that came. */
const withKey = ({ headers, ...request }: PassingRequest, key: string): PassingRequest => ({
  ...request,
  headers: { ...headers, authorization: `Bearer ${key}` },
});

/** Adds the secret to the webhooks that a repetition answers. */
const secretAgain = (): Meddle => {
  const secrets = new Map<string, string>();
  return outputs('webhook.create', (webhook) => {
    if (webhook['secret']) secrets.set(webhook['id'], webhook['secret']);
    else webhook['secret'] = secrets.get(webhook['id']);
  });
};

const oldSecret = (): Meddle => {
  let last = '';
  return together([
    outputs('webhook.create', ({ secret }) => (last = secret ?? last)),
    outputs('webhook.rotateSecret', (output) => (output['secret'] &&= last)),
  ]);
};

/** Answers reads of a deleted game with what its creation answered. */
const readableAfterwards = (): Meddle => {
  const made = new Map<unknown, string>();
  return async (request, forward) => {
    const reply = await forward(request);
    if (calls('game.create', request) && reply.status === 200)
      made.set(
        (JSON.parse(reply.body) as { result: { data: { json: { id: string } } } }).result.data.json.id,
        reply.body,
      );
    const isGone = calls('game.getById', request) && reply.status === 404;
    const body = isGone ? made.get(inputOf(request)['id']) : undefined;
    return body === undefined ? reply : { ...reply, status: 200, body };
  };
};

interface Planted {
  fault: string;
  only: string[];
  meddle: (user: TestUser) => Meddle;
  /** The check that finds it, and what it says; none where nothing does. */
  found: RegExp | undefined;
  /** Of how many faults the report tells: one fault may break several rules. */
  told?: number;
  /** The scopes of the key, if not all. */
  scopes?: Scope[];
  strict?: boolean;
}

const planted: Planted[] = [
  {
    fault: 'a refusal with another status',
    only: ['user.me'],
    meddle: () => replies('user.me', (reply) => ({ ...reply, status: reply.status === 401 ? 403 : reply.status })),
    found: /^refuses a call without a key: expected status 401 "KEY_MISSING", came status 403 "KEY_MISSING"$/,
  },
  {
    fault: 'a missing member',
    only: ['user.getProfile'],
    meddle: () => outputs('user.getProfile', (profile) => delete profile['imagePostCount']),
    found: /^answers its example.*: \/result\/data\/json\/imagePostCount: expected number, came nothing$/,
  },
  {
    fault: 'a secret in a list',
    only: ['webhook.create', 'webhook.list'],
    strict: true,
    meddle: () => outputs('webhook.list', ({ items }) => items[0] && (items[0].secret = 'whsec_x')),
    found: /^answers no member .*: \/result\/data\/json\/items\/0\/secret: expected no such member, came "whsec_x"$/,
  },
  {
    fault: 'another reason',
    only: ['image.update'],
    meddle: () =>
      failures('image.update', ({ data }) => {
        for (const member of ['reason', 'docs'])
          data[member] = data[member].replace('NOT_OWNER', 'IMAGE_POST_NOT_FOUND');
      }),
    found:
      /^refuses a record of another author: \/error\/json\/data\/reason: expected "NOT_OWNER", came "IMAGE_POST_NOT_FOUND"$/,
  },
  {
    fault: 'a longer limit',
    only: ['image.create'],
    meddle: () =>
      inputs('image.create', (input) => {
        const characters = [...String(input['title'])];
        return characters.length === 201 ? { ...input, title: characters.slice(1).join('') } : input;
      }),
    found: /^refuses \/title: 201 characters: .*: expected an issue "too_big" at "\/title", came none there$/,
  },
  {
    fault: 'a write that is done again',
    only: ['webhook.create'],
    meddle: () => async (request, forward) => {
      const { [REPEATED]: key, ...headers } = request.headers;
      const isDropped = calls('webhook.create', request) && String(key).startsWith('verify ');
      return forward(isDropped ? { ...request, headers } : request);
    },
    found: /^is done once however often it comes.*: expected the header Idempotency-Replayed "true", came nothing$/,
    told: 2,
  },
  {
    fault: 'a toggle that does not toggle back',
    only: ['image.toggleFavorite'],
    meddle: () => async (request, forward) => {
      const reply = await forward(request);
      const isOff = calls('image.toggleFavorite', request) && reply.body.includes('"favorited":false');
      if (isOff && request.headers[REPEATED] === undefined) await forward(request);
      return reply;
    },
    found:
      /^switches on and off again, and every read agrees: \/result\/data\/json\/favoriteCount: expected 0, came 1$/,
    told: 2,
  },
  {
    fault: 'a filter by type that is ignored',
    only: ['game.list'],
    meddle: () => ignoring('game.list', 'gameType'),
    found: /^has by gameType what is of the type: \/result\/data\/json\/items\/\d+\/gameType: expected "/,
    told: 3,
  },
  {
    fault: 'a filter by tag that is ignored',
    only: ['image.list'],
    meddle: () => ignoring('image.list', 'tagSlugs'),
    found: /^has nothing under a tag that nobody has: \/result\/data\/json\/items\/0: expected nothing, came \{/,
    told: 3,
  },
  {
    fault: 'a filter by author that is ignored',
    only: ['game.list'],
    meddle: () => ignoring('game.list', 'authorId'),
    found:
      /^has by authorId the records of the user, and all of them: \/result\/data\/json\/items\/\d+\/author\/id: expected "/,
    told: 3,
  },
  {
    fault: 'a filter by author that leaves records out',
    only: ['image.list'],
    meddle: () => outputs('image.list', ({ items }, { authorId }) => authorId && items.shift()),
    found: /^has by authorId the records of the user, and all of them: \/result\/data\/json\/items/,
    told: 2,
  },
  {
    fault: 'an order that is ignored',
    only: ['game.list'],
    meddle: () => ignoring('game.list', 'sortBy'),
    found: /^has each record once.*, sortBy favorites: expected favoriteCount to go down in the walk by page, /,
    told: 2,
  },
  {
    fault: 'a cursor that leads to the same page again',
    only: ['image.list'],
    meddle: () => outputs('image.list', (page, { cursor }) => (page['nextCursor'] &&= cursor ?? page['nextCursor'])),
    found: /^has each record once.*: expected each record once in the walk by cursor, came "[0-9a-f-]{36}" repeatedly$/,
    told: 4,
  },
  {
    fault: 'counts that do not count',
    only: ['image.create'],
    meddle: () => outputs('user.getProfile', (profile) => Object.assign(profile, { gameCount: 0, imagePostCount: 0 })),
    found: /^counts for its author: expected more than 0 records of the author after one more, came 0$/,
  },
  {
    fault: 'a secret that is shown again',
    only: ['webhook.create'],
    meddle: secretAgain,
    found: /^is done once however often it comes, and answered the same: expected no secret again, came /,
  },
  {
    fault: 'scopes that are ignored',
    only: ['image.create'],
    scopes: ['user:read'],
    meddle: (user) => (request, forward) =>
      forward(
        calls('image.create', request) && request.headers.authorization?.includes(user.key) === true
          ? withKey(request, full.key)
          : request,
      ),
    found: /^refuses a key without its scope: expected status 403 "SCOPE_MISSING", came status 200 with a result$/,
  },
  {
    fault: 'an unknown key that is accepted',
    only: ['game.toggleReaction'],
    meddle: (user) => (request, forward) =>
      forward(
        calls('game.toggleReaction', request) && request.headers.authorization?.startsWith('Bearer cgk_') === true
          ? withKey(request, user.key)
          : request,
      ),
    found: /^refuses a key that was never issued: expected status 401 "KEY_UNKNOWN", came status 404 "GAME_NOT_FOUND"$/,
  },
  {
    fault: 'an expired key that is accepted',
    only: ['user.me'],
    meddle: (user) => async (request, forward) => {
      const reply = await forward(request);
      return reply.body.includes('"KEY_EXPIRED"') ? forward(withKey(request, user.key)) : reply;
    },
    found: undefined,
  },
  {
    fault: 'a preflight that does not allow Idempotency-Key',
    only: ['service'],
    meddle: () => async (request, forward) => {
      const reply = await forward(request);
      const headers = { ...reply.headers, 'access-control-allow-headers': 'authorization, content-type' };
      return request.method === 'OPTIONS' ? { ...reply, headers } : reply;
    },
    found:
      /^tells browsers that ask beforehand.*: expected POST with the headers Authorization and Idempotency-Key to be allowed,/,
  },
  {
    fault: 'a 405 without Allow',
    only: ['webhook.delete'],
    meddle: () => withoutHeader('webhook.delete', 'allow'),
    found: /^says with every 405 what is allowed: expected the header Allow with POST and without PUT, came nothing,/,
  },
  {
    fault: 'a document of something else',
    only: ['game.list'],
    meddle: () => async (request, forward) =>
      request.path === '/openapi.json'
        ? changed(await forward(request), ({ components: { schemas } }) => {
            schemas.GameSummary.properties.likeCount.type = 'string';
          })
        : forward(request),
    found:
      /^is published as the contract says: 200 \/result\/data\/json\/items\/\*\/likeCount: expected no type "string"/,
  },
  {
    fault: 'an event that does not come',
    only: ['event.list'],
    meddle: () => outputs('event.list', (page, { recordId }) => recordId && (page['items'] = [])),
    found:
      /^tells of a record that was published, changed and deleted: \/result\/data\/json\/items: expected the events game/,
  },
  {
    fault: 'a stream that does not say that it ends',
    only: ['event.tail'],
    meddle: () =>
      replies('event.tail', (reply) => ({ ...reply, body: reply.body.replace('event: return', 'event: x') })),
    found: /^streams for 1 s, and ends: expected a message `connected` at first, `return` at last, came \[/,
  },
  {
    fault: 'paths in capitals',
    only: ['game.getTypeStats'],
    meddle: () => (request, forward) =>
      forward({ ...request, path: request.path.replace('GETTYPESTATS', 'getTypeStats') }),
    found:
      /^is not found at .*\.GETTYPESTATS: expected status 404 "PROCEDURE_NOT_FOUND", came status 200 with a result$/,
  },
  {
    fault: 'JSON that is cut short, and taken for nothing',
    only: ['game.getTypeStats'],
    meddle: () => (request, forward) =>
      forward(
        calls('game.getTypeStats', request) && request.body === '{"json":' ? { ...request, body: '{}' } : request,
      ),
    found: /^refuses JSON that is cut short: expected status 400 "MALFORMED_JSON", came status 200 with a result$/,
  },
  {
    fault: 'a page beyond the last that may be asked for',
    only: ['game.list'],
    meddle: () =>
      inputs('game.list', (input) => (input['page'] === MAX_PAGE_DEPTH + 1 ? { ...input, page: 1 } : input)),
    found: /^refuses page 10001 of 1 record each: expected status 404 "PAGE_TOO_DEEP", came status 200 with a result$/,
  },
  {
    fault: 'null that changes nothing',
    only: ['image.update'],
    meddle: () =>
      inputs('image.update', (input) => {
        const { description, ...others } = input;
        return description === null ? others : input;
      }),
    found: /^clears what is null: \/result\/data\/json\/description: expected null, came "/,
  },
  {
    fault: 'an update that clears too much',
    only: ['game.update'],
    meddle: () =>
      inputs('game.update', (input) => {
        const { extraInfo } = input;
        const isOfOne = Object.keys(Object(extraInfo)).join() === 'originalName';
        return isOfOne ? { ...input, extraInfo: { ...(extraInfo as object), fileSize: null } } : input;
      }),
    found: /^changes a nested member alone: \/result\/data\/json\/extraInfo\/fileSize: expected ".*", came null$/,
  },
  {
    fault: 'a deletion that leaves a record readable',
    only: ['game.delete'],
    meddle: readableAfterwards,
    found: /^is not found afterwards: expected status 404 "GAME_NOT_FOUND", came status 200 with a result$/,
  },
  {
    fault: 'a search that minds capitals',
    only: ['user.search'],
    meddle: () =>
      outputs('user.search', (page, { query }) => {
        if (/^[A-Z ]+$/.test(query)) Object.assign(page, { items: [], hasMore: false });
      }),
    found: /^finds authors by their nicknames, also in capitals: .*: expected \{"id":".*, came nothing$/,
  },
  {
    fault: 'too few related games',
    only: ['game.getRelated'],
    meddle: () => outputs('game.getRelated', ({ items }, { limit }) => limit === 3 && items.pop()),
    found: /^names 3 others, each once, or all there are: \/result\/data\/json\/items: expected 3 games, came 2$/,
  },
  {
    fault: 'a secret that stays when it is replaced',
    only: ['webhook.rotateSecret'],
    meddle: oldSecret,
    found: /^answers another secret: expected another secret, came the old one$/,
  },
  {
    fault: 'a caller that is known without a key',
    only: ['game.list'],
    meddle: (user) => (request, forward) =>
      forward(
        calls('game.list', request) && request.headers.authorization === undefined
          ? withKey(request, user.key)
          : request,
      ),
    found: /^knows nobody without a key: \/result\/data\/json\/items\/0\/viewer: expected null, came \{/,
  },
  {
    fault: 'HEAD that fails',
    only: ['service', 'game.list'],
    meddle: () => async (request, forward) =>
      request.method === 'HEAD' ? { status: 500, headers: {}, body: '' } : forward(request),
    found: undefined,
  },
];

let full: TestUser;

describe('of the planted faults, verify', () => {
  beforeAll(async () => {
    full = await app.aUser();
    const author = await app.aUser({ nickname: 'Author one' });
    for (const [index, title] of ['one', 'two', 'three', 'four'].entries()) {
      await app.aGame({ title, gameType: ['RPG', 'ADV'][index % 2]!, tagNames: ['a', 'b'] }, author);
      await app.anImagePost({ title, tagNames: ['a', 'b'] }, author);
    }
  });
  afterAll(async () => {
    await meddler.stop();
    await app.stop();
  });

  test.each(planted.map((one) => [one.found ? 'finds' : 'misses', one.fault, one] as const))(
    '%s %s',
    async (_, __, { only, meddle, found, told = 1, scopes, strict = false }) => {
      const user = await app.aUser(scopes ? { scopes } : {});
      meddler.meddle(meddle(user));
      const { results } = await runVerify({ baseUrl: meddler.url, key: user.key, only, strict });
      const findings = results.flatMap(({ name, findings: all }) =>
        all.map((finding) => `${name}: ${differenceOf(finding)}`),
      );
      expect(findings).toEqual(found ? expect.arrayContaining([expect.stringMatching(found)]) : []);
      // Each fault takes three lines: what differs, the checks that show it, and how to see it again.
      const lines = failureLines(results, user.key);
      expect(lines.filter((line) => line.startsWith('FAILED '))).toHaveLength(found ? told : 0);
      expect(lines.filter((line) => /^ {2}(?:.* \| )?curl -sS /.test(line))).toHaveLength(found ? told : 0);
    },
  );
});
