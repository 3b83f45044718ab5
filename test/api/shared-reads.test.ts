import { afterAll, expect, test } from '@jest/globals';
import { startApp } from '../support/app.ts';

const READERS = 8;
const ROUNDS = 10;

const app = await startApp();
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
