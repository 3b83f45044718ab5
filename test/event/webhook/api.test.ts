/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_WEBHOOKS } from '../../../contract/index.ts';
import { webhooksIn } from '../../../src/event/webhook/entity.ts';
import { sweepSecrets } from '../../../src/event/webhook/secrets.ts';
import { rotateSecret } from '../../../src/event/webhook/webhooks.ts';
import { type Output, type ProcedureId, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { webhookSecrets } from '../../harness/app/webhook-key.ts';

// What owners do with their webhooks. `deliveries.test.ts` tests how they are served.

const URL = 'https://hooks.example.com/content';

let app: TestApp;
let owner: TestUser;
let stranger: TestUser;
beforeAll(async () => {
  app = await startApp();
  owner = await app.aUser();
  stranger = await app.aUser();
});
afterAll(() => app.stop());

const create = (input: object = {}, key = owner.key): Promise<Output<'webhook.create'>> =>
  app.call('webhook.create', { url: URL, ...input }, key);
/** Why a call is refused, and the hint. */
const refusal = async (
  id: ProcedureId,
  input: object,
  key = owner.key,
  status = 404,
): Promise<{ reason: string; hint: string | undefined }> => {
  const { reason, hint } = (await app.fail(id, input, status, key)).data;
  return { reason, hint };
};
const activate = (): Promise<unknown> =>
  app.context.db.transaction((tx) => tx.execute("UPDATE webhooks SET state = 'active'"));
const listed = async (key = owner.key): Promise<Output<'webhook.list'>['items']> =>
  (await app.call('webhook.list', {}, key)).items;

describe('the owner of webhooks', () => {
  test('makes one, whose secret is shown once', async () => {
    const { secret, ...webhook } = await create({ types: ['game.created'], recordId: 'fantasy' });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook).toMatchObject({ url: URL, types: ['game.created'], recordId: 'fantasy', state: 'pending' });
    expect(await listed()).toEqual([webhook]);
    expect(JSON.stringify(await listed())).not.toContain(secret);
  });

  test('changes what is sent, and nothing else', async () => {
    const { secret: _secret, ...before } = await create({ types: ['tag.merged'] });
    const paused = await app.call('webhook.update', { id: before.id, state: 'paused' }, owner.key);
    expect(paused).toEqual({
      ...before,
      state: 'paused',
      reason: 'Its owner has paused it.',
      updatedAt: expect.any(String),
    });
    const changed = await app.call('webhook.update', { id: before.id, types: null, recordId: 'x' }, owner.key);
    expect(changed).toEqual({ ...paused, types: null, recordId: 'x', updatedAt: expect.any(String) });
    const { id, url } = before;
    const same = { id, url, types: null, recordId: 'x', state: 'paused' } as const;
    expect(await app.call('webhook.update', same, owner.key)).toEqual(changed);
  });

  test('has the challenge answered again before anything goes on, also to another URL', async () => {
    const { id } = await create();
    await app.call('webhook.update', { id, state: 'paused', url: `${URL}/other` }, owner.key);
    const resumed = await app.call('webhook.update', { id, state: 'active' }, owner.key);
    expect(resumed).toMatchObject({ url: `${URL}/other`, state: 'pending', reason: null });
    await activate();
    const moved = await app.call('webhook.update', { id, url: `${URL}/third` }, owner.key);
    expect(moved).toMatchObject({ url: `${URL}/third`, state: 'pending' });
  });

  test('tests only one that is active', async () => {
    const { id } = await create();
    const refused = await refusal('webhook.test', { id }, owner.key, 422);
    expect(refused).toEqual({ reason: 'WEBHOOK_NOT_ACTIVE', hint: 'It is pending.' });
    await activate();
    const { deliveryId } = await app.call('webhook.test', { id }, owner.key);
    const { items, hasMore } = await app.call('webhook.deliveries', { id }, owner.key);
    expect([items.length, hasMore]).toEqual([1, false]);
    expect(items[0]).toMatchObject({ id: deliveryId, type: 'webhook.test', state: 'waiting', attempts: 0 });
    expect(await app.call('webhook.redeliver', { deliveryId }, owner.key)).toMatchObject({ id: deliveryId });
  });

  test('reads deliveries page by page', async () => {
    const { id } = await create();
    await activate();
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) made.push((await app.call('webhook.test', { id }, owner.key)).deliveryId);
    const found: string[] = [];
    for (let before: string | undefined; ;) {
      const page = await app.call('webhook.deliveries', { id, before, limit: 2 }, owner.key);
      found.push(...page.items.map((one) => one.id));
      before = found.at(-1);
      if (!page.hasMore) break;
    }
    expect(found).toEqual(made.toReversed());
    expect((await app.call('webhook.deliveries', { id, state: 'failed' }, owner.key)).items).toEqual([]);
  });

  test('gets another secret, while the old one signs as well', async () => {
    const { id, secret } = await create();
    const before = Date.now();
    const { secret: next, previousUntil } = await app.call('webhook.rotateSecret', { id }, owner.key);
    const after = Date.now();
    expect(next).not.toBe(secret);
    const rotatedAt = Date.parse(previousUntil) - 24 * 3_600_000;
    expect([before <= rotatedAt, rotatedAt <= after]).toEqual([true, true]);
  });

  test('gets no fifth secret that would sign, until the first one signs no more', async () => {
    const { id } = await create();
    const rotate = () => app.call('webhook.rotateSecret', { id }, owner.key);
    const [{ previousUntil }] = [await rotate(), await rotate(), await rotate()];
    const refused = { reason: 'WEBHOOK_SECRET_LIMIT', hint: expect.stringContaining(previousUntil) };
    expect(await refusal('webhook.rotateSecret', { id }, owner.key, 422)).toEqual(refused);
    const { db } = app.context;
    const rotateAt = (time: string) =>
      db.transaction((tx) => rotateSecret(tx, id, webhookSecrets, { ownerId: owner.id, now: new Date(time) }));
    await expect(rotateAt(new Date(Date.parse(previousUntil) - 1).toISOString())).rejects.toThrow();
    await rotateAt(previousUntil);
    const later = new Date(Date.parse(previousUntil) + 2 * 24 * 3_600_000);
    expect(await sweepSecrets(db, later)).toBe(false);
    expect(await webhooksIn(db).findOneByOrFail({ id })).toMatchObject({ oldSecret: null, olderSecrets: null });
  });

  test('deletes one with its deliveries', async () => {
    const { id } = await create();
    expect(await app.call('webhook.delete', { id }, owner.key)).toEqual({ id });
    expect((await listed()).map((one) => one.id)).not.toContain(id);
    expect(await refusal('webhook.delete', { id })).toMatchObject({ reason: 'WEBHOOK_NOT_FOUND' });
  });

  test.each([
    ['http://hooks.example.com/', 'it must begin with https://'],
    ['https://hooks.example.com:8080/', 'its port must be 443 or 8443'],
    ['https://127.0.0.1/', '127.0.0.1 is not a public address'],
    ['https://169.254.169.254/latest/meta-data', '169.254.169.254 is not a public address'],
    ['https://2130706433/', '127.0.0.1 is not a public address'],
    ['https://0x7f.1/', '127.0.0.1 is not a public address'],
  ])('may not have %s called', async (url, why) => {
    const { id } = (await listed())[0]!;
    const hint = `The URL cannot be used: ${why}.`;
    const refused = { reason: 'WEBHOOK_URL_FORBIDDEN', hint };
    expect(await refusal('webhook.create', { url }, owner.key, 422)).toEqual(refused);
    expect(await refusal('webhook.update', { id, url }, owner.key, 422)).toEqual(refused);
  });

  test('has a limit, of which sixteen callers at once do not pass', async () => {
    const { key } = await app.aUser();
    const outcomes = await Promise.allSettled(Array.from({ length: MAX_WEBHOOKS + 16 }, () => create({}, key)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(MAX_WEBHOOKS);
    expect(await listed(key)).toHaveLength(MAX_WEBHOOKS);
    expect(await refusal('webhook.create', { url: URL }, key, 422)).toMatchObject({ reason: 'WEBHOOK_LIMIT' });
  });
});

describe('a stranger', () => {
  test('sees, changes and deletes none of another user', async () => {
    const { id } = await create();
    await activate();
    const { deliveryId } = await app.call('webhook.test', { id }, owner.key);
    expect(await listed(stranger.key)).toEqual([]);
    for (const name of ['webhook.test', 'webhook.rotateSecret', 'webhook.deliveries', 'webhook.delete'] as const) {
      expect(await refusal(name, { id }, stranger.key)).toMatchObject({ reason: 'WEBHOOK_NOT_FOUND' });
    }
    const theft = { id, url: `${URL}/mine` };
    expect(await refusal('webhook.update', theft, stranger.key)).toMatchObject({ reason: 'WEBHOOK_NOT_FOUND' });
    const refused = await refusal('webhook.redeliver', { deliveryId }, stranger.key);
    expect(refused).toMatchObject({ reason: 'DELIVERY_NOT_FOUND' });
    expect((await listed()).find((one) => one.id === id)?.url).toBe(URL);
  });

  test('with a key of another scope is refused', async () => {
    const { key } = await app.aUser({ scopes: ['content:write', 'user:read', 'user:write'] });
    expect(await refusal('webhook.list', {}, key, 403)).toMatchObject({ reason: 'SCOPE_MISSING' });
  });
});

describe('where events are off', () => {
  test('no webhook can be made', async () => {
    const silent = await startApp({ settings: { EVENTS: 'off' } });
    const { key } = await silent.aUser();
    expect((await silent.fail('webhook.create', { url: URL }, 404, key)).data.reason).toBe('EVENTS_OFF');
    await silent.stop();
  });
});
