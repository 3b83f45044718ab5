/**
 * @engines sqlite server
 * @tier long
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DAILY_KEPT_ANSWERS } from '../../../contract/index.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { expectExactCounts } from '../../harness/app/counts.ts';
import { isReplay, repeating } from '../../harness/documents/repeating.ts';

// The answers to changes that are kept for repetitions: how much of them a key may have kept in a day, whatever its rates.

let app: TestApp;
let now: Date;
let user: TestUser;
describe('kept answers', () => {
  beforeEach(async () => {
    now = new Date('2026-04-01T21:30:00.000Z');
    // Rates are off, as behind a proxy that has its own.
    app = await startApp({ now: () => now });
    user = await app.aUser();
  });
  afterEach(() => app.stop());

  const kept = async (): Promise<{ n: number; bytes: number }> => {
    const [row] = await app.context.db.read<{ n: number; bytes: number }>(
      'SELECT COUNT(*) AS n, COALESCE(SUM(LENGTH(answer)), 0) AS bytes FROM idempotency_records',
    );
    return { n: Number(row?.n), bytes: Number(row?.bytes) };
  };
  /** Has the key have had so many bytes kept today. */
  const use = (bytes: number): Promise<unknown> =>
    app.context.db.transaction((tx) => tx.execute("UPDATE key_quotas SET n = ? WHERE what = 'answers'", [bytes]));
  const counted = async (): Promise<number | undefined> => {
    const [row] = await app.context.db.read<{ n: number }>("SELECT n FROM key_quotas WHERE what = 'answers'");
    return row?.n;
  };
  const images = Array.from({ length: 100 }, (_, n) => `https://images.example.com/${n}/${'x'.repeat(1900)}`);
  const twice = async (
    id: 'image.update' | 'user.updateProfile' | 'user.updateAvatar' | 'webhook.update',
    input: object,
  ) => {
    const header = repeating(randomUUID());
    const first = await app.send(id, input, user.key, header);
    const again = await app.send(id, input, user.key, header);
    expect([first.status, isReplay(first), again.status, isReplay(again)]).toEqual([200, false, 200, true]);
    return [first.body, again.body] as const;
  };

  test('kept answers take up so many bytes in a day, however often a large post is changed', async () => {
    const post = await app.anImagePost({ images }, user);
    await twice('image.update', { id: post.id, title: 'first' });
    // As if earlier calls had taken up the rest.
    const taken = DAILY_KEPT_ANSWERS - 2_000_000;
    await use(taken);
    const first = await kept();
    const calls = 20;
    for (let n = 0; n < calls; n += 1) {
      const sent = app.send('image.update', { id: post.id, title: `${n}` }, user.key, repeating(randomUUID()));
      expect((await sent).status).toBe(200);
    }
    const all = await kept();
    expect(all.n).toBe(first.n + calls);
    const bytes = taken + all.bytes - first.bytes;
    expect(bytes).toBeLessThanOrEqual(DAILY_KEPT_ANSWERS);
    expect(bytes).toBeGreaterThan(DAILY_KEPT_ANSWERS - 400_000);
    expect(await counted()).toBe(bytes);
  });

  test('beyond that, they are what is stored when the change is repeated, and nothing is done twice', async () => {
    const post = await app.anImagePost({ images }, user);
    const [first, again] = await twice('image.update', { id: post.id, title: 'within' });
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
    const webhook = await app.call('webhook.create', { url: 'https://hooks.example.com/content' }, user.key);
    await use(DAILY_KEPT_ANSWERS - 10);
    const before = (await kept()).bytes;

    const header = repeating(randomUUID());
    const input = { id: post.id, title: 'beyond', tagNames: ['new'] };
    const done = await app.send('image.update', input, user.key, header);
    now = new Date(now.getTime() + 60_000);
    const same = await app.send('image.update', input, user.key, header);
    expect([same.status, isReplay(same), same.body]).toEqual([200, true, done.body]);
    await app.call('image.update', { id: post.id, title: 'later' }, user.key);
    const later = await app.send('image.update', input, user.key, header);
    expect([isReplay(later), later.body.result.data.json.title]).toEqual([true, 'later']);
    const other = await app.send('image.update', { ...input, title: 'other' }, user.key, header);
    expect([other.status, other.body.error.json.data.reason]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    await twice('user.updateProfile', { bio: 'beyond' });
    await twice('user.updateAvatar', { avatar: '/beyond.png' });
    await twice('webhook.update', { id: webhook.id, types: ['game.created'] });
    expect([(await kept()).bytes, await counted()]).toEqual([before, DAILY_KEPT_ANSWERS - 10]);

    // What publishes records has its answers kept all the same.
    const [posts, game] = [{ posts: [{ title: 'x', images }] }, { title: 'x' }];
    for (const [id, published] of [
      ['image.batchCreate', posts],
      ['game.create', game],
    ] as const) {
      const key = repeating(randomUUID());
      const created = await app.send(id, published, user.key, key);
      expect((await app.send(id, published, user.key, key)).body).toEqual(created.body);
    }
    now = new Date('2026-04-02T00:00:00.000Z');
    await twice('image.update', { id: post.id, title: 'tomorrow' });
    expect(await counted()).toBeGreaterThan(images.join('').length);
    await expectExactCounts(app.context.db);
  });

  test('the counted bytes are those stored, also when many change at once', async () => {
    const posts = await Promise.all(Array.from({ length: 8 }, () => app.anImagePost({ images }, user)));
    await twice('image.update', { id: posts[0]!.id, title: 'first' });
    await use(DAILY_KEPT_ANSWERS - 600_000);
    const sent = posts.map(({ id }) =>
      app.send('image.update', { id, title: 'at once' }, user.key, repeating(randomUUID())),
    );
    const answers = await Promise.all(sent);
    expect(answers.map(({ status, body }) => (status === 200 ? status : body.error.json.data.reason))).toEqual(
      posts.map(() => 200),
    );
    const [row] = await app.context.db.read<{ n: number }>(
      "SELECT COUNT(*) AS n FROM idempotency_records WHERE answer <> ''",
    );
    expect(Number(row?.n)).toBe(1 + 3);
    expect(await counted()).toBeGreaterThan(DAILY_KEPT_ANSWERS - 100_000);
  });
});
