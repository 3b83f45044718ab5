/**
 * @engines sqlite server
 * @tier long
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { suspendUser, unsuspendUser } from '../../../src/admin/moderation/users.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import type { Transaction } from '../../../src/db/connection.ts';
import { newId, storedIdToBytes, timeToDb } from '../../../src/db/values.ts';
import { readFeed } from '../../../src/event/outbox/feed.ts';
import { listDeliveries, testWebhook } from '../../../src/event/webhook/deliveries.ts';
import { sweepChallenges } from '../../../src/event/webhook/sender/challenges.ts';
import type { Answer, send } from '../../../src/event/webhook/sender/send.ts';
import { WebhookSender } from '../../../src/event/webhook/sender/sender.ts';
import { readNewEvents } from '../../../src/event/webhook/sender/new-events.ts';
import { dueWebhooks } from '../../../src/event/webhook/sender/due.ts';
import { pullEvents, takeLease } from '../../../src/event/webhook/sender/store.ts';
import {
  createWebhook,
  deleteWebhook,
  insertWebhook,
  listWebhooks,
  updateWebhook,
} from '../../../src/event/webhook/webhooks.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { webhookSecrets } from '../../harness/app/webhook-key.ts';
import { until } from '../../harness/until.ts';

// Who is served when, by a clock and endpoints of the tests.

interface Sent {
  url: string;
  body: { type: string; data: { challenge?: string } };
  answer: (answer: Partial<Answer>) => void;
}

let app: TestApp;
let user: TestUser;
let time = Date.now();
const sent: Sent[] = [];
/** Answers a message at once; undefined leaves it without an answer. */
let endpoint: (one: Sent) => Partial<Answer> | undefined;
const senders: WebhookSender[] = [];
const by = systemActor();
const policy = { allowed: [], ports: [443], allowsHttp: false };
const HOST = 'https://hooks.example.com';

const agreement = ({ body: { data } }: Sent): Partial<Answer> => ({
  status: 200,
  body: JSON.stringify({ challenge: data.challenge }),
});
const takesAll = (one: Sent): Partial<Answer> => agreement(one);
const isChallenge = ({ body }: Sent): boolean => body.type === 'webhook.challenge';
const of = (path: string): Sent[] => sent.filter(({ url }) => url === `${HOST}${path}`);

const deliver: typeof send = ({ url, body }) =>
  new Promise((resolve) => {
    const answer = (given: Partial<Answer>): void =>
      resolve({ status: undefined, text: '', body: '', retryAfter: undefined, ...given });
    const one: Sent = { url, body: JSON.parse(body) as Sent['body'], answer };
    sent.push(one);
    const given = endpoint(one);
    if (given) answer(given);
  });

const start = (hold?: { isOn: () => Promise<boolean> }): void => {
  const { db, log, protection } = app.context;
  const sender = new WebhookSender(db, {
    log,
    pause: protection.maintenance,
    hold,
    now: () => new Date(time),
    policy,
    secrets: webhookSecrets,
    deliver,
  });
  senders.push(sender);
  sender.start();
};
const act = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => app.context.db.transaction(work);
const now = (): typeof by => ({ ...by, now: new Date(time) });
const create = async (path: string, userId = user.id): Promise<string> =>
  (await act((tx) => createWebhook(tx, { userId, url: `${HOST}${path}` }, { policy, secrets: webhookSecrets }, now())))
    .id;
const move = (id: string, path: string): Promise<unknown> =>
  act((tx) => updateWebhook(tx, { id, url: `${HOST}${path}` }, { policy, secrets: webhookSecrets }, now()));
const stateOf = async (id: string) => (await listWebhooks(app.context.db)).find((one) => one.id === id)!;
const untilState = (id: string, state: string): Promise<void> => until(async () => (await stateOf(id)).state === state);

/** Inserts webhooks that get events, each with a test to send: more than an owner may have. */
const insertActive = (paths: readonly string[], userId: string): Promise<string[]> =>
  act(async (tx) => {
    const { lastPosition: position, lastId: positionId } = await readFeed(tx);
    const ids: string[] = [];
    for (const path of paths) {
      const id = newId(new Date(time));
      ids.push(id);
      const url = `${HOST}${path}`;
      const more = { secret: 'whsec_AAAA', types: null, recordId: null, position, positionId, now: new Date(time) };
      await insertWebhook(tx, { id, userId, url, ...more });
      await tx.execute("UPDATE webhooks SET state = 'active' WHERE id = ?", [storedIdToBytes(id)]);
      await testWebhook(tx, id, now());
    }
    return ids;
  });

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  time = Date.now();
  endpoint = takesAll;
  user = await app.aUser();
  await app.context.lifecycle.relay.moveNow();
});
afterEach(async () => {
  endpoint = () => ({ status: 500 });
  for (const sender of senders) void sender.close();
  for (const one of sent.splice(0)) one.answer({ status: 500 });
  for (const sender of senders.splice(0)) await sender.close();
  for (const table of ['webhook_deliveries', 'webhooks', 'webhook_challenges']) {
    await act((tx) => tx.execute(`DELETE FROM ${table}`));
  }
});
afterAll(() => app.stop());

test('nothing is sent while webhooks are held', async () => {
  let isHeld = true;
  let asked = 0;
  start({
    isOn: async () => {
      asked += 1;
      return isHeld;
    },
  });
  const id = await create('/held');
  const before = asked;
  await until(() => asked > before + 1);
  expect(sent).toEqual([]);
  isHeld = false;
  await untilState(id, 'active');
});

test('changes and deletions by authors are sent with their author', async () => {
  const [game, post] = [await app.aGame({}, user), await app.anImagePost({}, user)];
  await app.context.lifecycle.relay.moveNow();
  start();
  await untilState(await create('/authors'), 'active');
  for (const [id, input] of [
    ['game.update', { id: game.id, title: 'another' }],
    ['game.delete', { id: game.id }],
    ['image.delete', { id: post.id }],
  ] as const) {
    await app.call(id, input, user.key);
    await app.context.lifecycle.relay.moveNow();
  }
  await until(() => of('/authors').length === 4);
  // Messages are sent at once.
  const messages = of('/authors').filter((one) => !isChallenge(one));
  expect(messages.map(({ body }) => body).toSorted((a, b) => (a.type < b.type ? -1 : 1))).toMatchObject([
    { type: 'game.deleted', data: { record: { id: game.id }, actorId: user.id } },
    { type: 'game.updated', data: { record: { id: game.id }, actorId: user.id } },
    { type: 'image.deleted', data: { record: { id: post.id }, actorId: user.id } },
  ]);
});

describe('an answer counts for the address that it was asked of:', () => {
  test('that of another one to the challenge is none', async () => {
    endpoint = () => undefined;
    start();
    const id = await create('/a');
    await until(() => of('/a').length === 1);
    await move(id, '/b');
    // It does not wait for the end of what hangs.
    await until(() => of('/b').length === 1);
    of('/a')[0]!.answer(agreement(of('/a')[0]!));
    const other = await insertActive(['/other'], user.id);
    endpoint = takesAll;
    await until(
      async () => (await listDeliveries(app.context.db, other[0]!, { limit: 1 })).items[0]?.state !== 'waiting',
    );
    expect(await stateOf(id)).toMatchObject({ state: 'pending', reason: null });
    of('/b')[0]!.answer(agreement(of('/b')[0]!));
    await untilState(id, 'active');
  });

  test.each([
    ['410', { status: 410 }],
    ['a failure', { status: 503, retryAfter: 3600 }],
    ['a success', { status: 204 }],
  ])('%s of the one before changes nothing, and the new one gets all that waited', async (_, late) => {
    start();
    const id = await create('/a');
    await untilState(id, 'active');
    endpoint = () => undefined;
    await act((tx) => testWebhook(tx, id, now()));
    await until(() => of('/a').length === 2);
    await move(id, '/b');
    await until(() => of('/b').length === 1);
    of('/a')[1]!.answer(late);
    endpoint = takesAll;
    of('/b')[0]!.answer(agreement(of('/b')[0]!));
    await until(() => of('/b').length === 2);
    expect(of('/b')[1]!.body.type).toBe('webhook.test');
    await until(async () => (await listDeliveries(app.context.db, id, { limit: 1 })).items[0]?.state === 'delivered');
    const { items } = await listDeliveries(app.context.db, id, { limit: 1 });
    expect(items[0]).toMatchObject({ attempts: 1, status: 200 });
    expect(await stateOf(id)).toMatchObject({ state: 'active', failingSince: null });
  });
});

describe('a process that ends without a word', () => {
  test('loses its webhooks with its lease, and what it had taken is sent without any further event', async () => {
    const { db } = app.context;
    const [id] = (await insertActive(['/hook'], user.id)) as [string];
    for (let n = 0; n < 20; n += 1) await app.aGame({}, user);
    await app.context.lifecycle.relay.moveNow();
    const feed = await readFeed(db);
    const due = dueWebhooks(new Date(time), await readNewEvents(db, feed, feed.lastPosition), []);
    const lease = { holder: newId(new Date()), until: new Date(time + 30_000) };
    const held = await takeLease(db.background, id, lease, due, new Date(time));
    await pullEvents(db.background, held!, lease.until, new Date(time));
    start();
    const other = await create('/other');
    await untilState(other, 'active');
    expect(of('/hook')).toEqual([]);
    time += 30_000;
    await until(() => of('/hook').length === 21);
  });
});

describe('a user who is suspended while messages wait', () => {
  test('gets no further one: what was under way ends, and the others wait until that is lifted', async () => {
    const { db } = app.context;
    const [id] = (await insertActive(['/hook'], user.id)) as [string];
    const games = Array.from({ length: 60 }, (_, n) => ({ title: `game ${n}` }));
    await app.call('game.batchCreate', { games }, user.key);
    await app.context.lifecycle.relay.moveNow();
    endpoint = () => undefined;
    start();
    // As many as may be without an answer: no further one begins before one of them has it.
    await until(() => of('/hook').length === 20);
    await suspendUser(db, user.id, by, { hide: false });
    endpoint = takesAll;
    for (const one of of('/hook')) one.answer({ status: 204 });
    const isHeld = async (): Promise<boolean> => {
      const rows = await db.read('SELECT id FROM webhooks WHERE lease_until > ?', [timeToDb(new Date(time))]);
      return rows.length > 0;
    };
    await until(async () => !(await isHeld()));
    // A turn whose look preceded the suspension may have begun ten.
    expect(of('/hook').length).toBeLessThanOrEqual(30);
    const begun = of('/hook').length;
    const delivered = async (): Promise<number> =>
      (await listDeliveries(db, id, { limit: 100, state: 'delivered' })).items.length;
    expect(await delivered()).toBe(begun);
    // Another user's webhook is served meanwhile, and this one is not.
    await insertActive(['/other'], (await app.aUser()).id);
    await until(() => of('/other').length >= 1);
    expect(of('/hook')).toHaveLength(begun);
    await unsuspendUser(db, user.id, by);
    await until(async () => (await delivered()) >= 61);
  });
});

describe('places are shared', () => {
  /** Endpoints below `/hang` never answer. */
  const hangs = ({ url }: Sent): boolean => url.startsWith(`${HOST}/hang`);
  const hanging = (): number => sent.filter(hangs).length;
  beforeEach(() => {
    endpoint = (one) => (hangs(one) ? undefined : takesAll(one));
  });
  const paths = (owner: number, hooks: number): string[] =>
    Array.from({ length: hooks }, (_, hook) => `/hang/${owner}/${hook}`);

  test('by owners: one whose many webhooks hang has eight while others wait, and delays nobody', async () => {
    const other = await app.aUser();
    await insertActive(paths(0, 300), user.id);
    await insertActive(['/sound'], other.id);
    start();
    await until(() => of('/sound').length === 1);
    expect(hanging()).toBeLessThanOrEqual(8);
    // Alone, it has more, but never all of them.
    await until(() => hanging() > 8);
    await insertActive(['/sound/later'], other.id);
    await until(() => of('/sound/later').length === 1);
    expect(hanging()).toBeLessThan(64);
  });

  test('by owners: many of them whose webhooks hang leave places for another one', async () => {
    // More than there are places.
    for (let owner = 0; owner < 32; owner += 1) await insertActive(paths(owner, 9), (await app.aUser()).id);
    start();
    await until(() => hanging() >= 150);
    await insertActive(['/sound'], user.id);
    await until(() => of('/sound').length === 1);
    expect(hanging()).toBeLessThan(256);
  });
});

describe('challenges without an answer', () => {
  const challenges = (): number => sent.filter(isChallenge).length;
  const silent = (): Partial<Answer> => ({ text: 'It did not answer within 10 seconds.' });
  const reasonOf = async (id: string): Promise<string> => (await stateOf(id)).reason ?? '';
  const REFUSED =
    /^Too many challenges of its owner, or to its host, were not answered: the next one follows at \S+Z\.$/;
  const FAILED = /^It did not answer the challenge\./;
  const untilReason = (id: string, reason: RegExp): Promise<void> => until(async () => reason.test(await reasonOf(id)));

  test('have a budget of an owner and of a host, on all instances together', async () => {
    endpoint = silent;
    for (let n = 0; n < 2; n += 1) start();
    const id = await create('/silent/0');
    for (let n = 1; n <= 5; n += 1) {
      await untilReason(id, FAILED);
      expect(challenges()).toBe(n);
      await move(id, `/silent/${n}`);
    }
    // By then the last one cannot be answered any more.
    time += 16_000;
    await untilReason(id, REFUSED);
    // Another owner has the budget of this host left, which is none.
    const other = await create('/silent/other', (await app.aUser()).id);
    await untilReason(other, REFUSED);
    await act((tx) => deleteWebhook(tx, other, by));
    // And this owner has none left for another host.
    await act((tx) =>
      updateWebhook(tx, { id, url: 'https://elsewhere.example.com/' }, { policy, secrets: webhookSecrets }, now()),
    );
    await untilReason(id, REFUSED);
    expect(challenges()).toBe(5);
    // There is one more after a minute, then after two, then after four.
    for (const [minutes, reason, total] of [
      [1, FAILED, 6],
      [1, REFUSED, 6],
      [1, FAILED, 7],
      [3, REFUSED, 7],
      [1, FAILED, 8],
    ] as const) {
      time += minutes * 60_000;
      await untilReason(id, reason);
      expect(challenges()).toBe(total);
      // Another address, since this one has pauses of its own after a failure.
      if (reason === FAILED) await move(id, `/silent/${total}`);
    }
  });

  test('are none where they are answered: all webhooks that an owner may have are active at once', async () => {
    start();
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await create(`/mine/${n}`));
    await until(async () => {
      time += 200;
      return (await listWebhooks(app.context.db)).every(({ state }) => state === 'active');
    });
    expect(challenges()).toBe(20);
  });

  test('are none where nothing was sent: names that lead nowhere do not hold up a sound one', async () => {
    const unsent: Partial<Answer> = { text: 'It may not be called: its name has no public address.', isNotSent: true };
    endpoint = (one) => (one.url.endsWith('/nowhere') ? unsent : agreement(one));
    start();
    for (let n = 0; n < 8; n += 1) await untilReason(await create('/nowhere'), FAILED);
    await untilState(await create('/sound'), 'active');
  });

  test('are forgotten, and leave nothing behind', async () => {
    const { db } = app.context;
    endpoint = silent;
    start();
    const id = await create('/silent');
    await until(async () => (await stateOf(id)).reason !== null);
    const budgets = () => db.read('SELECT id FROM webhook_challenges');
    expect(await sweepChallenges(db, new Date(time))).toBe(false);
    expect(await budgets()).toHaveLength(2);
    expect(await sweepChallenges(db, new Date(time + 3 * 3_600_000))).toBe(false);
    expect(await budgets()).toEqual([]);
  });
});
