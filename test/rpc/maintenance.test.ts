/**
 * @engines sqlite
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { listActs } from '../../src/auth/audit/log.ts';
import { type Output, startApp, type TestUser } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { writes } from '../harness/documents/repeating.ts';
import { until } from '../harness/until.ts';

const app = await startApp();
const other = await startApp({ databaseUrl: app.databaseUrl });
const readOnly = await startApp({ databaseUrl: app.databaseUrl, settings: { READ_ONLY: 'true' } });
const instances = [app, other];
const { db } = app.context;

let author: TestUser;
let game: Output<'game.create'>;

const maintenance = (...args: string[]) =>
  runCommand(['maintenance', ...args], { env: { DATABASE_URL: app.databaseUrl, AUTO_MIGRATE: 'false' } });

/** What the service stores by itself about reads: views, and when and how often keys were used. */
const traces = async () => ({
  views: await db.read('SELECT view_count FROM games'),
  keys: await db.read('SELECT last_used_at FROM api_keys'),
  uses: await db.read('SELECT operation, n FROM key_uses'),
});

const flush = async (one: typeof app): Promise<void> => {
  const { auth, routers } = one.context;
  await Promise.all([auth.keys.flush(), auth.uses?.flush(), routers.game.views.buffer.flush()]);
};

beforeAll(async () => {
  author = await app.aUser();
  game = await app.aGame({}, author);
  await flush(app);
});

afterAll(async () => {
  await Promise.all([readOnly.stop(), other.stop()]);
  await app.stop();
});

describe('maintenance', () => {
  test('is off unless it is switched on', async () => {
    expect(await maintenance('status', '--json')).toMatchObject({ code: 0, stdout: '{"maintenance":"off"}\n' });
  });

  test('has every instance refuse writes, and answer reads', async () => {
    expect(await maintenance('on', '--retry-after', '300', '--note', 'a move')).toMatchObject({
      code: 0,
      stdout: 'on\n',
    });
    for (const one of instances) {
      const { status, headers, body } = await one.send('game.create', { title: 'Never' }, author.key);
      expect([status, body.error.json.data.reason, headers['retry-after']]).toEqual([503, 'MAINTENANCE', '300']);
      expect((await one.fail('game.toggleFavorite', { gameId: game.id }, 503, author.key)).data.reason).toBe(
        'MAINTENANCE',
      );
      expect((await one.call('game.list', { limit: 10, page: 1 }, author.key)).total).toBe(1);
      expect((await one.http.get('/readyz')).body).toEqual({ status: 'read-only' });
      expect((await one.http.get('/readyz?for=read')).body).toEqual({ status: 'ready' });
      const { status: state, body: refused } = await one.http.get('/readyz?for=write');
      expect([state, refused.error.json.data.reason]).toEqual([503, 'MAINTENANCE']);
    }
  });

  test.each(writes.map(({ id }) => id))('has %s refused, whatever its input is', async (id) => {
    expect((await app.fail(id, {}, 503, author.key)).data.reason).toBe('MAINTENANCE');
  });

  test('refuses only the writes of a batch', async () => {
    const { status, body } = await app.http
      .post('/api/trpc/game.getById,game.create?batch=1')
      .set('Authorization', `Bearer ${author.key}`)
      .send({ 0: { json: { id: game.id } }, 1: { json: { title: 'Never' } } });
    expect(status).toBe(207);
    expect(body[0].result.data.json.id).toBe(game.id);
    expect(body[1].error.json.data.reason).toBe('MAINTENANCE');
  });

  test('says nothing of it to callers who may not write', async () => {
    expect((await app.fail('game.create', {}, 401)).data.reason).toBe('KEY_MISSING');
    const reader = await app.aUser({ scopes: ['user:read'] });
    expect((await app.fail('game.create', {}, 403, reader.key)).data.reason).toBe('SCOPE_MISSING');
  });

  test('leaves the database as it is, and stores later what reads have left', async () => {
    await flush(app);
    const before = await traces();
    await app.call('game.getById', { id: game.id }, author.key);
    await flush(app);
    expect(await traces()).toEqual(before);

    expect(await maintenance('off')).toMatchObject({ code: 0, stdout: 'off\n' });
    await until(async () => (await app.send('game.create', { title: 'Later' }, author.key)).status === 200);
    await flush(app);
    expect((await app.call('game.getById', { id: game.id })).viewCount).toBeGreaterThan(game.viewCount);
  });

  test('is recorded in the audit log', async () => {
    const acts = [];
    for await (const entries of listActs(db)) acts.push(...entries.map(({ action, after }) => ({ action, after })));
    expect(acts).toEqual(
      expect.arrayContaining([
        { action: 'maintenance on', after: { retryAfter: 300, note: 'a move' } },
        { action: 'maintenance off', after: null },
      ]),
    );
  });
});

describe('READ_ONLY', () => {
  test('has one instance refuse writes, and store nothing of its reads', async () => {
    await flush(app);
    const before = await traces();
    const { status, headers, body } = await readOnly.send('game.create', { title: 'Never' }, author.key);
    expect([status, body.error.json.data.reason, headers['retry-after']]).toEqual([503, 'MAINTENANCE', '60']);
    expect((await readOnly.call('game.getById', { id: game.id }, author.key)).title).toBe(game.title);
    await flush(readOnly);
    await sleep(20);
    expect(await traces()).toEqual(before);
    expect(readOnly.context.config.autoMigrate).toBe(false);
  });
});
