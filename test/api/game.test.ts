import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp } from '../support/app.ts';

const app = await startApp();
afterAll(() => app.stop());

describe('game.create', () => {
  test('stores what it is given and answers it whole', async () => {
    const author = await app.aUser({ nickname: '花子' });
    const input = {
      title: '伝説の騎士 Ω',
      description: 'Zeile 1\nZeile 2',
      coverUrl: 'https://images.example.com/cover.png?size=2#top',
      gameType: 'rpg',
      isFree: false,
      version: 'Ver1.20',
      tagNames: ['Open World', 'ファンタジー', 'open world'],
      extraInfo: {
        originalName: 'Knights of Legend',
        originalAuthor: '青い丘工房',
        fileSize: '1.5 GB',
        platforms: ['Windows', 'Android'],
        screenshots: ['http://images.example.com/1.png'],
        downloads: [
          { name: 'mirror', url: 'magnet:?xt=urn:btih:abc', password: '秘密' },
          { name: 'direct', url: 'https://files.example.com/a.zip' },
        ],
      },
    };
    const game = await app.call('game.create', input, author.key);
    expect(game).toEqual({
      ...input,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      gameType: 'RPG',
      tags: [
        { name: 'Open World', slug: 'open-world' },
        { name: 'ファンタジー', slug: 'ファンタジー' },
      ],
      tagNames: undefined,
      author: { id: author.id, nickname: '花子', avatar: null },
      viewCount: 0,
      likeCount: 0,
      dislikeCount: 0,
      favoriteCount: 0,
      viewer: { favorited: false, reaction: null },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: game.createdAt,
      extraInfo: {
        ...input.extraInfo,
        downloads: [input.extraInfo.downloads[0], { ...input.extraInfo.downloads[1], password: null }],
      },
    });
    expect(await app.call('game.getById', { id: game.id }, author.key)).toEqual(game);
  });
});
