/**
 * @engines sqlite server
 * @tier long
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type DeliveryState, MAX_WEBHOOKS } from '../../../contract/index.ts';
import { deleteUser, suspendUser, unsuspendUser } from '../../../src/admin/moderation/users.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import type { Transaction } from '../../../src/db/connection.ts';
import { timeToDb } from '../../../src/db/values.ts';
import { send } from '../../../src/event/webhook/sender/send.ts';
import { nameLookUp } from '../../../src/event/webhook/sender/names.ts';
import { WebhookSender } from '../../../src/event/webhook/sender/sender.ts';
import {
  type Delivery,
  listDeliveries,
  redeliver,
  sweepDeliveries,
  testWebhook,
} from '../../../src/event/webhook/deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  type NewWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateSecret,
} from '../../../src/event/webhook/webhooks.ts';
import { type Output, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { webhookSecrets } from '../../harness/app/webhook-key.ts';
import { startNameServer } from '../../harness/servers/name-server.ts';
import { until } from '../../harness/until.ts';

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  message: { type: string; data: Output<'event.list'>['items'][number] & { challenge?: string } };
}

/** An endpoint, which answers the challenge, and all else as it is told. */
class Endpoint {
  readonly received: Received[] = [];
  /** The status for a message, by its path and how many came before. */
  answer: (received: Received, before: number) => number = () => 204;
  answersChallenges = true;
  /** Which messages get no answer. */
  hangs: (received: Received) => boolean = () => false;
  /** How many of these the sender gave up. */
  givenUp = 0;
  #server!: Server;

  async listen(): Promise<void> {
    this.#server = createServer((request, response) => {
      void this.#take(request, response);
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const message = JSON.parse(body) as Received['message'];
    const one: Received = { path: request.url ?? '', headers: request.headers, body, message };
    if (message.type === 'webhook.challenge') {
      const answer = JSON.stringify({ challenge: this.answersChallenges ? message.data.challenge : 'another' });
      // As proxies do.
      response.setHeader('Content-Encoding', 'gzip').end(gzipSync(`\uFEFF${answer}`));
      return;
    }
    const before = this.received.filter(({ headers }) => headers['webhook-id'] === request.headers['webhook-id']);
    this.received.push(one);
    if (this.hangs(one)) {
      response.once('close', () => (this.givenUp += 1));
      return;
    }
    response.writeHead(this.answer(one, before.length)).end('noted');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let app: TestApp;
let endpoint: Endpoint;
let user: TestUser;
/** How far the sender's clock is ahead, in milliseconds. */
let aheadMs = 0;
const by = systemActor();
const senders: WebhookSender[] = [];
const policy = () => ({ allowed: ['127.0.0.0/8'], ports: [endpoint.port], allowsHttp: true });

beforeAll(async () => {
  app = await startApp();
  app.context.lifecycle.relay.start();
});
beforeEach(async () => {
  aheadMs = 0;
  endpoint = new Endpoint();
  await endpoint.listen();
  user = await app.aUser();
  await app.context.lifecycle.relay.moveNow();
});
afterEach(async () => {
  // First of all: a message without an answer would be waited for.
  endpoint.close();
  for (const sender of senders.splice(0)) await sender.close();
  for (const { id } of await listWebhooks(app.context.db)) await act((tx) => deleteWebhook(tx, id, by));
});
afterAll(() => app.stop());

const start = (deliver?: typeof send): WebhookSender => {
  const { db, log, protection } = app.context;
  const sender = new WebhookSender(db, {
    log,
    pause: protection.maintenance,
    now: () => new Date(Date.now() + aheadMs),
    policy: policy(),
    secrets: webhookSecrets,
    deliver,
  });
  senders.push(sender);
  sender.start();
  return sender;
};

const create = (more: Partial<NewWebhook> & { path?: string } = {}) => {
  const { path = '/hook', ...wanted } = more;
  const url = `http://127.0.0.1:${endpoint.port}${path}`;
  return act((tx) =>
    createWebhook(tx, { userId: user.id, url, ...wanted }, { policy: policy(), secrets: webhookSecrets }, by),
  );
};

/** The latest deliveries of a webhook. */
const deliveriesOf = async (id: string, state?: DeliveryState): Promise<Delivery[]> =>
  (await listDeliveries(app.context.db, id, { state, limit: 100 })).items;

/** Does something to webhooks as the operator. */
const act = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => app.context.db.transaction(work);

const stateOf = async (id: string) => (await listWebhooks(app.context.db)).find((one) => one.id === id)!;
const untilActive = (id: string): Promise<void> => until(async () => (await stateOf(id)).state === 'active');

/** A webhook that gets events. */
const active = async (more: Parameters<typeof create>[0] = {}): Promise<{ id: string; secret: string }> => {
  if (senders.length === 0) start();
  const made = await create(more);
  await untilActive(made.id);
  return made;
};

describe('a webhook', () => {
  test('gets events once its endpoint has answered the challenge, signed and in order', async () => {
    const { id, secret } = await active({ types: ['image.created', 'image.updated'] });
    await app.aGame({}, user);
    const post = await app.anImagePost({}, user);
    for (const title of ['a', 'b', 'c']) await app.call('image.update', { id: post.id, title }, user.key);
    await until(() => endpoint.received.length === 4);
    const types = endpoint.received.map(({ message }) => message.type);
    expect(types).toEqual(['image.created', 'image.updated', 'image.updated', 'image.updated']);
    for (const { headers, body, message } of endpoint.received) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(message);
      expect(message.data.record.id).toBe(post.id);
      expect(headers['content-type']).toBe('application/json');
    }
    const positions = endpoint.received.map(({ message }) => message.data.position);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    await until(async () => (await deliveriesOf(id)).every(({ state }) => state === 'delivered'));
    const delivered = await deliveriesOf(id);
    expect(delivered).toHaveLength(4);
    expect(delivered[0]).toMatchObject({ type: 'image.updated', attempts: 1, status: 204, recordId: post.id });
  });

  test('gets nothing from an endpoint that does not answer the challenge', async () => {
    endpoint.answersChallenges = false;
    start();
    const { id } = await create();
    await until(async () => (await stateOf(id)).reason !== null);
    await app.aGame({}, user);
    expect(await stateOf(id)).toMatchObject({
      state: 'pending',
      reason: 'It did not answer the challenge. It answered 200 with another text in `challenge`.',
    });
    expect(endpoint.received).toEqual([]);
  });

  test('is tried again under the same id; of one record nothing overtakes, others go on', async () => {
    const { id } = await active();
    const [first, second] = [await app.anImagePost({}, user), await app.anImagePost({}, user)];
    await until(() => endpoint.received.length === 2);
    endpoint.answer = ({ message }, before) => (message.data.record.id === first.id && before < 2 ? 500 : 200);
    await app.call('image.update', { id: first.id, title: 'first' }, user.key);
    await app.call('image.update', { id: first.id, title: 'then' }, user.key);
    await app.call('image.update', { id: second.id, title: 'other' }, user.key);
    const of = (recordId: string): string[] =>
      endpoint.received
        .filter(({ message }) => message.type === 'image.updated' && message.data.record.id === recordId)
        .map(({ headers }) => String(headers['webhook-id']));
    await until(() => of(second.id).length === 1 && of(first.id).length === 1);
    const failed = async (times: number) =>
      (await deliveriesOf(id)).find(({ attempts, state }) => attempts === times && state === 'waiting');
    await until(async () => (await failed(1)) !== undefined);
    expect(await failed(1)).toMatchObject({ status: 500, answer: 'noted', recordId: first.id });
    expect((await stateOf(id)).failingSince).toBeNull();
    aheadMs += 10_000;
    await until(async () => (await failed(2)) !== undefined);
    aheadMs += 600_000;
    await until(() => of(first.id).length >= 4);
    const ids = of(first.id);
    expect([new Set(ids.slice(0, 3)).size, new Set(ids).size]).toEqual([1, 2]);
  });

  test('that hangs delays no other one', async () => {
    const [slow, quick] = [await active({ path: '/slow' }), await active({ path: '/quick' })];
    endpoint.hangs = ({ path }) => path === '/slow';
    for (let game = 0; game < 3; game += 1) await app.aGame({}, user);
    await until(() => endpoint.received.filter(({ path }) => path === '/quick').length === 3);
    expect(new Set((await deliveriesOf(slow.id)).map(({ attempts, state }) => `${attempts} ${state}`))).toEqual(
      new Set(['0 waiting']),
    );
    await until(async () => (await deliveriesOf(quick.id)).every(({ state }) => state === 'delivered'));
  });

  test('that hangs at some messages gets those of other records meanwhile', async () => {
    await active();
    const post = await app.anImagePost({}, user);
    await until(() => endpoint.received.length === 1);
    endpoint.hangs = ({ message }) => message.type === 'image.updated';
    await app.call('image.update', { id: post.id, title: 'without an answer' }, user.key);
    await app.call('image.update', { id: post.id, title: 'waits for it' }, user.key);
    await until(() => endpoint.received.length === 2);
    await Promise.all(Array.from({ length: 3 }, () => app.aGame({}, user)));
    await until(() => endpoint.received.length === 5);
    expect(endpoint.givenUp).toBe(0);
    expect(endpoint.received.filter(({ message }) => message.type === 'image.updated')).toHaveLength(1);
  });

  test('that says it is gone gets no more, until it is resumed', async () => {
    const { id } = await active();
    endpoint.answer = () => 410;
    await app.aGame({}, user);
    await until(async () => (await stateOf(id)).state === 'disabled');
    expect((await stateOf(id)).reason).toBe('It answered 410: it is gone.');
    await app.aGame({}, user);
    expect(endpoint.received).toHaveLength(1);
    endpoint.answer = () => 200;
    await act((tx) => resumeWebhook(tx, id, by));
    await until(() => endpoint.received.length === 2);
  });

  test('waits while it is paused or its user is suspended, and then gets all of it', async () => {
    const { db } = app.context;
    const { id } = await active();
    await act((tx) => pauseWebhook(tx, id, 'for a test', by));
    await app.aGame({}, user);
    const other = await app.aUser();
    await suspendUser(db, user.id, by, { hide: false });
    await act((tx) => resumeWebhook(tx, id, by));
    await app.aGame({}, other);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(endpoint.received).toEqual([]);
    await unsuspendUser(db, user.id, by);
    await until(() => endpoint.received.length === 3);
    expect(endpoint.received.map(({ message }) => message.type)).toEqual([
      'game.created',
      'user.created',
      'game.created',
    ]);
  });

  test('is tested, delivered to again, and signed by each replaced secret for a day', async () => {
    const { id, secret } = await active();
    const deliveryId = await act((tx) => testWebhook(tx, id, by));
    await until(() => endpoint.received.length === 1);
    expect(endpoint.received[0]?.message).toEqual({ type: 'webhook.test', timestamp: expect.any(String), data: {} });
    const rotate = (hours: number) =>
      act((tx) => rotateSecret(tx, id, webhookSecrets, { ...by, now: new Date(by.now.getTime() + hours * 3_600_000) }));
    const secrets = [secret];
    for (const hours of [0, 1, 2]) secrets.push((await rotate(hours)).secret);
    await until(async () => (await deliveriesOf(id))[0]?.state === 'delivered');
    await act((tx) => redeliver(tx, deliveryId, by));
    await until(() => endpoint.received.length === 2);
    const { headers, body } = endpoint.received[1]!;
    expect(headers['webhook-id']).toBe(deliveryId);
    for (const one of secrets) new Webhook(one).verify(body, headers as Record<string, string>);
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(4);
    aheadMs += 27 * 3_600_000;
    await until(async () => (await deliveriesOf(id))[0]?.state === 'delivered');
    await act((tx) => redeliver(tx, deliveryId, by));
    aheadMs += 1000;
    await until(() => endpoint.received.length === 3);
    expect(String(endpoint.received[2]?.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });

  test('gets each event from one of several processes', async () => {
    for (let n = 0; n < 4; n += 1) start();
    await active();
    const { items } = await app.call(
      'game.batchCreate',
      { games: Array.from({ length: 60 }, () => ({ title: 'a' })) },
      user.key,
    );
    await until(() => endpoint.received.length >= items.length);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const ids = endpoint.received.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([items.length, items.length]);
  });

  test('has a limit, a user and an address that may be called', async () => {
    const { db } = app.context;
    await expect(create({ userId: 'nobody' })).rejects.toMatchObject({ reason: 'USER_NOT_FOUND' });
    const url = 'http://169.254.169.254/latest';
    const forbidden = act((tx) =>
      createWebhook(tx, { userId: user.id, url }, { policy: policy(), secrets: webhookSecrets }, by),
    );
    await expect(forbidden).rejects.toMatchObject({ reason: 'WEBHOOK_URL_FORBIDDEN' });
    for (let n = 0; n < MAX_WEBHOOKS; n += 1) await create();
    await expect(create()).rejects.toMatchObject({ reason: 'WEBHOOK_LIMIT' });
    await deleteUser(db, user.id, by);
    expect(await listWebhooks(db)).toEqual([]);
  });

  test('of a name gets its events while those of others hang in a name server that is silent', async () => {
    const names = await startNameServer((name) => (name === 'sound.example' ? ['127.0.0.1'] : 'silence'));
    const lookUp = nameLookUp({ servers: [names.address] });
    let hanging = 0;
    const end = new AbortController();
    const ended = once(end.signal, 'abort');
    start(async (message, allowed) => {
      const isSound = new URL(message.url).hostname === 'sound.example';
      if (!isSound) hanging += 1;
      const answer = await send(message, allowed, lookUp);
      if (!isSound) await ended;
      return answer;
    });
    const stranger = await app.aUser();
    const urlOf = (name: string) => `http://${name}.example:${endpoint.port}/`;
    for (let n = 0; n < MAX_WEBHOOKS; n += 1) await create({ userId: stranger.id, url: urlOf(`silent-${n}`) });
    await until(() => hanging > 4 && new Set(names.asked).size === hanging);
    const { id } = await create({ url: urlOf('sound'), types: ['game.created'] });
    await untilActive(id);
    await app.aGame({}, user);
    await until(() => endpoint.received.length > 0);
    end.abort();
    names.close();
  });

  test('is waited for ten seconds, a name server that is silent as well', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const message = { url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}' };
    const named = { ...message, url: `http://hooks.example.com:${port}/` };
    const answers = await Promise.all([
      send(message, { ...policy(), ports: [port] }),
      send(named, { ...policy(), ports: [port] }, () => new Promise(() => undefined)),
    ]);
    silent.closeAllConnections();
    silent.close();
    const expected = { status: undefined, text: 'It did not answer within 10 seconds.' };
    expect(answers).toMatchObject([expected, expected]);
  });

  test('has its old deliveries removed', async () => {
    const { db } = app.context;
    const { id } = await active();
    await app.aGame({}, user);
    await until(async () => (await deliveriesOf(id))[0]?.state === 'delivered');
    expect(await sweepDeliveries(db, new Date(), 30)).toBe(false);
    expect(await deliveriesOf(id)).toHaveLength(1);
    const age = () => act((tx) => tx.execute('UPDATE webhook_deliveries SET happened_at = ?', [timeToDb(new Date(0))]));
    await age();
    expect(await sweepDeliveries(db, new Date(), 30)).toBe(false);
    expect(await deliveriesOf(id)).toEqual([]);
    // What waits is kept as long as it may be sent, and no longer than its event where it may not.
    endpoint.answer = () => 503;
    await app.aGame({}, user);
    await until(async () => (await deliveriesOf(id))[0]?.attempts === 1);
    await age();
    await sweepDeliveries(db, new Date(), 30);
    expect(await deliveriesOf(id, 'waiting')).toHaveLength(1);
    await act((tx) => pauseWebhook(tx, id, 'for a test', by));
    await sweepDeliveries(db, new Date(), 30);
    expect(await deliveriesOf(id)).toEqual([]);
  });
});
