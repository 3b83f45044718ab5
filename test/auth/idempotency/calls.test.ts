/**
 * @engines all
 * @tier fast
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { IDEMPOTENCY_HOURS, type Reason, scopes } from '../../../contract/index.ts';
import { createKey } from '../../../src/auth/service.ts';
import { storedIdToBytes } from '../../../src/db/values.ts';
import { type ProcedureId, type Reply, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { engine } from '../../harness/app/database.ts';
import { storedRows } from '../../harness/documents/stored-rows.ts';
import { expectExactCounts } from '../../harness/app/counts.ts';
import {
  anInput,
  idMember,
  isForOwners,
  isReplay,
  repeating,
  repetitionOf,
  type Write,
  writes,
} from '../../harness/documents/repeating.ts';

// Writes that are repeated with an `Idempotency-Key`, on one instance and on two.

const HOUR_MS = 3_600_000;

/** On a server, a call of each kind: the statements around those of the call are the same for all. */
const OF_EACH_KIND = ['game.create', 'game.batchCreate', 'game.update', 'game.delete', 'game.toggleFavorite'];
OF_EACH_KIND.push('user.updateProfile', 'webhook.delete');
const repeated = engine === 'sqlite' ? writes : writes.filter(({ id }) => OF_EACH_KIND.includes(id));

let app: TestApp;
/** Another instance on the same database. */
let other: TestApp;
let user: TestUser;
let now: Date;

describe('idempotent calls', () => {
  beforeAll(async () => {
    now = new Date();
    const clock = { now: () => now };
    app = await startApp(clock);
    other = await startApp({ ...clock, databaseUrl: app.databaseUrl });
    user = await app.aUser();
  });
  afterAll(async () => {
    await expectExactCounts(app.context.db);
    await other.stop();
    await app.stop();
  });

  const outputOf = ({ body }: Reply) => body.result.data.json;
  const reasonOf = ({ body }: Reply): Reason | undefined => body.error?.json.data.reason;

  const count = async (table: string): Promise<number> =>
    (await app.context.db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))[0]!.n;

  /** What doing a call once more would change: the numbers of rows, the counters, its user and the record that it concerns. */
  const footprint = async (operation: Write, input: Record<string, unknown>): Promise<unknown> => {
    const { db } = app.context;
    const tables = ['api_keys', 'games', 'image_posts', 'users', 'tags', 'game_favorites', 'game_reactions'];
    tables.push('image_post_favorites', 'image_post_reactions', 'game_tags', 'image_post_tags', 'search_tail');
    const found: unknown[] = [await storedRows(db, 'counters')];
    for (const table of tables) found.push([table, await count(table)]);
    const row = async (table: string, id: string) =>
      found.push(await db.read(`SELECT * FROM ${table} WHERE id = ?`, [storedIdToBytes(id)]));
    await row('users', user.id);
    const [kind, member] = [operation.id.split('.')[0]!, idMember(operation)];
    if (member !== undefined && kind !== 'webhook' && kind !== 'apiKey') {
      await row(kind === 'game' ? 'games' : 'image_posts', String(input[member]));
    }
    return found;
  };

  const records = () => count('idempotency_records');

  test('a call of each kind is among those that are repeated', () => {
    expect(repeated.map(({ id }) => id)).toEqual(expect.arrayContaining(OF_EACH_KIND));
  });

  describe.each(repeated)('$id', (operation) => {
    const { id } = operation;

    afterAll(() => expectExactCounts(app.context.db));

    test('is done once, and answered to the letter, by whichever instance', async () => {
      const input = await anInput(app, operation, user);
      const key = randomUUID();
      const first = await app.send(id, input, user.key, repeating(key));
      expect([first.status, isReplay(first)]).toEqual([200, false]);
      const before = await footprint(operation, input);
      for (const instance of [app, other, app]) {
        const again = await instance.send(id, input, user.key, repeating(key));
        expect([again.status, isReplay(again)]).toEqual([200, true]);
        const expected = repetitionOf(JSON.stringify(first.body));
        expect(JSON.stringify(again.body)).toBe(expected);
        expect(again.headers['content-length']).toBe(String(Buffer.byteLength(expected)));
      }
      expect(await footprint(operation, input)).toEqual(before);
    });

    test('is the same input, however it is written', async () => {
      const input = await anInput(app, operation, user);
      const key = randomUUID();
      const first = await app.send(id, input, user.key, repeating(key));
      const turned = JSON.stringify({ meta: {}, json: reversed(input) }, undefined, 2);
      const escaped = turned.replaceAll(/[^\p{ASCII}]/gu, (letter) =>
        Array.from(
          { length: letter.length },
          (_, index) => `\\u${letter.charCodeAt(index).toString(16).padStart(4, '0')}`,
        ).join(''),
      );
      const again = await app.http
        .post(`/api/trpc/${id}`)
        .set({ 'Content-Type': 'application/json', Authorization: `Bearer ${user.key}`, ...repeating(key) })
        .send(escaped);
      expect([again.status, again.headers['idempotency-replayed']]).toEqual([200, 'true']);
      expect(again.text).toBe(repetitionOf(JSON.stringify(first.body)));
    });

    test('with another input is refused, and stores nothing', async () => {
      const key = randomUUID();
      const input = await anInput(app, operation, user);
      const first = await app.send(id, input, user.key, repeating(key));
      const another = id === 'user.updateAvatar' ? { avatar: null } : await anotherInput(operation, input);
      const before = await footprint(operation, input);
      for (const instance of [app, other]) {
        const refused = await instance.send(id, another, user.key, repeating(key));
        expect([refused.status, reasonOf(refused)]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
        expect(refused.headers['x-should-retry']).toBe('false');
      }
      expect(await footprint(operation, input)).toEqual(before);
      const again = await app.send(id, input, user.key, repeating(key));
      expect(JSON.stringify(again.body)).toBe(repetitionOf(JSON.stringify(first.body)));
    });

    test('that is refused leaves the value unused', async () => {
      const key = randomUUID();
      const before = await records();
      const refused = await app.send(id, { unknownMember: 1 }, user.key, repeating(key));
      expect([refused.status, reasonOf(refused)]).toEqual([400, 'VALIDATION_FAILED']);
      const unknown = operation.reasons.find((reason) => reason.endsWith('_NOT_FOUND'));
      const input = await anInput(app, operation, user);
      if (unknown) {
        const member = idMember(operation) ?? 'consumer';
        for (const nothing of [randomUUID(), 'nothing']) {
          const missed = await app.send(id, { ...input, [member]: nothing }, user.key, repeating(key));
          expect([missed.status, reasonOf(missed)]).toEqual([404, unknown]);
        }
      }
      expect(await records()).toBe(before);
      const done = await app.send(id, input, user.key, repeating(key));
      expect([done.status, isReplay(done)]).toEqual([200, false]);
      expect(await records()).toBe(before + 1);
    });

    test('is done anew for another API key of the same user, and for another user', async () => {
      const { db } = app.context;
      const second = await createKey(db, { userId: user.id, name: 'second', scopes, expiresAt: null }, now);
      const stranger = await app.aUser();
      const value = randomUUID();
      for (const key of [user.key, second.key, ...(isForOwners(operation) ? [] : [stranger.key])]) {
        const reply = await app.send(id, await anInput(app, operation, user), key, repeating(value));
        expect([reply.status, isReplay(reply)]).toEqual([200, false]);
      }
    });

    test('is done anew after so many hours, and again from then on', async () => {
      const input = await anInput(app, operation, user);
      const value = randomUUID();
      const send = () => app.send(id, input, user.key, repeating(value));
      const start = now;
      try {
        expect(isReplay(await send())).toBe(false);
        now = new Date(start.getTime() + IDEMPOTENCY_HOURS * HOUR_MS);
        expect(isReplay(await send())).toBe(true);
        now = new Date(now.getTime() + 1);
        const before = await records();
        const anew = await send();
        // A second deletion finds nothing, a second rotation a key that has ended: they leave the value unused.
        const refusal = {
          'game.delete': [404, 'GAME_NOT_FOUND'],
          'image.delete': [404, 'IMAGE_POST_NOT_FOUND'],
          'webhook.delete': [404, 'WEBHOOK_NOT_FOUND'],
          'consumerContract.delete': [404, 'CONTRACT_NOT_FOUND'],
          'apiKey.rotate': [403, 'API_KEY_ENDED'],
        }[id as string];
        if (refusal) {
          expect([anew.status, reasonOf(anew), await records()]).toEqual([...refusal, before]);
          return;
        }
        expect([anew.status, isReplay(anew), await records()]).toEqual([200, false, before]);
        now = new Date(now.getTime() + HOUR_MS);
        const again = await send();
        expect([isReplay(again), JSON.stringify(again.body)]).toEqual([true, repetitionOf(JSON.stringify(anew.body))]);
      } finally {
        now = start;
      }
    });

    // Two connections of each instance meet as well as twenty-five do; one operation shows a crowd.
    const many = id === 'game.create' ? 50 : 8;

    test(`of ${many} at once is done once`, async () => {
      const input = await anInput(app, operation, user);
      const value = randomUUID();
      const before = await records();
      const replies = await Promise.all(
        Array.from({ length: many }, (_, index) =>
          [app, other][index % 2]!.send(id, input, user.key, repeating(value)),
        ),
      );
      await expectDoneOnce(replies);
      expect(await records()).toBe(before + 1);
      const last = await app.send(id, input, user.key, repeating(value));
      const done = replies.find(({ status }) => status === 200)!;
      expect([isReplay(last), JSON.stringify(last.body)]).toEqual([true, repetitionOf(JSON.stringify(done.body))]);
    });
  });

  /** The same members, the last one first, at any depth. */
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([name, member]) => [name, reversed(member)]),
    );
  };

  /** Another input that is as good: without a member that may be left out, else for another record. */
  const anotherInput = async (operation: Write, input: Record<string, unknown>): Promise<Record<string, unknown>> => {
    if ('scopes' in input) return { ...input, name: 'another' };
    if ('url' in input) return { url: 'https://hooks.example.com/another' };
    if ('games' in input) return { games: [{ title: 'another' }] };
    if ('posts' in input) return { posts: [{ title: 'another', images: ['https://images.example.com/2.webp'] }] };
    const { description, bio, ...rest } = input;
    return description === undefined && bio === undefined ? anInput(app, operation, user) : rest;
  };

  /** One of the replies is the first, the others are the same, or say that it is not ready. */
  const expectDoneOnce = async (replies: readonly Reply[]): Promise<void> => {
    const done = replies.filter(({ status }) => status === 200);
    expect(new Set(done.map(({ body }) => repetitionOf(JSON.stringify(body)))).size).toBe(1);
    expect(done.filter((reply) => !isReplay(reply))).toHaveLength(1);
    for (const reply of replies) {
      if (reply.status === 200) continue;
      expect([reply.status, reasonOf(reply)]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
      expect(reply.headers).toMatchObject({ 'retry-after': '1', 'x-should-retry': 'true' });
    }
  };

  test('a value is 1 to 255 characters of visible ASCII, and nothing else', async () => {
    const send = (value: string) => app.send('game.create', { title: 'a game' }, user.key, repeating(value));
    for (const value of ['', 'é', 'k'.repeat(256), 'a\tb']) {
      const refused = await send(value);
      expect([refused.status, reasonOf(refused)]).toEqual([400, 'IDEMPOTENCY_KEY_INVALID']);
    }
    for (const value of ['!', '~', '"quoted"', 'with  spaces', 'k'.repeat(255)]) {
      expect((await send(value)).status).toBe(200);
    }
    for (const operation of writes) {
      const refused = await app.send(operation.id, await anInput(app, operation, user), user.key, repeating('a\tb'));
      expect([operation.id, reasonOf(refused)]).toEqual([operation.id, 'IDEMPOTENCY_KEY_INVALID']);
    }
  });

  test('one value stands for a call of each operation', async () => {
    const value = randomUUID();
    for (const operation of writes) {
      const reply = await app.send(operation.id, await anInput(app, operation, user), user.key, repeating(value));
      expect([reply.status, isReplay(reply)]).toEqual([200, false]);
    }
  });

  test('a read takes any value, and stores nothing', async () => {
    const before = await records();
    const { id } = await app.aGame({}, user);
    for (const value of ['', 'k'.repeat(300), 'same']) {
      for (const [name, input] of [
        ['game.getById', { id }],
        ['user.me', {}],
        ['game.list', { limit: 1, page: 1 }],
      ] as const) {
        const reply = await app.send(name, input, user.key, repeating(value));
        expect([reply.status, isReplay(reply)]).toEqual([200, false]);
      }
    }
    expect(await records()).toBe(before);
  });

  test('a call without a value stores none', async () => {
    const before = await records();
    const [one, two] = [await app.aGame({}, user), await app.aGame({}, user)];
    expect(one.id).not.toBe(two.id);
    expect(await records()).toBe(before);
  });

  test('an answer of several megabytes is repeated to the letter', async () => {
    const description = '星'.repeat(5000);
    const extraInfo = {
      screenshots: Array.from({ length: 12 }, (_, n) => `https://images.example.com/${n}/${'x'.repeat(1900)}`),
    };
    const games = Array.from({ length: 100 }, (_, n) => ({ title: `large ${n}`, description, extraInfo }));
    const value = randomUUID();
    const first = await app.send('game.batchCreate', { games }, user.key, repeating(value));
    expect(first.status).toBe(200);
    expect(Number(first.headers['content-length'])).toBeGreaterThan(3_500_000);
    const again = await other.send('game.batchCreate', { games }, user.key, repeating(value));
    expect([again.status, isReplay(again)]).toEqual([200, true]);
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body));
  });

  test('only a key that may still write repeats anything', async () => {
    const start = now;
    try {
      const guest = await app.aUser({ expiresAt: new Date(now.getTime() + HOUR_MS) });
      const send = (key?: string) => app.send('game.create', { title: 'a game' }, key, repeating('guest'));
      const first = await send(guest.key);
      expect([isReplay(await send(guest.key)), first.status]).toEqual([true, 200]);
      now = new Date(now.getTime() + HOUR_MS);
      expect(reasonOf(await send(guest.key))).toBe('KEY_EXPIRED');
      expect(reasonOf(await send((await app.aUser({ scopes: ['user:read'] })).key))).toBe('SCOPE_MISSING');
      expect(reasonOf(await send())).toBe('KEY_MISSING');
    } finally {
      now = start;
    }
  });

  describe('toggles of one game that meet', () => {
    const toggle = (instance: TestApp, gameId: string, by: TestUser, value: string) =>
      instance.send('game.toggleFavorite', { gameId }, by.key, repeating(value));

    test('are done once each, those that were done before among them', async () => {
      const { id: gameId } = await app.aGame({}, user);
      const fans = await Promise.all(Array.from({ length: 20 }, () => app.aUser()));
      const early = await Promise.all(fans.slice(0, 5).map((fan) => toggle(app, gameId, fan, 'early')));
      const replies = await Promise.all(
        fans.flatMap((fan, index) => [
          // Five repetitions, fifteen new ones, all of them a second time at once, and a stranger without a value.
          toggle([app, other][index % 2]!, gameId, fan, 'early'),
          toggle([app, other][index % 2]!, gameId, fan, 'early'),
          app.send('game.toggleReaction', { gameId, type: 'like' }, fan.key),
        ]),
      );
      const toggles = replies.filter((_, index) => index % 3 < 2);
      for (const [index, { body }] of early.entries()) {
        for (const reply of toggles.slice(2 * index, 2 * index + 2)) {
          expect([200, 409]).toContain(reply.status);
          if (reply.status === 200) expect([isReplay(reply), reply.body]).toEqual([true, body]);
        }
      }
      expect(await app.call('game.getById', { id: gameId })).toMatchObject({ favoriteCount: 20, likeCount: 20 });
      const again = await Promise.all(fans.map((fan) => toggle(other, gameId, fan, 'early')));
      expect(again.map(isReplay)).toEqual(fans.map(() => true));
      const counts = again.map((reply) => outputOf(reply).favoriteCount).toSorted((a, b) => a - b);
      expect(counts).toEqual(fans.map((_, index) => index + 1));
    });

    test('are done though one of them is refused for its input', async () => {
      const [{ id: one }, { id: two }] = [await app.aGame({}, user), await app.aGame({}, user)];
      const fans = await Promise.all(Array.from({ length: 6 }, () => app.aUser()));
      await toggle(app, one, fans[0]!, 'mixed');
      const replies = await Promise.all(fans.map((fan) => toggle(app, two, fan, 'mixed')));
      expect(replies.map(({ status }) => status)).toEqual([422, 200, 200, 200, 200, 200]);
      expect(await app.call('game.getById', { id: two })).toMatchObject({ favoriteCount: 5 });
    });

    test('alternate with different values', async () => {
      const { id: gameId } = await app.aGame({}, user);
      const values = Array.from({ length: 30 }, () => randomUUID());
      const send = (value: string, index: number) => toggle([app, other][index % 2]!, gameId, user, value);
      const first = await Promise.all(values.map(send));
      expect(first.filter((reply) => outputOf(reply).favorited)).toHaveLength(15);
      const again = await Promise.all(values.map(send));
      expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
      expect(await app.call('game.getById', { id: gameId }, user.key)).toMatchObject({ favoriteCount: 0 });
    });
  });

  describe('a batch of calls', () => {
    const batch = async (calls: readonly [ProcedureId, unknown][], value: string, instance = app) => {
      const body = Object.fromEntries(calls.map(([, input], index) => [index, { json: input }]));
      return instance.http
        .post(`/api/trpc/${calls.map(([id]) => id).join(',')}?batch=1`)
        .set({ 'Content-Type': 'application/json', Authorization: `Bearer ${user.key}`, ...repeating(value) })
        .send(body);
    };

    test('is repeated call by call, equal ones by their places', async () => {
      const { id: gameId } = await app.aGame({}, user);
      const create = { title: 'one of a batch' };
      const calls: [ProcedureId, unknown][] = [
        ['game.create', create],
        ['game.create', create],
        ['game.toggleFavorite', { gameId }],
        ['game.list', { limit: 1, page: 1, sortBy: 'oldest' }],
      ];
      const first = await batch(calls, 'batch');
      expect([first.status, first.headers['idempotency-replayed']]).toEqual([200, undefined]);
      const ids = first.body.map((one: Reply['body']) => one.result.data.json.id);
      expect(ids[0]).not.toBe(ids[1]);
      for (const instance of [app, other]) {
        const again = await batch(calls, 'batch', instance);
        expect([again.status, again.headers['idempotency-replayed']]).toEqual([200, 'true']);
        expect(again.body.slice(0, 3)).toEqual(first.body.slice(0, 3));
      }
      expect(await app.call('game.getById', { id: gameId })).toMatchObject({ favoriteCount: 1 });
    });

    test('of one call is that call', async () => {
      const value = randomUUID();
      const first = await app.send('game.create', { title: 'alone' }, user.key, repeating(value));
      const again = await batch([['game.create', { title: 'alone' }]], value);
      expect([again.headers['idempotency-replayed'], again.body]).toEqual(['true', [first.body]]);
    });

    test('has each call refused by itself', async () => {
      const value = randomUUID();
      await batch(
        [
          ['game.create', { title: 'a' }],
          ['game.create', { title: 'b' }],
        ],
        value,
      );
      const again = await batch(
        [
          ['game.create', { title: 'a' }],
          ['game.create', { title: 'c' }],
        ],
        value,
      );
      expect([again.status, again.headers['idempotency-replayed']]).toEqual([207, 'true']);
      expect(again.body[1].error.json.data.reason).toBe('IDEMPOTENCY_MISMATCH');
      const invalid = await batch(
        [
          ['game.create', { title: 'a' }],
          ['user.me', {}],
        ],
        'é',
      );
      expect(invalid.status).toBe(207);
      expect(invalid.body[0].error.json.data.reason).toBe('IDEMPOTENCY_KEY_INVALID');
    });
  });
});
