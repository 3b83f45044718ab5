/**
 * @engines none
 * @tier fast
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { contract } from '../../../contract/index.ts';
import type { StoredExtraInfo } from '../../../src/game/kind.ts';
import {
  compose,
  creations,
  type Language,
  languages,
  seedGames,
  seedImagePosts,
  type SeedOptions,
  seedUsers,
  tagNames,
} from '../../../src/sandbox/seed/records.ts';
import { distinct, Random, zipf } from '../../../src/sandbox/seed/random.ts';
import { slugOf } from '../../../src/content/tag/slug.ts';

const OPTIONS: SeedOptions = { users: 300, games: 2000, images: 500, randomSeed: 1, until: new Date('2026-04-01') };

/** The lists that a phrase names. */
const slotsOf = (phrase: string): string[] => [...phrase.matchAll(/\{(\w+)\}/g)].map(([, named]) => named!);

const times = <T>(n: number, make: () => T): T[] => Array.from({ length: n }, make);

describe('seed data', () => {
  describe('random numbers', () => {
    test('are those of sfc32', () => {
      const mask = 0xffffffffn;
      const digest = createHash('sha256').update('some seed').digest();
      let [a, b, c, counter] = [0, 4, 8, 12].map((offset) => BigInt(digest.readUInt32LE(offset))) as [
        bigint,
        bigint,
        bigint,
        bigint,
      ];
      const expected = times(1000, () => {
        const result = (a + b + counter) & mask;
        counter = (counter + 1n) & mask;
        a = b ^ (b >> 9n);
        b = (c + (c << 3n)) & mask;
        c = (((c << 21n) | (c >> 11n)) + result) & mask;
        return Number(result);
      });

      const random = new Random('some seed');
      expect(times(1000, () => random.nextUint32())).toEqual(expected);
    });

    test('are even within their bounds', () => {
      const random = new Random('even');
      const numbers = times(30_000, () => random.between(3, 5));
      for (const number of [3, 4, 5]) {
        expect(numbers.filter((one) => one === number).length / 30_000).toBeCloseTo(1 / 3, 1);
      }
      expect(new Set(numbers)).toEqual(new Set([3, 4, 5]));
      expect(times(10_000, () => random.chance(0.2)).filter(Boolean).length / 10_000).toBeCloseTo(0.2, 1);
      expect(new Set(times(100, () => random.pick(['a', 'b'])))).toEqual(new Set(['a', 'b']));
      expect(() => random.pick([])).toThrow(TypeError);
    });

    test('by Zipf’s law are as rare as their rank is high', () => {
      const random = new Random('zipf');
      const draw = zipf(['first', 'second', 'third', 'fourth']);
      const drawn = times(50_000, () => draw(random));
      const share = (item: string) => drawn.filter((one) => one === item).length / drawn.length;
      const sum = 1 + 1 / 2 + 1 / 3 + 1 / 4;
      expect(share('first')).toBeCloseTo(1 / sum, 1.5);
      expect(share('second')).toBeCloseTo(1 / 2 / sum, 1.5);
      expect(share('third')).toBeCloseTo(1 / 3 / sum, 1.5);
      expect(share('fourth')).toBeCloseTo(1 / 4 / sum, 1.5);
    });

    test('can be had without repetition', () => {
      const random = new Random('distinct');
      expect(new Set(distinct(5, () => random.between(1, 5)))).toEqual(new Set([1, 2, 3, 4, 5]));
      expect(distinct(0, () => random.between(1, 5))).toEqual([]);
    });
  });

  describe.each(languages.map((language) => [language.tag[0]!, language] as const))(
    'the language of %s',
    (_, language) => {
      test('has every list that its phrases name, and names every list that it has', () => {
        const named = new Set(Object.values(language).flatMap((phrases) => phrases.flatMap(slotsOf)));
        const composed = 'gameTitle imageTitle description originalAuthor nickname bio location download tag rareTag';
        expect([...named].filter((list) => !language[list]?.length)).toEqual([]);
        expect(Object.keys(language).filter((list) => !named.has(list) && !composed.split(' ').includes(list))).toEqual(
          [],
        );
      });

      test('has each phrase once', () => {
        for (const phrases of Object.values(language)) expect(phrases).toEqual([...new Set(phrases)]);
      });

      test('says nothing that is too long', () => {
        const longest = (list: string): number =>
          Math.max(
            ...language[list]!.map((phrase) => {
              const fixed = Array.from(phrase.replaceAll(/\{\w+\}/g, '')).length;
              return slotsOf(phrase).reduce((sum, named) => sum + longest(named), fixed);
            }),
          );
        const limits = { gameTitle: 200, imageTitle: 200, originalAuthor: 200, nickname: 50, bio: 2000, location: 100 };
        for (const [list, limit] of Object.entries({ ...limits, description: 5000, tag: 50, rareTag: 50 })) {
          expect([list, longest(list) <= limit]).toEqual([list, true]);
        }
      });

      test('fills every slot', () => {
        const random = new Random('slots');
        for (const list of Object.keys(language)) {
          for (const text of times(50, () => compose(language, list, random))) expect(text).not.toMatch(/[{}]|^$/);
        }
      });
    },
  );

  test('a phrase that names no list is a fault', () => {
    const faulty = { tag: ['{nothing}'] } as unknown as Language;
    expect(() => compose(faulty, 'tag', new Random(''))).toThrow('no list "nothing"');
  });

  test('there are 5000 tags, all different to the service', () => {
    const names = tagNames();
    expect(names).toHaveLength(5000);
    expect(new Set(names.map(slugOf)).size).toBe(5000);
    expect(names.slice(0, 4)).toEqual(['ファンタジー', '奇幻', 'Fantasy', '판타지']);
    expect(tagNames()).toEqual(names);
  });

  describe('what is seeded', () => {
    const users = [...seedUsers(OPTIONS)];
    const userIds = users.map(({ id }) => id);
    const games = [...seedGames(OPTIONS, userIds)];
    const posts = [...seedImagePosts(OPTIONS, userIds)];

    test('could have come through the service', () => {
      for (const { nickname, bio, pronouns, website, location, socialLinks, avatar } of users) {
        contract.user.updateProfile.body.parse({ json: { nickname, bio, pronouns, website, location, socialLinks } });
        contract.user.updateAvatar.body.parse({ json: { avatar } });
      }
      for (const { draft } of games) {
        const { description, coverUrl, gameType, isFree, version, originalAuthor, extraInfo } = draft.own;
        const given = {
          title: draft.title,
          description,
          coverUrl,
          gameType,
          isFree: isFree === 1,
          version,
          tagNames: draft.tagNames,
        };
        const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
        const extra = { ...(JSON.parse(extraInfo) as StoredExtraInfo), originalAuthor: originalAuthor ?? undefined };
        contract.game.create.body.parse({ json: { ...present, extraInfo: extra } });
      }
      for (const { draft } of posts) {
        const { title, tagNames: names, own } = draft;
        const more = own.moreImages === null ? [] : (JSON.parse(own.moreImages) as string[]);
        const images = [...(JSON.parse(own.images) as string[]), ...more];
        expect(own.imageCount).toBe(images.length);
        const description = own.description ?? undefined;
        contract.image.create.body.parse({ json: { title, description, tagNames: names, images } });
      }
    });

    test('is the same for the same options, and another for another seed', () => {
      expect([...seedUsers(OPTIONS)]).toEqual(users);
      expect([...seedGames(OPTIONS, userIds)]).toEqual(games);
      expect([...seedImagePosts(OPTIONS, userIds)]).toEqual(posts);
      const others = [...seedGames({ ...OPTIONS, randomSeed: 2 }, userIds)];
      const ids = new Set(games.map(({ id }) => id));
      expect(others.filter(({ id }) => ids.has(id))).toEqual([]);
      expect(others.filter(({ draft }, index) => draft.title === games[index]!.draft.title).length).toBeLessThan(50);
    });

    test('has ids of its own, made when it was published', () => {
      const ids = [...userIds, ...games.map(({ id }) => id), ...posts.map(({ id }) => id)];
      expect(new Set(ids).size).toBe(2800);
      for (const { id, createdAt } of [...users, ...games, ...posts]) {
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(createdAt.getTime());
      }
    });

    test('counts whom it is liked by, each user once', () => {
      for (const { favoritedBy, likedBy, dislikedBy, counts } of [...games, ...posts]) {
        expect(counts).toMatchObject({
          favoriteCount: new Set(favoritedBy).size,
          likeCount: likedBy.length,
          dislikeCount: dislikedBy.length,
        });
        expect(new Set([...likedBy, ...dislikedBy]).size).toBe(likedBy.length + dislikedBy.length);
        expect(counts!.viewCount).toBeGreaterThanOrEqual(likedBy.length + dislikedBy.length);
      }
      expect(Math.max(...games.map(({ likedBy }) => likedBy.length))).toBeGreaterThan(10);
    });

    test('is never liked by more users than there are', () => {
      for (const { favoritedBy, likedBy, dislikedBy } of seedGames(OPTIONS, userIds.slice(0, 2))) {
        expect(favoritedBy.length).toBeLessThanOrEqual(2);
        expect(likedBy.length + dislikedBy.length).toBeLessThanOrEqual(2);
      }
    });

    test('keeps its ids in order, however many there are', () => {
      const ids = Array.from(creations({ ...OPTIONS, users: 50_000 }, 'users'), ({ id }) => id);
      expect(ids).toEqual(ids.toSorted());
    });
  });
});
