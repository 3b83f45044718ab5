/**
 * @engines none
 * @tier fast
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { createLog } from '../../../src/app/log.ts';
import { schema } from '../../../src/app/schema.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import { currentDate } from '../../../src/base/runtime.ts';
import { Database } from '../../../src/db/database.ts';
import { newId, storedIdToBytes } from '../../../src/db/values.ts';
import { recordEvents } from '../../../src/event/outbox/record.ts';
import { EventRelay } from '../../../src/event/outbox/relay.ts';
import { deliveriesIn, webhooksIn } from '../../../src/event/webhook/entity.ts';
import type { send } from '../../../src/event/webhook/sender/send.ts';
import { WebhookSender } from '../../../src/event/webhook/sender/sender.ts';
import { createWebhook } from '../../../src/event/webhook/webhooks.ts';
import { createUser } from '../../../src/user/service.ts';
import { webhookSecrets } from '../../harness/app/webhook-key.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

const HOUR_MS = 3_600_000;
const policy = { allowed: [], ports: [443], allowsHttp: false };
const log = createLog('silent', { write: () => undefined });
const options = { log, now: currentDate, pause: { isPermanent: false, isOn: () => Promise.resolve(false) } };

let world: VirtualWorld;
afterEach(() => world.end());

/** A webhook whose endpoint answers 503 to all but the challenge. */
const openDeadEndpoint = async () => {
  world = new VirtualWorld();
  const db = await Database.open('sqlite::memory:', schema, { recordsEvents: true });
  await db.migrate();
  const attempts: { at: number; id: string }[] = [];
  const deliver: typeof send = async ({ headers, body }) => {
    const { challenge } = (JSON.parse(body) as { data: { challenge?: string } }).data;
    if (challenge === undefined) attempts.push({ at: world.now, id: headers['webhook-id']! });
    const answer = { text: '', retryAfter: undefined };
    return challenge === undefined
      ? { ...answer, status: 503, body: '' }
      : { ...answer, status: 200, body: JSON.stringify({ challenge }) };
  };
  const relay = new EventRelay(db, options);
  const userId = await createUser(db, 'owner', currentDate());
  // Else it would get that event as well.
  await relay.moveNow();
  const { id } = await db.transaction((tx) =>
    createWebhook(tx, { userId, url: 'https://dead.example.com/' }, { policy, secrets: webhookSecrets }, systemActor()),
  );
  const webhook = () => webhooksIn(db).findOneByOrFail({ id });
  const sender = new WebhookSender(db, { ...options, policy, secrets: webhookSecrets, deliver });
  sender.start();
  await world.pass(1000);
  const tell = async (record: Uint8Array): Promise<void> => {
    await db.transaction((tx) => recordEvents(tx, [{ type: 'game.created', record }], currentDate()));
    await relay.moveNow();
    await world.pass(1000);
  };
  const close = async (): Promise<void> => {
    const closing = Promise.all([sender.close(), db.close()]);
    await world.pass(0);
    await closing;
  };
  return { db, attempts, webhook, tell, close };
};

const aRecord = (): Uint8Array => storedIdToBytes(newId(currentDate()));

/** Delivers one event to an endpoint that is dead, until its webhook is paused. */
const deadEndpoint = async () => {
  const { db, attempts, webhook, tell, close } = await openDeadEndpoint();
  await tell(aRecord());
  for (let pauses = 0; pauses < 20 && (await webhook()).state === 'active'; pauses += 1) {
    world.leap((await webhook()).nextAt.getTime() - world.now);
    await world.pass(1000);
  }
  const { state, reason } = await webhook();
  const [delivery] = await deliveriesIn(db).find();
  await close();
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
