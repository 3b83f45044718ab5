/**
 * @engines none
 * @tier fast
 */
import { afterEach, expect, test } from '@jest/globals';
import type { EventType } from '../../../contract/index.ts';
import { closeContext, type Context, openContext, startBackgroundWork } from '../../../src/app/context.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import { createLog } from '../../../src/app/log.ts';
import { currentDate } from '../../../src/base/runtime.ts';
import { readConfig } from '../../../src/config/config.ts';
import type { DatabaseObserver } from '../../../src/base/observer.ts';
import { insertRows } from '../../../src/db/sql/write-rows.ts';
import { newId, NIL_ID } from '../../../src/db/values.ts';
import { updateWebhook } from '../../../src/event/webhook/webhooks.ts';
import { readFeed } from '../../../src/event/outbox/feed.ts';
import { type WebhookRow, webhooksIn } from '../../../src/event/webhook/entity.ts';
import type { Message } from '../../../src/event/webhook/sender/send.ts';
import { NEVER } from '../../../src/event/webhook/sender/store.ts';
import { createUser } from '../../../src/user/service.ts';
import { WEBHOOK_KEY, webhookSecrets } from '../../harness/app/webhook-key.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

// The statements of an instance, and what its webhooks get, by a clock of the test.

const SECOND_MS = 1000;

let world: VirtualWorld;
let context: Context;
let statements: string[] = [];
let sent: Message[] = [];

const database: DatabaseObserver = {
  pool: () => ({
    waited: () => undefined,
    statement: (sql) => {
      statements.push(sql);
      return { sent: () => undefined, end: () => undefined };
    },
  }),
  failed: () => undefined,
  retried: () => undefined,
  coalesced: () => () => undefined,
};

/** Starts an instance with active webhooks. `wanted` gives the number of webhooks for each type of event. */
const start = async (wanted: Partial<Record<EventType, number>>): Promise<void> => {
  world = new VirtualWorld();
  const config = readConfig({ DATABASE_URL: 'sqlite::memory:', WEBHOOK_SECRET_KEY: WEBHOOK_KEY });
  const log = createLog('silent', { write: () => undefined });
  context = await openContext(config, log, currentDate, { database } as never, {
    deliver: (message) => {
      sent.push(message);
      const { data } = JSON.parse(message.body) as { data: object };
      return Promise.resolve({ status: 200, text: '', body: JSON.stringify(data), retryAfter: undefined });
    },
  });
  await context.db.migrate();
  const now = currentDate();
  const userId = await createUser(context.db, 'owner', now);
  await context.lifecycle.relay.moveNow();
  const rows = Object.entries(wanted).flatMap(([type, count]) =>
    Array.from({ length: count }, (_, n) => {
      const id = newId(now);
      const url = `https://hooks.example.com/${type}/${n}`;
      const secret = webhookSecrets.encrypt('whsec_AAAA', id);
      const events = { types: [type], recordId: null };
      const lease = { nextAt: NEVER, leaseUntil: now, holder: NIL_ID, generation: 0 };
      return {
        id,
        userId,
        url,
        secret,
        ...events,
        ...lease,
        state: 'active',
        attempts: 0,
        createdAt: now,
        updatedAt: now,
      };
    }),
  );
  const { lastPosition: position, lastId: positionId } = await readFeed(context.db);
  await context.db.transaction((tx) =>
    insertRows(
      tx,
      'Webhook',
      rows.map((row) => ({ ...row, position, positionId })),
    ),
  );
  await startBackgroundWork(context);
  await world.pass(10 * SECOND_MS);
  [statements, sent] = [[], []];
};

const end = async (): Promise<void> => {
  await world.settled(closeContext(context));
  world.end();
};
afterEach(end);

test('an idle instance runs few statements', async () => {
  await start({ 'user.created': 20 });
  await world.pass(60 * SECOND_MS);
  expect(sent).toEqual([]);
  expect(statements.length).toBeLessThanOrEqual(300);
});

test('an event costs the webhooks that want it, whatever others there are', async () => {
  const costs: number[] = [];
  for (const others of [0, 1980]) {
    await start({ 'user.created': 20, 'image.deleted': others });
    await world.settled(createUser(context.db, 'somebody', currentDate()));
    await world.pass(500);
    expect(sent).toHaveLength(20);
    await world.pass(9 * SECOND_MS);
    expect(sent).toHaveLength(20);
    costs.push(statements.length);
    const { lastPosition: position } = await readFeed(context.db);
    expect(await webhooksIn(context.db).countBy({ position })).toBe(20 + others);
    if (others === 0) await end();
  }
  const [few, many] = costs as [number, number];
  expect(many).toBeLessThanOrEqual(1.2 * few);
});

test('positions of the others move once a second, while there are events all the time', async () => {
  await start({ 'user.created': 1, 'image.deleted': 100 });
  for (let n = 0; n < 50; n += 1) {
    await world.settled(createUser(context.db, `somebody ${n}`, currentDate()));
    await world.pass(100);
  }
  const moves = statements.filter((sql) => sql.startsWith('UPDATE webhooks AS w SET position'));
  expect(moves.length).toBeGreaterThan(1);
  expect(moves.length).toBeLessThanOrEqual(7);
  await world.pass(5 * SECOND_MS);
  expect(sent).toHaveLength(50);
});

test('a webhook that is changed, paused or resumed while its position moves gets all that it wants from then on', async () => {
  await start({ 'image.deleted': 2 });
  const [first, second] = (await webhooksIn(context.db).find({ order: { id: 'ASC' } })) as [WebhookRow, WebhookRow];
  const policy = { allowed: [], ports: [443], allowsHttp: false };
  const change = (id: string, changes: Omit<Parameters<typeof updateWebhook>[1], 'id'>) =>
    world.settled(
      context.db.transaction((tx) =>
        updateWebhook(tx, { id, ...changes }, { policy, secrets: webhookSecrets }, systemActor()),
      ),
    );
  const names: string[] = [];
  const tell = async (name: string): Promise<void> => {
    names.push(await world.settled(createUser(context.db, name, currentDate())));
  };
  await tell('before');
  await world.pass(5 * SECOND_MS);
  await change(first.id, { types: ['user.created'] });
  await tell('wanted by the first');
  await change(second.id, { state: 'paused' });
  await change(second.id, { types: null });
  await tell('wanted by both, one of which is paused');
  await world.pass(5 * SECOND_MS);
  await change(second.id, { state: 'active' });
  await world.pass(10 * SECOND_MS);
  const told = (url: string): unknown[] =>
    sent
      .filter((one) => one.url === url && !one.body.includes('webhook.challenge'))
      .map(({ body }) => (JSON.parse(body) as { data: { record: { id: string } } }).data.record.id);
  expect(told(first.url)).toEqual(names.slice(1));
  expect(told(second.url).slice(-1)).toEqual(names.slice(2));
});
