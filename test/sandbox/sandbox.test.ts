/**
 * @engines none
 * @tier long
 */
import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { timeRangeDays } from '../../contract/index.ts';
import { NOW, type Sandbox, startSandbox } from '../harness/app/sandbox.ts';
import type { Catalogue } from '../../src/sandbox/catalogue.ts';
import { guestImagePost, sandboxGuest, sandboxKeys } from '../../src/sandbox/sandbox.ts';

const REFERENCE = '2026-11-20T10:00:00.000Z';

let sandbox: Sandbox;
describe('sandbox', () => {
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.stop());

  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
  /** A key by its name. */
  const keyNamed = (wanted: string): string => sandboxKeys.find(({ name }) => name === wanted)?.key ?? '';
  const all = bearer(keyNamed('all scopes'));
  const reasonOf = (body: unknown) =>
    (body as { error: { json: { data: { reason: string } } } }).error.json.data.reason;

  /** What a successful reply holds. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it as they please
  const dataOf = (body: unknown): any => (body as { result: { data: { json: unknown } } }).result.data.json;

  /** How many games have this title in a space. */
  const countOf = async (title: string, headers: Record<string, string> = {}, of = sandbox): Promise<number> => {
    const { body } = await of.call('game.list', { limit: 1, page: 1, search: title }, headers);
    return dataOf(body).total;
  };

  describe('the data', () => {
    test('is the same in two sandboxes, the ids of the keys included', async () => {
      const other = await startSandbox();
      try {
        for (const [id, input] of [
          ['game.list', { limit: 100, page: 3 }],
          ['image.list', { limit: 100, page: 1, sortBy: 'views' }],
          ['game.getTypeStats', {}],
          ['user.me', {}],
        ] as const) {
          expect((await other.call(id, input, all)).body).toEqual((await sandbox.call(id, input, all)).body);
        }
      } finally {
        await other.stop();
      }
    });

    test('has records in each time range, and more in each longer one, as the catalogue says', async () => {
      const { timeRanges, reference } = await sandbox.catalogue();
      expect(reference).toBe(REFERENCE);
      const totals: number[] = [];
      for (const timeRange of ['day', 'week', 'month', 'year', 'all']) {
        const { body } = await sandbox.call(
          'game.list',
          { limit: 1, page: 1, timeRange },
          { 'X-Sandbox-Space': 'ranges' },
        );
        totals.push(dataOf(body).total);
      }
      expect(totals.every((total, index) => total > (totals[index - 1] ?? 0))).toBe(true);
      // Twenty minutes have passed since the reference.
      expect(Math.abs((totals[0] ?? 0) - timeRanges.games.day)).toBeLessThanOrEqual(1);
      expect(totals.at(-1)).toBe(timeRanges.games.all);
      const posts = Object.values(timeRanges.imagePosts);
      expect(posts.every((count, index) => count > (posts[index - 1] ?? 0))).toBe(true);
    });

    test('is found by tag and time range, whatever the ids say of time, what is new too', async () => {
      const headers = { ...all, 'X-Sandbox-Space': 'tags' };
      const tag = 'ファンタジー';
      await sandbox.call('game.create', { title: 'new', tagNames: [tag] }, headers);
      const list = async (
        page: number,
        timeRange: string,
      ): Promise<{ items: { createdAt: string }[]; total: number }> =>
        dataOf((await sandbox.call('game.list', { limit: 100, page, timeRange, tagSlugs: [tag] }, headers)).body);
      const games = [...(await list(1, 'all')).items, ...(await list(2, 'all')).items];
      expect(games.length).toBe((await list(1, 'all')).total);
      for (const [timeRange, days] of Object.entries(timeRangeDays)) {
        const since = NOW.getTime() - days * 24 * 3_600_000;
        const expected = games.filter(({ createdAt }) => Date.parse(createdAt) >= since);
        const { items, total } = await list(1, timeRange);
        expect([timeRange, total]).toEqual([timeRange, expected.length]);
        expect(items).toEqual(expected.slice(0, 100));
      }
    });

    test('keeps its ids and order, dated anew, when a space is made half a day later', async () => {
      const later = await startSandbox();
      try {
        const list = async (): Promise<{ id: string; createdAt: string }[]> => {
          const { body } = await later.call('game.list', { limit: 100, page: 1 });
          return dataOf(body).items;
        };
        const before = await list();
        later.time.now = new Date(NOW.getTime() + 13 * 3_600_000);
        expect((await list())[0]?.createdAt).toBe(before[0]?.createdAt);
        await later.reset();
        const after = await list();
        expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
        const passed = Date.parse(after[0]?.createdAt ?? '') - Date.parse(before[0]?.createdAt ?? '');
        expect(passed).toBe(13 * 3_600_000);
      } finally {
        await later.stop();
      }
    });

    test('belongs to two users: what is one’s, the other may not change', async () => {
      const [mine, others] = [bearer(keyNamed('guest, all scopes')), all];
      const { body } = await sandbox.call('user.me', {}, mine);
      expect(dataOf(body)).toMatchObject({ id: sandboxGuest.id, gameCount: 1, imagePostCount: 1 });
      const change = { id: guestImagePost.id, title: 'Harbour at night' };
      expect((await sandbox.call('image.update', change, { ...others, 'X-Sandbox-Space': 'owners' })).status).toBe(403);
      expect((await sandbox.call('image.update', change, { ...mine, 'X-Sandbox-Space': 'owners' })).status).toBe(200);
    });

    test('refuses the key that has expired and the one that was revoked, each for its reason', async () => {
      for (const ended of ['expired', 'revoked']) {
        const { status, body } = await sandbox.call('user.me', {}, bearer(keyNamed(ended)));
        expect([status, reasonOf(body)]).toEqual([401, `KEY_${ended.toUpperCase()}`]);
      }
    });
  });

  describe('a reset', () => {
    test('puts back what was changed, and forgets what may be repeated', async () => {
      const repeatable = { ...all, 'Idempotency-Key': 'once' };
      const create = () => sandbox.call('game.create', { title: 'soon gone' }, repeatable);
      const first = await create();
      expect((await create()).headers.get('idempotency-replayed')).toBe('true');
      expect(await countOf('soon gone')).toBe(1);

      await sandbox.reset();
      expect(await countOf('soon gone')).toBe(0);
      const again = await create();
      expect(again.headers.get('idempotency-replayed')).toBeNull();
      expect(dataOf(again.body).id).not.toBe(dataOf(first.body).id);
      await sandbox.reset();
      const { games, counts } = await sandbox.catalogue();
      const { body } = await sandbox.call('game.list', { limit: 100, page: 1 });
      const { items, total } = dataOf(body) as { items: { id: string }[]; total: number };
      expect(total).toBe(counts.games);
      expect(items.map(({ id }) => id)).toEqual(games.slice(0, 100).map(({ id }) => id));
    });

    test('lets those finish who came before', async () => {
      const space = { 'X-Sandbox-Space': 'slow' };
      const slow = sandbox.call(
        'game.create',
        { title: 'late' },
        { ...all, ...space, 'X-Sandbox-Fault': 'after=delay;ms=300' },
      );
      while ((await countOf('late', space)) === 0);
      await sandbox.reset(space);
      expect(await countOf('late', space)).toBe(0);
      expect((await slow).status).toBe(200);
    });

    test('leaves no listener behind that would keep the space in memory', async () => {
      const space = { 'X-Sandbox-Space': 'brief' };
      const listeners = getEventListeners(sandbox.stopping, 'abort').length;
      for (let count = 0; count < 3; count += 1) {
        await sandbox.call('game.getTypeStats', {}, space);
        await sandbox.reset(space);
      }
      expect(getEventListeners(sandbox.stopping, 'abort')).toHaveLength(listeners);
    });

    test('the catalogue is a page for browsers, and JSON for all else', async () => {
      const get = async (accept: string) => {
        const reply = await fetch(`${sandbox.url}/sandbox`, { headers: { Accept: accept } });
        expect([reply.status, reply.headers.get('vary'), reply.headers.get('cache-control')]).toEqual([
          200,
          expect.stringContaining('Accept'),
          'no-store',
        ]);
        return { reply, text: await reply.text() };
      };
      const { reply, text } = await get('text/html,application/xhtml+xml,*/*;q=0.8');
      expect(reply.headers.get('content-security-policy')).toMatch(/^default-src 'none';/);
      for (const { key } of sandboxKeys) expect(text).toContain(`<code>${key}</code>`);
      const [newest] = (JSON.parse((await get('*/*')).text) as Catalogue).games;
      expect(text).toContain(`<code>${newest!.id}</code>`);
      expect(text).toContain('<code>X-Sandbox-Fault</code>');
      expect(JSON.parse((await get('application/json')).text)).toMatchObject({ seed: null });
    });

    test('takes POST alone, as the catalogue takes GET', async () => {
      for (const [path, method, allowed] of [
        ['/sandbox/reset', 'GET', 'POST'],
        ['/sandbox', 'POST', 'GET, HEAD'],
      ] as const) {
        const response = await fetch(`${sandbox.url}${path}`, { method });
        expect([response.status, response.headers.get('allow')]).toEqual([405, allowed]);
      }
    });
  });

  describe('private spaces', () => {
    test('fifty at once do not meet, whatever they do, nor does a reset of one touch another', async () => {
      const names = Array.from({ length: 50 }, (_, index) => `job-${index}`);
      const space = (name: string) => ({ 'X-Sandbox-Space': name });
      await Promise.all(
        names.map(async (name, index) => {
          const titles = Array.from({ length: 1 + (index % 3) }, (_, n) => ({ title: `meeting ${n}` }));
          const headers = { ...all, ...space(name), 'Idempotency-Key': 'the same in all' };
          const { status, headers: replied } = await sandbox.call('game.batchCreate', { games: titles }, headers);
          expect([status, replied.get('idempotency-replayed')]).toEqual([200, null]);
        }),
      );
      await Promise.all(names.filter((_, index) => index % 2 === 1).map((name) => sandbox.reset(space(name))));
      const counts = await Promise.all(names.map((name) => countOf('meeting', space(name))));
      expect(counts).toEqual(names.map((_, index) => (index % 2 === 1 ? 0 : 1 + (index % 3))));
      expect(await countOf('meeting')).toBe(0);
    });

    test('hold for batches and for reads by GET, too', async () => {
      const headers = { 'X-Sandbox-Space': 'doors', 'Content-Type': 'application/json', ...all };
      const batch = await fetch(`${sandbox.url}/api/trpc/game.create,game.create?batch=1`, {
        method: 'POST',
        headers,
        body: '{"0":{"json":{"title":"by batch"}},"1":{"json":{"title":"by batch"}}}',
      });
      expect(batch.status).toBe(200);
      const input = encodeURIComponent('{"json":{"limit":1,"page":1,"search":"by batch"}}');
      const totals = await Promise.all(
        [headers, {}].map(async (sent) => {
          const response = await fetch(`${sandbox.url}/api/trpc/game.list?input=${input}`, { headers: sent });
          return dataOf(await response.json()).total;
        }),
      );
      expect(totals).toEqual([2, 0]);
    });

    test('are dropped, the one unused for longest first, when there are too many', async () => {
      const other = await startSandbox({ most: 3 });
      try {
        const space = (name: string) => ({ 'X-Sandbox-Space': name });
        const create = (name: string) => other.call('game.create', { title: 'kept' }, { ...all, ...space(name) });
        const kept = (name: string) => countOf('kept', space(name), other);
        for (const name of ['first', 'second', 'third']) await create(name);
        expect(await kept('first')).toBe(1);
        await create('fourth');
        expect([await kept('first'), await kept('third'), await kept('fourth')]).toEqual([1, 1, 1]);
        expect(await kept('second')).toBe(0);
      } finally {
        await other.stop();
      }
    });

    test('are refused beyond so many with a call in them, and had again when one has ended', async () => {
      const other = await startSandbox({ most: 3 });
      try {
        const space = (name: string) => ({ 'X-Sandbox-Space': name });
        const occupy = (name?: string) =>
          other.call(
            'game.create',
            { title: 'busy' },
            { ...all, 'X-Sandbox-Fault': 'after=delay;ms=1500', ...(name && space(name)) },
          );
        const whole = async (name: string) => {
          const { status, body } = await other.call('game.list', { limit: 1, page: 1 }, space(name));
          return status === 200 ? 200 : [status, reasonOf(body)];
        };
        const calls = ['first', 'second'].map(occupy);
        // The space of those who name none is another one after a reset; this one lives on, for as long as its call takes.
        calls.push(occupy());
        while ((await countOf('busy', {}, other)) === 0);
        await other.reset();
        expect(await whole('fourth')).toEqual([503, 'OVERLOADED']);
        expect(await whole('first')).toBe(200);
        expect(await countOf('busy', {}, other)).toBe(0);
        await Promise.all(calls);
        expect(await whole('fourth')).toBe(200);
        expect(await countOf('busy', space('second'), other)).toBe(1);
      } finally {
        await other.stop();
      }
    });

    test('that only wait, before anything is done, are not counted', async () => {
      const other = await startSandbox({ most: 1 });
      try {
        const call = (name: string, fault: string) =>
          other.call('game.getTypeStats', {}, { 'X-Sandbox-Space': name, 'X-Sandbox-Fault': fault });
        const first = call('first', 'before=delay;ms=1500');
        await sleep(500);
        expect((await call('second', 'before=delay;ms=0')).status).toBe(200);
        expect((await first).status).toBe(200);
      } finally {
        await other.stop();
      }
    });

    test('are dropped when nobody uses them', async () => {
      const idleMs = 200;
      const other = await startSandbox({ idleMs });
      try {
        const headers = { ...all, 'X-Sandbox-Space': 'idle' };
        await other.call('game.create', { title: 'idle' }, headers);
        await sleep(2 * idleMs);
        expect(await countOf('idle', headers, other)).toBe(0);
      } finally {
        await other.stop();
      }
    });

    test.each(['', 'a b', 'x'.repeat(65), 'a, b'])('are not named "%s"', async (name) => {
      const { status, body } = await sandbox.call('game.getTypeStats', {}, { 'X-Sandbox-Space': name });
      expect([status, reasonOf(body)]).toEqual([400, 'BAD_HTTP_REQUEST']);
    });
  });

  test.each(sandboxKeys.map(({ name, ...key }) => ({ name, ...key })))(
    'the key of $name has its scopes',
    async (known) => {
      const allowed = {
        'content:write': (await sandbox.call('game.create', { title: 'x' }, bearer(known.key))).status,
        'user:read': (await sandbox.call('user.me', {}, bearer(known.key))).status,
        'user:write': (await sandbox.call('user.updateAvatar', { avatar: '/x.png' }, bearer(known.key))).status,
      };
      const expected = Object.fromEntries(
        Object.keys(allowed).map((scope) => [
          scope,
          known.ended ? 401 : known.scopes.some((one) => one === scope) ? 200 : 403,
        ]),
      );
      expect(allowed).toEqual(expected);
    },
  );

  describe('a request that asks for a fault', () => {
    test.each([
      [429, 'RATE_LIMITED'],
      [500, 'INTERNAL'],
      [503, 'OVERLOADED'],
    ])('of status %i gets it, and nothing is done', async (asked, reason) => {
      const title = `never stored ${asked}`;
      const { status, headers, body } = await sandbox.call(
        'game.create',
        { title },
        { ...bearer(sandboxKeys[0]?.key ?? ''), 'X-Sandbox-Status': String(asked) },
      );
      expect([status, reasonOf(body)]).toEqual([asked, reason]);
      expect(headers.get('retry-after') ?? '').toMatch(asked === 500 ? /^$/ : /^[1-3]$/);
      expect((await sandbox.call('game.list', { limit: 1, page: 1, search: title })).body).toMatchObject({
        result: { data: { json: { total: 0 } } },
      });
    });

    test('of a delay waits as long', async () => {
      const started = performance.now();
      const { status } = await sandbox.call('game.getTypeStats', {}, { 'X-Sandbox-Delay': '300' });
      expect(status).toBe(200);
      expect(performance.now() - started).toBeGreaterThanOrEqual(295);
    });

    test.each<readonly [string, string]>([
      ['X-Sandbox-Status', '418'],
      ['X-Sandbox-Status', 'toString'],
      ['X-Sandbox-Delay', '-1'],
      ['X-Sandbox-Delay', '30001'],
      ['X-Sandbox-Name', 'two words'],
      ...[
        '',
        'before',
        'during=503',
        'before=418',
        'before=toString',
        'constructor=name',
        'after=429',
        'body=503',
        'before=delay',
        'before=503;ms=5',
        'before=reset;retry-after=1',
        'before=delay;ms=30001',
        'before=503;times=0;retry-after=1',
        'before=503;times=1;times=1',
        'before=503;often=1',
        'before=503, after=reset',
        'before=503;times=1,',
      ].map((fault) => ['X-Sandbox-Fault', fault] as const),
      // Whose attempts?
      ['X-Sandbox-Fault', 'before=503;times=1'],
    ])('that it cannot have is told so: %s: %s', async (name, value) => {
      const { status, body } = await sandbox.call('game.getTypeStats', {}, { [name]: value });
      expect([status, reasonOf(body)]).toEqual([400, 'BAD_HTTP_REQUEST']);
    });

    test.each(['reset', '500', '502', '503', '504'])('%s after it was done has done it once', async (what) => {
      const headers = {
        ...all,
        'X-Sandbox-Space': `after-${what}`,
        'Idempotency-Key': 'lost',
        'X-Sandbox-Fault': `after=${what};times=1`,
      };
      const lost = sandbox.send('game.create', { title: 'unseen' }, headers);
      if (what === 'reset') await expect(lost).rejects.toThrow('fetch failed');
      else expect((await lost).status).toBe(Number(what));
      expect(await countOf('unseen', { 'X-Sandbox-Space': `after-${what}` })).toBe(1);

      const again = await sandbox.call('game.create', { title: 'unseen' }, headers);
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
      expect(await countOf('unseen', { 'X-Sandbox-Space': `after-${what}` })).toBe(1);
    });

    test('says of a write that it may have happened, of a read that it has not', async () => {
      const headers = { ...all, 'X-Sandbox-Space': 'after', 'X-Sandbox-Fault': 'after=503' };
      const written = await sandbox.call('game.create', { title: 'x' }, headers);
      const read = await sandbox.call('game.getTypeStats', {}, headers);
      expect([written, read].map(({ body }) => reasonOf(body))).toEqual(['OUTCOME_UNKNOWN', 'OVERLOADED']);
    });

    test('replaces an answer that is a failure, too', async () => {
      const { status, body } = await sandbox.call('game.getById', { id: 'none' }, { 'X-Sandbox-Fault': 'after=500' });
      expect([status, reasonOf(body)]).toEqual([500, 'INTERNAL']);
    });

    test.each(['reset', 'close'])('of a body that breaks off, by %s, gets part of it', async (what) => {
      const response = await sandbox.send('game.list', { limit: 5, page: 1 }, { 'X-Sandbox-Fault': `body=${what}` });
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow('terminated');
    });

    test('of a body that is cut gets a whole reply of half the text, by POST and by GET', async () => {
      const whole = await (await sandbox.send('game.getTypeStats', {})).text();
      const headers = { 'X-Sandbox-Fault': 'body=truncate' };
      const posted = await sandbox.send('game.getTypeStats', {}, headers);
      const got = await fetch(`${sandbox.url}/api/trpc/game.getTypeStats`, { headers });
      for (const response of [posted, got]) expect(whole.startsWith(await response.text())).toBe(true);
      expect(posted.headers.get('content-length')).toBe(String(Math.floor(Buffer.byteLength(whole) / 2)));
    });

    test.each(['before=delay', 'after=delay', 'body=drip'])('of %s takes as long, and then is whole', async (fault) => {
      const started = performance.now();
      const { status } = await sandbox.call(
        'game.list',
        { limit: 5, page: 1 },
        { 'X-Sandbox-Fault': `${fault};ms=300` },
      );
      expect(status).toBe(200);
      expect(performance.now() - started).toBeGreaterThanOrEqual(290);
    });

    test('attempt by attempt meets one after the other, by its name', async () => {
      const attempt = async (name: string): Promise<number | string> => {
        const headers = {
          'X-Sandbox-Name': name,
          'X-Sandbox-Fault': 'before=429; times=1; retry-after=0, before=reset;times=2 , after=502;times=1',
        };
        try {
          const { status, headers: replied } = await sandbox.send('game.getTypeStats', {}, headers);
          return status === 429 ? `429 after ${replied.get('retry-after')}` : status;
        } catch {
          return 'reset';
        }
      };
      for (const name of ['one', 'two']) {
        const met = [];
        for (let index = 0; index < 6; index += 1) met.push(await attempt(name));
        expect(met).toEqual(['429 after 0', 'reset', 'reset', 502, 200, 200]);
      }
      await sandbox.reset();
      expect(await attempt('one')).toBe('429 after 0');
    });
  });
});
