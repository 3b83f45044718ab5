/**
 * @engines sqlite
 * @tier fast
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { procedures } from '../../contract/index.ts';
import { fill } from '../harness/app/overload.ts';
import { startApp } from '../harness/app/app.ts';

const READERS = 8;
const ROUNDS = 10;

const app = await startApp();
describe('shared reads', () => {
  afterAll(() => app.stop());

  test('no answer is older than its request, however many ask the same', async () => {
    const author = await app.aUser();
    const list = { limit: 3, page: 1, gameType: 'SHARED' };
    let asking = true;
    const crowd = Array.from({ length: READERS }, async () => {
      while (asking) await app.call('game.list', list);
    });
    const seen: (string | undefined)[][] = [];
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id } = await app.aGame({ gameType: 'SHARED' }, author);
        const pages = await Promise.all([1, 2, 3].map(() => app.call('game.list', list)));
        seen.push([id, ...pages.map(({ items }) => items[0]?.id)]);
      }
    } finally {
      asking = false;
      await Promise.all(crowd);
    }
    expect(seen.filter(([id, ...latest]) => latest.some((one) => one !== id))).toEqual([]);
    expect(seen).toHaveLength(ROUNDS);
  });

  test('callers with keys share no answer, which holds their own favorites', async () => {
    const [fan, other] = [await app.aUser(), await app.aUser()];
    const { id: gameId } = await app.aGame({ gameType: 'OWN' }, other);
    await app.call('game.toggleFavorite', { gameId }, fan.key);
    const askAs = async ({ key }: typeof fan) =>
      (await app.call('game.list', { limit: 1, page: 1, gameType: 'OWN' }, key)).items[0]?.viewer?.favorited;
    const pairs = Array.from({ length: 16 }, () => Promise.all([askAs(fan), askAs(other)]));
    expect(await Promise.all(pairs)).toEqual(pairs.map(() => [true, false]));
  });

  test('a long call shares no answer with one whose body is its digest', async () => {
    const text = JSON.stringify({ json: { limit: 3, page: 1 } }) + ' '.repeat(300);
    const list = procedures.find(({ id }) => id === 'game.list')!;
    const limiter = app.context.protection.overload.limiterFor(list, 'read');
    const post = (body: string): Promise<Response> =>
      fetch(`${app.url}/api/trpc/game.list`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
    // Whoever comes now waits, and takes the answer to what waits under the same key.
    let end!: () => void;
    const crowd = fill(limiter, new Promise<void>((resolve) => (end = resolve)));
    const attacks = ['base64', 'base64url', 'hex'] as const;
    const attackers = attacks.map((form) => post(createHash('sha256').update(text).digest(form)));
    await sleep(200);
    const victims = [post(text), post(text)];
    await sleep(200);
    end();
    await crowd;
    const statuses = async (replies: Promise<Response>[]) => (await Promise.all(replies)).map(({ status }) => status);
    expect(await statuses(attackers)).toEqual([400, 400, 400]);
    expect(await statuses(victims)).toEqual([200, 200]);
  });
});
