/**
 * @engines none
 * @tier fast
 */
import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { createLog } from '../../../src/app/log.ts';
import { schema } from '../../../src/app/schema.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import { currentDate } from '../../../src/base/runtime.ts';
import { Database } from '../../../src/db/database.ts';
import { NIL_ID } from '../../../src/db/values.ts';
import { testWebhook } from '../../../src/event/webhook/deliveries.ts';
import { webhooksIn } from '../../../src/event/webhook/entity.ts';
import { WebhookSecrets } from '../../../src/event/webhook/secrets.ts';
import type { Message } from '../../../src/event/webhook/sender/send.ts';
import { WebhookSender } from '../../../src/event/webhook/sender/sender.ts';
import { createWebhook, listWebhooks } from '../../../src/event/webhook/webhooks.ts';
import { createUser } from '../../../src/user/service.ts';
import { webhookSecrets } from '../../harness/app/webhook-key.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

const MINUTE_MS = 60_000;
const policy = { allowed: [], ports: [443], allowsHttp: false };
const otherSecrets = new WebhookSecrets({ webhookKeys: [randomBytes(32)], databaseUrl: 'sqlite::memory:' });

let world: VirtualWorld;
afterEach(() => world.end());

test.each(['active', 'pending'] as const)(
  'secrets sign nothing without their key, and the owner of a webhook that is %s is told',
  async (state) => {
    world = new VirtualWorld();
    const db = await Database.open('sqlite::memory:', schema, { recordsEvents: true });
    await db.migrate();
    const sent: Message[] = [];
    const startBy = (secrets: WebhookSecrets): WebhookSender => {
      const sender = new WebhookSender(db, {
        log: createLog('silent', { write: () => undefined }),
        now: currentDate,
        pause: { isPermanent: false, isOn: () => Promise.resolve(false) },
        policy,
        secrets,
        deliver: (message) => {
          sent.push(message);
          const { data } = JSON.parse(message.body) as { data: object };
          return Promise.resolve({ status: 200, text: '', body: JSON.stringify(data), retryAfter: undefined });
        },
      });
      sender.start();
      return sender;
    };
    const by = systemActor();
    const userId = await createUser(db, 'owner', currentDate());
    const { id, secret } = await db.transaction((tx) =>
      createWebhook(tx, { userId, url: 'https://hooks.example.com/' }, { policy, secrets: webhookSecrets }, by),
    );
    await db.transaction((tx) => webhooksIn(tx).update({ id }, { state }));
    if (state === 'active') await db.transaction((tx) => testWebhook(tx, id, by));
    const webhook = () => webhooksIn(db).findOneByOrFail({ id });

    const without = startBy(otherSecrets);
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

    const withKey = startBy(webhookSecrets);
    await world.pass(MINUTE_MS);
    expect(await webhook()).toMatchObject({ reason: null });
    await world.settled(Promise.all([withKey.close(), db.close()]));
    const [{ body, headers }] = sent as [Message];
    const [messageId, timestamp] = [headers['webhook-id']!, new Date(Number(headers['webhook-timestamp']) * 1000)];
    expect(headers['webhook-signature']).toBe(new Webhook(secret).sign(messageId, timestamp, body));
  },
);
