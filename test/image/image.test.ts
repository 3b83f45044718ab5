/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp } from '../harness/app/app.ts';

// This tests image posts alone: test/content/publishing.test.ts tests what they share with games.

let clock = Date.parse('2026-04-01T12:00:00.000Z');
const app = await startApp({ now: () => new Date(clock) });
afterAll(() => app.stop());

const picture = (n: number) => `https://images.example.com/${n}.webp`;

/** The titles of the posts that have a tag, and their number as the list counts it. */
const tagged = async (slug: string) => {
  const { items, total } = await app.call('image.list', { limit: 100, page: 1, tagSlugs: [slug] });
  expect(total).toBe(items.length);
  return items.map(({ title }) => title);
};

const found = async (search: string) => {
  const { items } = await app.call('image.list', { limit: 100, page: 1, search });
  return items.map(({ title }) => title);
};

describe('image.create', () => {
  test('stores what it is given and answers it whole', async () => {
    const author = await app.aUser({ nickname: 'フォト' });
    const input = {
      title: '雨の路地裏',
      images: [picture(2), picture(1), picture(2)],
      description: 'Zeile 1\nZeile 2',
      tagNames: ['风景', 'Rain!', 'rain'],
    };
    const post = await app.call('image.create', input, author.key);
    expect(post).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      title: input.title,
      images: input.images,
      imageCount: 3,
      description: input.description,
      tags: [
        { name: '风景', slug: '风景' },
        { name: 'Rain!', slug: 'rain' },
      ],
      author: { id: author.id, nickname: 'フォト', avatar: null },
      viewCount: 0,
      likeCount: 0,
      dislikeCount: 0,
      favoriteCount: 0,
      viewer: { favorited: false, reaction: null },
      createdAt: '2026-04-01T12:00:00.000Z',
      updatedAt: '2026-04-01T12:00:00.000Z',
    });
    expect(await app.call('image.getById', { id: post.id }, author.key)).toEqual(post);
  });

  test('needs a title and an image only', async () => {
    const { key } = await app.aUser();
    const post = await app.call('image.create', { title: 'x', images: [picture(1)] }, key);
    expect(post).toMatchObject({ description: null, tags: [] });
  });
});

describe('the images of a post', () => {
  const pictures = (n: number) => Array.from({ length: n }, (_, index) => picture(index));
  const shown = async (id: string, key: string) => {
    const { items } = await app.call('image.list', { limit: 100, page: 1, tagSlugs: ['many-images'] }, key);
    return items.find((item) => item.id === id);
  };

  test.each([1, 3, 4, 5, 100])('are all in the post, the first of %d in lists', async (n) => {
    const author = await app.aUser();
    const images = pictures(n);
    const input = { title: 'x', images, tagNames: ['many images'] };
    // The views that follow may have been counted by then, or not.
    const { description: _, viewCount: __, ...post } = await app.call('image.create', input, author.key);
    expect(post).toMatchObject({ images, imageCount: n });
    const { items } = await app.call('image.batchCreate', { posts: [input] }, author.key);
    expect(items).toMatchObject([{ images, imageCount: n }]);
    for (const { id } of [post, ...items]) {
      expect(await app.call('image.getById', { id })).toMatchObject({ images, imageCount: n });
    }
    const expected = { ...post, viewCount: expect.any(Number), images: images.slice(0, 4) };
    expect(await shown(post.id, author.key)).toEqual(expected);
  });

  test.each([
    [5, 4],
    [4, 5],
    [1, 100],
    [100, 1],
    [6, 7],
  ])('become what they are changed to, of %d to %d', async (before, after) => {
    const author = await app.aUser();
    const post = await app.anImagePost({ images: pictures(before), tagNames: ['many images'] }, author);
    const images = pictures(after).toReversed();
    const updated = await app.call('image.update', { id: post.id, images }, author.key);
    expect(updated).toMatchObject({ images, imageCount: after });
    expect(await app.call('image.getById', { id: post.id }, author.key)).toEqual(updated);
    expect(await shown(post.id, author.key)).toMatchObject({ images: images.slice(0, 4), imageCount: after });
    const renamed = await app.call('image.update', { id: post.id, title: 'renamed' }, author.key);
    expect(renamed).toMatchObject({ images, imageCount: after });
  });
});

describe('image.update', () => {
  test.each([
    ['title', { title: 'new title' }],
    ['description', { description: 'new description' }],
    ['images', { images: [picture(9), picture(8)], imageCount: 2 }],
  ])('changes the %s alone', async (_, shown) => {
    const author = await app.aUser();
    const post = await app.anImagePost({ description: 'old', tagNames: ['kept'] }, author);
    clock += 1000;
    const { imageCount: __, ...change } = { imageCount: 1, ...shown };
    const updated = await app.call('image.update', { id: post.id, ...change }, author.key);
    expect(updated).toEqual({ ...post, ...shown, updatedAt: new Date(clock).toISOString() });
    expect(await app.call('image.getById', { id: post.id }, author.key)).toEqual(updated);
  });

  test('never goes back in time, whose clock another instance may have ahead', async () => {
    const author = await app.aUser();
    const { id, updatedAt } = await app.anImagePost({}, author);
    clock -= 5000;
    try {
      expect(await app.call('image.update', { id, title: 'later' }, author.key)).toMatchObject({ updatedAt });
    } finally {
      clock += 5000;
    }
  });

  test('changes all at once', async () => {
    const author = await app.aUser();
    const post = await app.anImagePost({ tagNames: ['gone'] }, author);
    const change = { title: 'all', description: 'new', images: [picture(3)] };
    const updated = await app.call('image.update', { id: post.id, ...change, tagNames: ['Come', 'gone'] }, author.key);
    expect(updated).toMatchObject({ ...change, tags: [{ name: 'Come' }, { name: 'gone' }] });
  });

  test('null clears the description, an empty text is kept', async () => {
    const author = await app.aUser();
    const { id } = await app.anImagePost({ description: 'old' }, author);
    expect(await app.call('image.update', { id, description: null }, author.key)).toMatchObject({ description: null });
    expect(await app.call('image.update', { id, description: '' }, author.key)).toMatchObject({ description: '' });
  });

  test('changes nothing when it has all that is given, or nothing is', async () => {
    const author = await app.aUser();
    const same = {
      title: 'same',
      description: 'as before',
      images: [1, 2, 3, 4, 5].map(picture),
      tagNames: ['One', 'Two'],
    };
    const post = await app.anImagePost(same, author);
    clock += 1000;
    for (const changes of [{}, same, { title: 'same' }, { images: same.images }, { tagNames: ['ONE', 'two', 'One'] }]) {
      expect(await app.call('image.update', { id: post.id, ...changes }, author.key)).toEqual(post);
    }
    const turned = await app.call('image.update', { id: post.id, tagNames: ['Two', 'One'] }, author.key);
    expect(turned).not.toEqual(post);
  });

  test('replaces the tags, and the lists of these follow', async () => {
    const author = await app.aUser();
    await app.anImagePost({ title: 'bystander', tagNames: ['Update A', 'Update B'] });
    const { id } = await app.anImagePost({ title: 'updated', tagNames: ['Update A', 'Update B'] }, author);
    const { tags } = await app.call('image.update', { id, tagNames: ['update c', 'UPDATE b', 'update-C'] }, author.key);
    expect(tags).toEqual([
      { name: 'update c', slug: 'update-c' },
      { name: 'Update B', slug: 'update-b' },
    ]);
    expect(await tagged('update-a')).toEqual(['bystander']);
    expect(await tagged('update-b')).toEqual(['updated', 'bystander']);
    expect(await tagged('update-c')).toEqual(['updated']);

    expect(await app.call('image.update', { id, tagNames: [] }, author.key)).toMatchObject({ tags: [] });
    expect(await tagged('update-b')).toEqual(['bystander']);
    expect(await tagged('update-c')).toEqual([]);
  });

  test('search finds the post by what it is now, no longer by what it was', async () => {
    const author = await app.aUser();
    const { id } = await app.anImagePost({ title: 'caterpillar', tagNames: ['larva'] }, author);
    await app.call('image.update', { id, title: 'butterfly' }, author.key);
    expect(await found('butterfly larva')).toEqual(['butterfly']);
    expect(await found('caterpillar')).toEqual([]);
    await app.call('image.update', { id, tagNames: ['imago'] }, author.key);
    expect(await found('imago butterfly')).toEqual(['butterfly']);
    expect(await found('larva')).toEqual([]);
  });

  test('is for the author only', async () => {
    const [author, other] = [await app.aUser(), await app.aUser()];
    const post = await app.anImagePost({ description: 'mine', tagNames: ['guarded'] }, author);
    const change = { id: post.id, title: 'yours', description: null, tagNames: ['stolen'] };
    const failure = await app.fail('image.update', change, 403, other.key);
    expect(failure).toMatchObject({ code: -32003, data: { code: 'FORBIDDEN', reason: 'NOT_OWNER' } });
    expect(await app.call('image.getById', { id: post.id }, author.key)).toEqual(post);
    expect(await tagged('guarded')).toHaveLength(1);
    expect(await app.context.db.read('SELECT id FROM tags WHERE slug = ?', ['stolen'])).toEqual([]);
  });

  test('updates at once leave one of them whole, and tag counts that are right', async () => {
    const author = await app.aUser();
    const { id } = await app.anImagePost({ tagNames: ['race 0', 'race 1'] }, author);
    const titles = Array.from({ length: 6 }, (_, n) => `race ${n}`);
    await Promise.all(
      titles.map((title, n) =>
        app.call('image.update', { id, title, tagNames: [title, `race ${(n + 1) % 6}`] }, author.key),
      ),
    );
    const { title, tags } = await app.call('image.getById', { id });
    const names = tags.map(({ name }) => name);
    expect(names).toEqual([title, `race ${(Number(title.at(-1)) + 1) % 6}`]);
    for (const [n, name] of titles.entries()) {
      expect([name, await tagged(`race-${n}`)]).toEqual([name, names.includes(name) ? [title] : []]);
    }
  });
});
