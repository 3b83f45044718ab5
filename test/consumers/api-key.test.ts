/**
 * @engines sqlite server
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_FAILED_CALLS, MAX_KEYS, type Scope } from '../../contract/index.ts';
import { entriesIn } from '../../src/auth/audit/log.ts';
import { idempotencyRecordsIn } from '../../src/auth/idempotency/records.ts';
import { keysIn } from '../../src/auth/entity.ts';
import { findEndedKeys, sweepKeys } from '../../src/auth/key-sweep.ts';
import { createKey, readKey, revokeKey, rotateKey } from '../../src/auth/service.ts';
import { failedCallsIn } from '../../src/consumers/entity.ts';
import { readFailedCalls, sweepFailedCalls } from '../../src/consumers/use/failed-calls.ts';
import { UseRecorder } from '../../src/consumers/use/recorder.ts';
import { AppError } from '../../src/base/errors.ts';
import { type Output, type ProcedureId, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { callTool, connect } from '../harness/http/mcp.ts';

// Users manage their own keys, and see what they are used for and why calls failed.

const HOUR_MS = 3_600_000;

let app: TestApp;
let user: TestUser;
let stranger: TestUser;
beforeAll(async () => {
  app = await startApp();
  user = await app.aUser();
  stranger = await app.aUser();
});
afterAll(() => app.stop());

/** A key of the user. */
const newKey = (scopes: readonly Scope[], expiresAt: Date | null = null): Promise<{ id: string; key: string }> =>
  createKey(app.context.db, { userId: user.id, name: 'k', scopes, expiresAt }, app.context.now());
const create = (input: object = {}, key = user.key): Promise<Output<'apiKey.create'>> =>
  app.call('apiKey.create', { name: 'made', scopes: ['user:read'], ...input }, key);
const refusal = async (id: ProcedureId, input: object, status: number, key = user.key) =>
  (await app.fail(id, input, status, key)).data;
const listed = async (id: string): Promise<Output<'apiKey.rename'> | undefined> =>
  (await app.call('apiKey.list', {}, user.key)).items.find((one) => one.id === id);

const lifetimeOf = ({ createdAt, expiresAt }: Pick<NewKey, 'createdAt' | 'expiresAt'>): number =>
  Date.parse(expiresAt!) - Date.parse(createdAt);

describe('a user', () => {
  test('makes a key, which is shown once, works, and is in the audit', async () => {
    const { secret, ...key } = await create();
    expect(key).toMatchObject({ name: 'made', scopes: ['user:read'], state: 'active', prefix: secret?.slice(0, 12) });
    expect(await listed(key.id)).toEqual(key);
    expect((await app.call('user.me', {}, secret!)).apiKey.id).toBe(key.id);
    const entry = await entriesIn(app.context.db).findOneBy({ subject: `key ${key.id}` });
    expect(entry?.actor).toMatch(`user ${user.id} by key `);
    expect(entry?.action).toBe('keys create');
  });

  test('gets no key with more than theirs: neither scopes, nor time', async () => {
    const until = new Date(app.context.now().getTime() + HOUR_MS);
    const manager = await newKey(['key:write', 'user:read'], until);
    const wider = await refusal('apiKey.create', { name: 'x', scopes: ['user:read', 'user:write'] }, 403, manager.key);
    expect(wider.reason).toBe('API_KEY_WIDER');
    expect(wider.hint).toContain('user:write');
    const { expiresAt } = await create({}, manager.key);
    expect(expiresAt).toBe(until.toISOString());
    const wide = await newKey(['user:write']);
    expect((await refusal('apiKey.rotate', { id: wide.id }, 403, manager.key)).reason).toBe('API_KEY_WIDER');
    expect((await listed(wide.id))?.expiresAt).toBeNull();
  });

  test.each([
    ['never ends', null],
    ['is made for a year', 365 * 24 * HOUR_MS],
  ])(
    'gets no longer time from a key that %s: neither at once, nor by rotations of what they got',
    async (_, lifetime) => {
      const now = app.context.now().getTime();
      const end = new Date(now + 24 * HOUR_MS).toISOString();
      const manager = await newKey(['key:write', 'user:read'], new Date(end));
      const sibling = await newKey(['key:write'], lifetime === null ? null : new Date(now + lifetime));
      const got = await app.call('apiKey.rotate', { id: sibling.id }, manager.key);
      expect(got).toMatchObject({ expiresAt: end, madeBy: manager.id });
      const made = await create({ scopes: ['key:write'], expiresInDays: 365 }, manager.key);
      expect(made).toMatchObject({ expiresAt: end, madeBy: manager.id });
      for (const one of [got, made]) {
        const next = await app.call('apiKey.rotate', { id: one.id }, one.secret!);
        expect(lifetimeOf(next)).toBe(lifetimeOf((await listed(manager.id))!));
      }
    },
  );

  test('keeps the lifetime of a key that replaces itself, again where the answer was lost, and is told both ends', async () => {
    const old = await create({ scopes: ['key:write', 'user:read'], expiresInDays: 60 });
    const first = await app.call('apiKey.rotate', { id: old.id, overlapHours: 1 }, old.secret!);
    const second = await app.call('apiKey.rotate', { id: old.id }, old.secret!);
    const third = await app.call('apiKey.rotate', { id: old.id, overlapHours: 5 }, user.key);
    expect([first, second, third].map(lifetimeOf)).toEqual(Array(3).fill(60 * 24 * HOUR_MS));
    expect([first, second, third].map(({ previousUntil }) => previousUntil)).toEqual(
      Array(3).fill((await listed(old.id))?.expiresAt),
    );
    expect(Date.parse(first.previousUntil) - Date.parse(first.createdAt)).toBe(HOUR_MS);
  });

  test('gets no more than a key has since it was replaced or narrowed on another instance', async () => {
    const { db, now } = app.context;
    const manager = await newKey(['key:write', 'user:read'], new Date(now().getTime() + 80 * 24 * HOUR_MS));
    const sibling = await newKey(['user:read']);
    await app.call('user.me', {}, manager.key);
    // The key is still cached.
    const { previousUntil } = await rotateKey(db, manager.id, HOUR_MS, now());
    const end = previousUntil.toISOString();
    const made = await create({ scopes: ['key:write'] }, manager.key);
    expect(made.expiresAt).toBe(end);
    expect((await app.call('apiKey.rotate', { id: sibling.id }, manager.key)).expiresAt).toBe(end);
    const next = await app.call('apiKey.rotate', { id: made.id }, made.secret!);
    expect(lifetimeOf(next)).toBe(lifetimeOf(made));
    await db.transaction((tx) => keysIn(tx).update({ id: manager.id }, { scopes: ['key:write'] }));
    expect((await refusal('apiKey.create', { name: 'x', scopes: ['user:read'] }, 403, manager.key)).reason).toBe(
      'API_KEY_WIDER',
    );
  });

  test('revokes a key with all that it made, at any remove, or is told how many of them live', async () => {
    const stolen = await newKey(['key:write', 'user:read']);
    const other = await create();
    const child = await create({ scopes: ['key:write', 'user:read'] }, stolen.key);
    const grandchild = await create({ scopes: ['key:write', 'user:read'] }, child.secret!);
    const rotated = await app.call('apiKey.rotate', { id: grandchild.id, overlapHours: 0 }, grandchild.secret!);
    await app.call('apiKey.revoke', { id: child.id }, user.key);
    expect(await app.call('apiKey.revoke', { id: stolen.id }, user.key)).toMatchObject({ madeActive: 1 });
    expect((await listed(rotated.id))?.state).toBe('active');
    const gone = await app.call('apiKey.revoke', { id: stolen.id, withMade: true }, user.key);
    expect(gone).toMatchObject({ state: 'revoked', madeActive: 0 });
    const states = await Promise.all([rotated, grandchild, other].map(async ({ id }) => (await listed(id))?.state));
    expect(states).toEqual(['revoked', 'expired', 'active']);
    const entry = await entriesIn(app.context.db).findOneBy({ subject: `key ${rotated.id}`, action: 'keys revoke' });
    expect(entry?.actor).toMatch(`user ${user.id} by key `);
  });

  test('loses keys that ended long ago, by parts, and can still end those that descend from them', async () => {
    const { db } = app.context;
    const [past, end] = [new Date('2001-01-01'), new Date('2001-01-03')];
    const made = async (madeBy: string | null, expiresAt: Date | null = null): Promise<string> =>
      (await createKey(db, { userId: user.id, name: 'old', scopes: ['user:read'], expiresAt, madeBy }, past)).id;
    const root = await made(null, past);
    const revoked = await made(root);
    const expired = await made(revoked, past);
    const living = await made(expired);
    const later = await made(null, end);
    const many = await Promise.all(Array.from({ length: 120 }, () => made(revoked, past)));
    await revokeKey(db, revoked, past);
    await db.transaction((tx) => keysIn(tx).update({ id: revoked }, { lastUsedAt: past }));

    const gone = [revoked, expired, ...many].toSorted();
    expect((await findEndedKeys(db, end)).map(({ id }) => id).toSorted()).toEqual(gone);
    const by = { name: 'test', now: end };
    const sweeps: number[] = [];
    do sweeps.push(await sweepKeys(db, end, by));
    while (sweeps.at(-1)! > 0);
    expect(sweeps.reduce((sum, n) => sum + n)).toBe(gone.length);
    expect(Math.max(...sweeps)).toBe(100);
    const left = (await keysIn(db).findBy({ name: 'old' })).map(({ id, madeBy }) => [id, madeBy]);
    expect(new Map(left as [string, string | null][])).toEqual(
      new Map([
        [root, null],
        [living, root],
        [later, null],
      ]),
    );
    const entries = await entriesIn(db).findBy({ action: 'keys prune' });
    expect(entries.map(({ subject }) => subject).toSorted()).toEqual(gone.map((id) => `key ${id}`));
    const entry = entries.find(({ subject }) => subject === `key ${revoked}`);
    expect(JSON.parse(entry!.before!)).toMatchObject({ userId: user.id, name: 'old', lastUsedAt: past.toISOString() });

    expect(await revokeKey(db, root, end, undefined, true)).toBe(1);
    expect((await readKey(db, living)).revokedAt).toEqual(end);
    const last = new Date('2001-01-04');
    while ((await sweepKeys(db, last, by)) > 0);
    expect(await keysIn(db).countBy({ name: 'old' })).toBe(0);
  });

  test('renames a key to its name without a trace', async () => {
    const { id, secret: _secret, ...key } = await create();
    const entries = () => entriesIn(app.context.db).countBy({ subject: `key ${id}` });
    const before = await entries();
    for (let n = 0; n < 3; n += 1) {
      expect(await app.call('apiKey.rename', { id, name: key.name }, user.key)).toEqual({ id, ...key });
    }
    expect(await entries()).toBe(before);
  });

  test('is told what to do when a key has expired', async () => {
    const { key } = await newKey(['user:read'], app.context.now());
    const { hint } = await refusal('user.me', {}, 401, key);
    for (const way of ['apiKey.create', 'key:write', 'keys create', 'apiKey.rotate', 'overlap'])
      expect(hint).toContain(way);
  });

  test('makes none by a key that was revoked a moment ago', async () => {
    const manager = await newKey(['key:write', 'user:read']);
    await app.call('user.me', {}, manager.key);
    // The key is still cached.
    await revokeKey(app.context.db, manager.id, app.context.now());
    expect((await refusal('apiKey.create', { name: 'x', scopes: ['user:read'] }, 401, manager.key)).reason).toBe(
      'KEY_REVOKED',
    );
  });

  test('reaches no key of others', async () => {
    const { id } = await createKey(
      app.context.db,
      { userId: stranger.id, name: 'k', scopes: ['user:read'], expiresAt: null },
      app.context.now(),
    );
    const attempts = { rename: { id, name: 'x' }, rotate: { id }, revoke: { id }, usage: { id }, calls: { id } };
    for (const [name, input] of Object.entries(attempts)) {
      expect((await refusal(`apiKey.${name}` as ProcedureId, input, 404)).reason).toBe('API_KEY_NOT_FOUND');
    }
    expect((await app.call('apiKey.list', {}, user.key)).items.map((one) => one.id)).not.toContain(id);
  });

  test('renames a key, replaces it for an overlap, and revokes it, perhaps itself', async () => {
    const { secret, ...key } = await create({ scopes: ['key:write', 'user:read'] });
    expect(await app.call('apiKey.rename', { id: key.id, name: 'laptop' }, user.key)).toMatchObject({ name: 'laptop' });
    const next = await app.call('apiKey.rotate', { id: key.id, overlapHours: 2 }, secret!);
    expect(next).toMatchObject({ name: 'laptop', scopes: key.scopes, state: 'active' });
    const until = Date.parse((await listed(key.id))!.expiresAt!);
    expect(Math.abs(until - app.context.now().getTime() - 2 * HOUR_MS)).toBeLessThan(HOUR_MS);
    const gone = await app.call('apiKey.revoke', { id: next.id }, next.secret!);
    expect(gone.state).toBe('revoked');
    // Its last use is stored within seconds.
    const again = await app.call('apiKey.revoke', { id: next.id }, user.key);
    expect(again).toEqual({ ...gone, lastUsedAt: again.lastUsedAt });
    expect((await refusal('apiKey.rotate', { id: next.id }, 403)).reason).toBe('API_KEY_ENDED');
    const replaced = await app.call('apiKey.rotate', { id: key.id, overlapHours: 0 }, user.key);
    expect(replaced.secret).not.toBeNull();
    expect((await listed(key.id))?.state).toBe('expired');
  });

  test('gets the same key for a repeated call, without the key itself', async () => {
    const send = () =>
      app.http
        .post('/api/trpc/apiKey.create')
        .set({ Authorization: `Bearer ${user.key}`, 'Idempotency-Key': 'key-1' })
        .send({ json: { name: 'once', scopes: ['user:read'] } });
    const [first, again] = [await send(), await send()];
    const output = ({ body }: typeof first) => (body as { result: { data: { json: NewKey } } }).result.data.json;
    expect(output(first).secret).toMatch(/^cgk_/);
    expect(output(again)).toEqual({ ...output(first), secret: null });
    const answers = (await idempotencyRecordsIn(app.context.db).find()).map(({ answer }) => answer).join();
    expect(answers).not.toContain(output(first).secret);
  });

  test('makes a number of keys at most, however many callers try at once', async () => {
    const owner = await app.aUser();
    const { db, now } = app.context;
    for (let n = 1; n < MAX_KEYS - 2; n += 1) {
      await createKey(db, { userId: owner.id, name: 'k', scopes: ['user:read'], expiresAt: null }, now());
    }
    const replies = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.http
          .post('/api/trpc/apiKey.create')
          .set('Authorization', `Bearer ${owner.key}`)
          .send({ json: { name: 'x', scopes: ['user:read'] } }),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 200, 422, 422, 422, 422, 422, 422,
    ]);
    expect((await refusal('apiKey.rotate', { id: owner.keyId }, 422, owner.key)).reason).toBe('API_KEY_LIMIT');
  });

  test('walks through their keys', async () => {
    const all = (await app.call('apiKey.list', {}, user.key)).items.map(({ id }) => id);
    const walked: string[] = [];
    for (let before: string | undefined; ;) {
      const { items, hasMore } = await app.call('apiKey.list', { limit: 3, ...(before && { before }) }, user.key);
      walked.push(...items.map(({ id }) => id));
      before = items.at(-1)?.id;
      if (!hasMore) break;
    }
    expect(walked).toEqual(all);
    expect(all).toEqual(all.toSorted().toReversed());
  });
});
type NewKey = Output<'apiKey.create'>;

describe('failed calls', () => {
  test('are listed by whichever way they came, without what was sent', async () => {
    const { id, key } = await newKey(['content:write']);
    const requestId = 'mine-1';
    await app.http
      .post('/api/trpc/game.list')
      .set({ Authorization: `Bearer ${key}`, 'X-Request-Id': requestId })
      .send({ json: { limit: 'a secret of mine', page: 1, limits: 1 } });
    await app.fail('user.me', {}, 403, key);
    await app.http
      .post('/api/trpc/game.getById,game.getById?batch=1')
      .set({ Authorization: `Bearer ${key}`, 'X-Request-Id': 'batch-1' })
      .send({ 0: { json: { id: 'none' } }, 1: { json: { id: 'nothing' } } });
    await app.http
      .get('/api/trpc/event.tail')
      .query({ input: '{"json":{"after":"no-cursor"}}' })
      .set({ Authorization: `Bearer ${key}`, 'X-Request-Id': 'tail-1' });
    const client = await connect(app.url, { key });
    await callTool(client, 'game.getById', { id: 'none' });
    await client.close();
    const { isRecorded, items } = await app.call('apiKey.calls', { id }, user.key);
    expect(isRecorded).toBe(true);
    expect(items.map(({ operation, reason, status }) => `${operation} ${reason} ${status}`).toReversed()).toEqual([
      'game.list VALIDATION_FAILED 400',
      'user.me SCOPE_MISSING 403',
      'game.getById GAME_NOT_FOUND 404',
      'game.getById GAME_NOT_FOUND 404',
      'event.tail CURSOR_INVALID 404',
      'game.getById GAME_NOT_FOUND 404',
    ]);
    const found = await app.call('apiKey.calls', { id, requestId }, user.key);
    expect(found.items).toEqual([{ ...items.at(-1), requestId }]);
    expect(found.items[0]?.issues[0]).toEqual({ path: '/limit', code: 'invalid_type' });
    expect(JSON.stringify(items)).not.toContain('secret of mine');
  });

  test('of one key are kept up to a number, of all instances, for a day, and go with it', async () => {
    const { id } = await newKey(['user:read']);
    const { db, now } = app.context;
    const start = now().getTime();
    let at = start;
    const silent = app.context.log;
    const instances = [0, 1].map(() => new UseRecorder(db.background, silent, () => new Date((at += 1))));
    for (let n = 0; n < MAX_FAILED_CALLS; n += 1) {
      for (const uses of instances) uses.fail(id, 'user.me', `request-${n}`, new AppError('RATE_LIMITED'));
    }
    for (const uses of instances) await uses.flush();
    const kept = await readFailedCalls(db, id, new Date(at));
    expect(kept).toHaveLength(MAX_FAILED_CALLS);
    expect(kept[0]?.requestId).toBe(`request-${MAX_FAILED_CALLS - 1}`);
    expect(kept.at(-1)?.requestId).toBe(`request-${MAX_FAILED_CALLS / 2}`);
    const tomorrow = new Date(at + 25 * HOUR_MS);
    expect(await readFailedCalls(db, id, tomorrow)).toEqual([]);
    await sweepFailedCalls(db, tomorrow);
    expect(await failedCallsIn(db).countBy({ keyId: id })).toBe(0);
  });

  test('and uses are told to be unknown where nothing is recorded', async () => {
    const off = await startApp({ settings: { USE_RECORDING: 'off' } });
    const { key } = await off.aUser();
    await off.fail('apiKey.rename', { id: 'x', name: 'x' }, 404, key);
    expect(await off.call('apiKey.calls', {}, key)).toEqual({ isRecorded: false, items: [] });
    expect(await off.call('apiKey.usage', {}, key)).toEqual({ isRecorded: false, clients: [], operations: [] });
    await off.stop();
  });
});

test('the uses of a key are told to its user', async () => {
  const { id, key } = await newKey(['user:read']);
  await app.call('game.list', { limit: 1, page: 1, sortBy: 'latest' }, key);
  await app.context.auth.uses?.flush();
  const { operations, isRecorded } = await app.call('apiKey.usage', { id }, user.key);
  const lastDay = app.context.now().toISOString().slice(0, 10);
  const parts = ['/limit', '/page', '/sortBy', '/sortBy=latest'];
  expect({ operations, isRecorded }).toEqual({
    isRecorded: true,
    operations: [
      {
        operation: 'game.list',
        lastDay,
        isDeprecated: false,
        parts: parts.map((name) => ({ name, lastDay, isDeprecated: false })),
      },
    ],
  });
});
