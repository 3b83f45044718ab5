/**
 * @engines none
 * @tier fast
 */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { createLog } from '../../../src/app/log.ts';
import { schema } from '../../../src/app/schema.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import { currentDate } from '../../../src/base/runtime.ts';
import { Database } from '../../../src/db/database.ts';
import { newId, NIL_ID, storedIdToBytes } from '../../../src/db/values.ts';
import { recordEvents } from '../../../src/event/outbox/record.ts';
import { EventRelay } from '../../../src/event/outbox/relay.ts';
import { testWebhook } from '../../../src/event/webhook/deliveries.ts';
import { deliveriesIn, webhooksIn } from '../../../src/event/webhook/entity.ts';
import { WebhookSecrets } from '../../../src/event/webhook/secrets.ts';
import type { Message } from '../../../src/event/webhook/sender/send.ts';
import { WebhookSender } from '../../../src/event/webhook/sender/sender.ts';
import { createWebhook, listWebhooks } from '../../../src/event/webhook/webhooks.ts';
import { createUser } from '../../../src/user/service.ts';
import { webhookSecrets } from '../../harness/app/webhook-key.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

// What a webhook gets over hours and days, by a clock of the test.

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const policy = { allowed: [], ports: [443], allowsHttp: false };
const log = createLog('silent', { write: () => undefined });
const options = { log, now: currentDate, pause: { isPermanent: false, isOn: () => Promise.resolve(false) } };
const otherSecrets = new WebhookSecrets({ webhookKeys: [randomBytes(32)], databaseUrl: 'sqlite::memory:' });

let world: VirtualWorld;
afterEach(() => world.end());

/** A webhook whose endpoint answers challenges with 200, and all else with `status`. */
const openWebhook = async (status: number) => {
  world = new VirtualWorld();
  const db = await Database.open('sqlite::memory:', schema, { recordsEvents: true });
  await db.migrate();
  const relay = new EventRelay(db, options);
  const userId = await createUser(db, 'owner', currentDate());
  // Else it would get that event as well.
  await relay.moveNow();
  const { id, secret } = await db.transaction((tx) =>
    createWebhook(
      tx,
      { userId, url: 'https://hooks.example.com/' },
      { policy, secrets: webhookSecrets },
      systemActor(),
    ),
  );
  const sent: (Message & { at: number })[] = [];
  const start = (secrets = webhookSecrets): WebhookSender => {
    const sender = new WebhookSender(db, {
      ...options,
      policy,
      secrets,
      deliver: (message) => {
        sent.push({ ...message, at: world.now });
        const { data } = JSON.parse(message.body) as { data: { challenge?: string } };
        const answer = { text: '', body: JSON.stringify(data), retryAfter: undefined };
        return Promise.resolve({ ...answer, status: data.challenge === undefined ? status : 200 });
      },
    });
    sender.start();
    return sender;
  };
  const tell = async (record: Uint8Array): Promise<void> => {
    await db.transaction((tx) => recordEvents(tx, [{ type: 'game.created', record }], currentDate()));
    await relay.moveNow();
    await world.pass(1000);
  };
  return { db, id, userId, secret, sent, start, tell, webhook: () => webhooksIn(db).findOneByOrFail({ id }) };
};

const aRecord = (): Uint8Array => storedIdToBytes(newId(currentDate()));

/** An active webhook whose endpoint answers 503. */
const openDeadEndpoint = async () => {
  const opened = await openWebhook(503);
  const sender = opened.start();
  await world.pass(1000);
  opened.sent.length = 0;
  return { ...opened, close: () => world.settled(Promise.all([sender.close(), opened.db.close()])) };
};

/** Delivers one event to an endpoint that is dead, until its webhook is paused. */
const deadEndpoint = async () => {
  const { db, sent, webhook, tell, close } = await openDeadEndpoint();
  await tell(aRecord());
  for (let pauses = 0; pauses < 20 && (await webhook()).state === 'active'; pauses += 1) {
    world.leap((await webhook()).nextAt.getTime() - world.now);
    await world.pass(1000);
  }
  const { state, reason } = await webhook();
  const [delivery] = await deliveriesIn(db).find();
  await close();
  const attempts = sent.map(({ at, headers }) => ({ at, id: headers['webhook-id'] }));
  return { attempts, state, reason, delivery };
};

describe('an endpoint that is dead for days', () => {
  test('gets ten attempts in about 75 hours; then its webhook is paused, and its owner sees why', async () => {
    const { attempts, state, reason, delivery } = await deadEndpoint();
    expect([state, reason]).toEqual(['paused', 'Nothing was delivered for three days. It answered 503.']);
    expect(delivery).toMatchObject({ state: 'failed', attempts: 10, status: 503 });
    expect(attempts).toHaveLength(10);
    const pauses = attempts.slice(1).map(({ at }, index) => (at - attempts[index]!.at) / HOUR_MS);
    for (const [index, hours] of [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24].entries()) {
      expect(pauses[index]).toBeGreaterThanOrEqual(0.9 * hours);
      // And the time until the sender looks for what is due.
      expect(pauses[index]).toBeLessThanOrEqual(1.1 * hours + 1 / 3600);
    }
    world.end();
    // With the same seed, all of it happens again, to the millisecond and under the same ids.
    expect(await deadEndpoint()).toMatchObject({ attempts, delivery });
  });

  test('rests with its later events of the same record until the first is due', async () => {
    const { db, webhook, tell, close } = await openDeadEndpoint();
    const record = aRecord();
    await tell(record);
    await tell(record);
    world.leap(60_000);
    await world.pass(2000);
    const [first, second] = await deliveriesIn(db).find({ order: { position: 'ASC' } });
    expect([first?.attempts, second?.attempts]).toEqual([2, 0]);
    expect((await webhook()).nextAt).toEqual(first?.nextAt);
    await close();
  });
});

test.each(['active', 'pending'] as const)(
  'secrets sign nothing without their key, and the owner of a webhook that is %s is told',
  async (state) => {
    const { db, id, userId, secret, sent, start, webhook } = await openWebhook(200);
    await db.transaction((tx) => webhooksIn(tx).update({ id }, { state }));
    if (state === 'active') await db.transaction((tx) => testWebhook(tx, id, systemActor()));

    const without = start(otherSecrets);
    // Longer than challenges may go without an answer.
    await world.pass(4 * MINUTE_MS);
    await world.settled(without.close());
    expect(sent).toEqual([]);
    expect(await webhook()).toMatchObject({ state, reason: expect.stringContaining('cannot be decrypted') });
    // It keeps nothing from an instance that has the key.
    expect(await webhook()).toMatchObject({ holder: NIL_ID });

    // An instance that has the key shows at once that it is back.
    const reasonBy = async (secrets: WebhookSecrets) => (await listWebhooks(db, userId, secrets))[0]?.reason;
    expect(await reasonBy(otherSecrets)).toContain('cannot be decrypted');
    expect(await reasonBy(webhookSecrets)).toBe(null);

    const withKey = start();
    await world.pass(MINUTE_MS);
    expect(await webhook()).toMatchObject({ reason: null });
    await world.settled(Promise.all([withKey.close(), db.close()]));
    const { body, headers } = sent[0]!;
    const [messageId, timestamp] = [headers['webhook-id']!, new Date(Number(headers['webhook-timestamp']) * 1000)];
    expect(headers['webhook-signature']).toBe(new Webhook(secret).sign(messageId, timestamp, body));
  },
);
