/**
 * @engines all
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_CONTRACT_BYTES, MAX_CONTRACTS, MAX_NEEDS } from '../../contract/index.ts';
import { type PublishedContract, publishedContracts } from '../../src/consumers/contracts/store.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';

// The contracts that consumers publish. The operator asks with them in `test/kit/consumers`.

let app: TestApp;
let now = new Date('2031-05-01T10:00:00.000Z');
let owner: TestUser;
let stranger: TestUser;
beforeAll(async () => {
  app = await startApp({ now: () => now });
  owner = await app.aUser();
  stranger = await app.aUser();
});
afterAll(() => app.stop());

const need = {
  operation: 'game.list',
  test: 'shows titles',
  sends: ['/limit'],
  reads: ['/items/*/title'],
  reasons: [],
};
const byId = { ...need, operation: 'game.getById', sends: ['/id'], reads: ['/title'] };
/** Needs of a map, whose keys are not in the contract of the gateway. */
const ofLinks = { ...need, operation: 'user.updateProfile', sends: [], reads: [] };
const links = Array.from({ length: 450 }, (_, n) => `/socialLinks/${String(n).padStart(286, 'x')}`);
const publish = (consumer: string, tag: string, needs: object[] = [need], { key } = owner) =>
  app.send('consumerContract.publish', { tag, contract: { consumer, contract: '1.1.0', needs } }, key);
const listed = async ({ key } = owner) => (await app.call('consumerContract.list', {}, key)).items;
const kept = async (tag: string): Promise<PublishedContract[]> => {
  const found: PublishedContract[] = [];
  for await (const contract of publishedContracts(app.context.db, tag, () => undefined)) found.push(contract);
  return found;
};

describe('contracts of consumers', () => {
  test('are kept by user, consumer and tag, the last one of each', async () => {
    await publish('web', 'production');
    await publish('web', 'main');
    await publish('web', 'production', [need], stranger);
    now = new Date('2031-05-02T10:00:00.000Z');
    const { body } = await publish('web', 'production', [need, byId]);
    const web = { consumer: 'web', contract: '1.1.0' };
    const last = { ...web, tag: 'production', needCount: 2, publishedAt: '2031-05-02T10:00:00.000Z' };
    expect(body.result.data.json).toEqual(last);
    expect(await listed()).toEqual([
      { ...web, tag: 'main', needCount: 1, publishedAt: '2031-05-01T10:00:00.000Z' },
      last,
    ]);
    const production = await kept('production');
    expect(production).toHaveLength(2);
    expect(production).toContainEqual({ ...web, userId: stranger.id, needs: [need] });
    expect(production).toContainEqual({
      ...web,
      userId: owner.id,
      needs: [need, byId],
    });
  });

  test('are deleted by their user only', async () => {
    const name = { consumer: 'gone', tag: 'production' };
    await publish(name.consumer, name.tag);
    const missed = await app.fail('consumerContract.delete', name, 404, stranger.key);
    expect(missed.data.reason).toBe('CONTRACT_NOT_FOUND');
    expect(await app.call('consumerContract.delete', name, owner.key)).toEqual(name);
    expect((await listed()).map(({ consumer }) => consumer)).toEqual(['web', 'web']);
    expect((await app.fail('consumerContract.delete', name, 404, owner.key)).data.reason).toBe('CONTRACT_NOT_FOUND');
  });

  test(`are ${MAX_CONTRACTS} at most, which those that are there do not hinder`, async () => {
    const many = await app.aUser();
    for (let n = 0; n < MAX_CONTRACTS; n += 1) await publish(`c${n}`, 'production', [need], many);
    const { status, body } = await publish('one', 'production', [need], many);
    expect([status, body.error.json.data.reason]).toEqual([422, 'CONTRACT_LIMIT']);
    expect((await publish('c0', 'production', [need], many)).status).toBe(200);
    expect(await listed(many)).toHaveLength(MAX_CONTRACTS);
  });

  test('have 4 MiB together, of which none takes more by being replaced, and which a hint counts', async () => {
    const user = await app.aUser();
    // Two bytes for each letter: bytes count, not letters.
    const half = { ...ofLinks, test: 'é'.repeat(500), reads: links };
    const sizeOf = (needs: object[]): number => Buffer.byteLength(JSON.stringify(needs));
    const many = Array.from({ length: 7 }, () => half);
    const most = Math.floor(MAX_CONTRACT_BYTES / sizeOf(many));
    for (let n = 0; n < most; n += 1) expect((await publish(`c${n}`, 'production', many, user)).status).toBe(200);
    const { status, body } = await publish('one', 'production', many, user);
    expect([status, body.error.json.data]).toEqual([
      422,
      expect.objectContaining({
        reason: 'CONTRACT_LIMIT',
        hint: expect.stringContaining(`takes ${sizeOf(many)} bytes, your ${most} others ${most * sizeOf(many)}`),
      }),
    ]);
    expect((await publish('c0', 'production', many, user)).status).toBe(200);
    const rest = MAX_CONTRACT_BYTES - most * sizeOf(many);
    const filling = { ...need, reads: [], test: '' };
    const fits = { ...filling, test: 'x'.repeat(Math.min(500, rest - sizeOf([filling]))) };
    expect((await publish('last', 'production', [fits], user)).status).toBe(200);
    expect(await listed(user)).toHaveLength(most + 1);
  });

  test('published at once do not pass the limit together', async () => {
    const user = await app.aUser();
    const large = Array.from({ length: 7 }, () => ({
      ...ofLinks,
      reads: links,
    }));
    const replies = await Promise.all(Array.from({ length: 8 }, (_, n) => publish(`c${n}`, 'production', large, user)));
    const size = Buffer.byteLength(JSON.stringify(large));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(Math.floor(MAX_CONTRACT_BYTES / size));
  });

  test('have a need at least: one without any would say that nothing breaks its consumer', async () => {
    const { status, body } = await publish('web', 'production', []);
    expect([status, body.error.json.data.issues]).toEqual([
      400,
      [expect.objectContaining({ path: '/contract/needs' })],
    ]);
  });

  test.each<[string, object, string]>([
    ['an operation', { operation: 'game.lists' }, 'game.lists'],
    ['a member', { reads: ['/items/*/titel'] }, 'game.list /items/*/titel'],
    ['a member behind the envelope', { reads: ['/result/data/json/items'] }, 'game.list /result/data/json/items'],
    ['a word', { sends: ['/sortBy', '/sortBy=newest'] }, 'game.list /sortBy=newest'],
    ['a reason', { reasons: ['GAME_NOTFOUND'] }, 'game.list GAME_NOTFOUND'],
  ])('are refused where they name %s that the gateway lacks', async (_, own, told) => {
    const { status, body } = await publish('unknown', 'production', [need, { ...need, ...own }]);
    expect([status, body.error.json.data]).toEqual([
      422,
      expect.objectContaining({ reason: 'CONTRACT_UNKNOWN', hint: expect.stringContaining(`Unknown: ${told}.`) }),
    ]);
    expect((await listed()).map(({ consumer }) => consumer)).not.toContain('unknown');
  });

  test.each(['banana', '1.2', '99.0.0'])('are refused where they were tested with %s', async (contract) => {
    const input = { tag: 'production', contract: { consumer: 'unknown', contract, needs: [need] } };
    const { data } = await app.fail('consumerContract.publish', input, 422, owner.key);
    expect(data).toMatchObject({ reason: 'CONTRACT_UNKNOWN', hint: expect.stringContaining(contract) });
  });

  test('may name messages, keys of maps, words and all members of an output', async () => {
    const needs = [
      { ...need, operation: 'webhook.message.event', sends: [], reads: ['/type'] },
      { ...need, operation: 'event.tail', sends: ['/start', '/start=latest'], reads: ['/type'] },
      { ...ofLinks, sends: ['/socialLinks/twitter'], reads: ['/socialLinks/*'], requires: ['/id'] },
      { ...need, sends: ['/sortBy', '/sortBy=views'], reads: ['/items', '/items/*'], reasons: ['RATE_LIMITED'] },
    ];
    expect((await publish('web', 'many', needs)).status).toBe(200);
  });

  test('have as many needs as a large suite has', async () => {
    const members = Array.from({ length: 20 }, (_, n) => `/socialLinks/member${n}`);
    const large = Array.from({ length: MAX_NEEDS }, () => ({ ...ofLinks, sends: members, reads: members }));
    const { status, body } = await publish('large', 'production', large);
    expect([status, body.result?.data.json.needCount]).toEqual([200, MAX_NEEDS]);
    expect((await publish('large', 'production', [...large, need])).status).toBe(400);
  });
});
