/**
 * @engines sqlite server
 * @tier fast
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { type Input, type Output, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { connectionOptions, engine } from '../harness/app/database.ts';
import { isReplay, repeating } from '../harness/documents/repeating.ts';

// Changes of games by their authors; test/image/image.test.ts has what image posts share with them.

type Game = Output<'game.update'>;
type Change = Omit<Input<'game.update'>, 'id'>;

let clock = Date.parse('2026-04-01T12:00:00.000Z');
let app: TestApp;
/** Another instance on the same database, with totals of its own in memory. */
let other: TestApp;
let author: TestUser;

beforeAll(async () => {
  const now = () => new Date(clock);
  app = await startApp({ now });
  other = await startApp({ now, databaseUrl: app.databaseUrl });
  author = await app.aUser();
});
afterEach(async () => {
  await expectExactCounts(app.context.db);
  expect(await reconcile(app.context.db, { fix: false })).toEqual([]);
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

const update = (id: string, change: Change, by = author) => app.call('game.update', { id, ...change }, by.key);
const get = (id: string) => app.call('game.getById', { id }, author.key);

/** A game with a value in each member. */
const aFullGame = (): Promise<Game> =>
  app.aGame(
    {
      title: 'full',
      description: 'old',
      coverUrl: 'https://images.example.com/1.png',
      gameType: 'rpg',
      isFree: false,
      version: 'Ver1',
      tagNames: ['Full One', 'Full Two'],
      extraInfo: {
        originalName: 'name',
        originalAuthor: 'someone',
        fileSize: '1GB',
        platforms: ['Windows', 'Android'],
        screenshots: ['https://images.example.com/2.png'],
        downloads: [
          { name: 'one', url: 'https://files.example.com/1', password: 'p' },
          { name: 'two', url: 'https://files.example.com/2' },
        ],
      },
    },
    author,
  );

/** The events that `act` causes. */
const eventsOf = async (act: () => Promise<unknown>) => {
  const move = () => app.context.lifecycle.relay.moveNow();
  await move();
  const { nextCursor } = await app.call('event.list', { start: 'latest' });
  await act();
  await move();
  return (await app.call('event.list', { after: nextCursor })).items;
};

describe('a member that is sent replaces the old value, and all others stay:', () => {
  const tags = [{ name: 'Full Two' }, { name: 'Third' }];
  const downloads = [{ name: 'three', url: 'magnet:?xt=urn:btih:abc', password: null }];
  test.each<[string, Change, object]>([
    ['title', { title: 'new' }, { title: 'new' }],
    ['description', { description: '' }, { description: '' }],
    ['coverUrl', { coverUrl: 'https://images.example.com/9.png' }, { coverUrl: 'https://images.example.com/9.png' }],
    ['gameType', { gameType: 'Slg' }, { gameType: 'SLG' }],
    ['isFree', { isFree: true }, { isFree: true }],
    ['version', { version: 'Ver2.1' }, { version: 'Ver2.1' }],
    ['tagNames', { tagNames: ['full two', 'Third', 'THIRD'] }, { tags }],
    ['no tagNames', { tagNames: [] }, { tags: [] }],
    ['originalName', { extraInfo: { originalName: 'n' } }, { extraInfo: { originalName: 'n' } }],
    ['originalAuthor', { extraInfo: { originalAuthor: 'a' } }, { extraInfo: { originalAuthor: 'a' } }],
    ['fileSize', { extraInfo: { fileSize: '2 MB' } }, { extraInfo: { fileSize: '2 MB' } }],
    ['platforms', { extraInfo: { platforms: ['Switch'] } }, { extraInfo: { platforms: ['Switch'] } }],
    ['no platforms', { extraInfo: { platforms: [] } }, { extraInfo: { platforms: [] } }],
    ['screenshots', { extraInfo: { screenshots: [] } }, { extraInfo: { screenshots: [] } }],
    [
      'downloads',
      { extraInfo: { downloads: [{ ...downloads[0]!, password: undefined }] } },
      { extraInfo: { downloads } },
    ],
    ['no downloads', { extraInfo: { downloads: [] } }, { extraInfo: { downloads: [] } }],
    ['null description', { description: null }, { description: null }],
    ['null coverUrl', { coverUrl: null }, { coverUrl: null }],
    ['null gameType', { gameType: null }, { gameType: null }],
    ['null version', { version: null }, { version: null }],
    ['null originalName', { extraInfo: { originalName: null } }, { extraInfo: { originalName: null } }],
    ['null originalAuthor', { extraInfo: { originalAuthor: null } }, { extraInfo: { originalAuthor: null } }],
    ['null fileSize', { extraInfo: { fileSize: null } }, { extraInfo: { fileSize: null } }],
  ])('%s', async (_, change, shown) => {
    const game = await aFullGame();
    clock += 1000;
    const updated = await update(game.id, change);
    const { extraInfo, tags: shownTags = game.tags, ...rest } = shown as Partial<Game>;
    expect(updated).toEqual({
      ...game,
      ...rest,
      tags: shownTags.map(expect.objectContaining),
      extraInfo: { ...game.extraInfo, ...extraInfo },
      updatedAt: new Date(clock).toISOString(),
    });
    expect(await get(game.id)).toEqual(updated);
  });
});

describe('game.update', () => {
  test('changes members of several kinds at once, of a game that had none', async () => {
    const game = await app.aGame({}, author);
    const change = { gameType: 'adv', isFree: false, extraInfo: { originalName: 'n', fileSize: '1B' } };
    expect(await update(game.id, { ...change, tagNames: ['at once'] })).toMatchObject({
      ...change,
      title: game.title,
      gameType: 'ADV',
      tags: [{ slug: 'at-once' }],
      extraInfo: { ...game.extraInfo, ...change.extraInfo },
    });
  });

  test('to the same values leaves the time, and has no event', async () => {
    const [full, empty] = [await aFullGame(), await app.aGame({}, author)];
    clock += 1000;
    const { tags, isFree, gameType, extraInfo } = full;
    const downloads = extraInfo.downloads.map(({ password, ...rest }) =>
      password === null ? rest : { ...rest, password },
    );
    const cleared = { description: null, coverUrl: null, gameType: null, version: null, tagNames: [] };
    const calls: [Game, Change][] = [
      [full, {}],
      [full, { title: full.title, description: full.description, coverUrl: full.coverUrl, isFree, gameType }],
      [full, { gameType: 'rPg', tagNames: ['FULL one', 'full-two', ...tags.map(({ name }) => name)] }],
      [full, { version: full.version, extraInfo: {} }],
      [full, { extraInfo: { ...extraInfo, downloads } }],
      [empty, cleared],
      [empty, { extraInfo: { ...empty.extraInfo } as Change['extraInfo'] }],
    ];
    const events = await eventsOf(async () => {
      for (const [game, change] of calls) {
        expect([change, await update(game.id, change)]).toEqual([change, game]);
      }
    });
    expect(events).toEqual([]);
  });

  test.each<[string, object, string]>([
    ['no title', { title: null }, '/title'],
    ['a blank title', { title: ' ' }, '/title'],
    ['no isFree', { isFree: null }, '/isFree'],
    ['no tagNames', { tagNames: null }, '/tagNames'],
    ['an empty type', { gameType: '' }, '/gameType'],
    ['a version that is none', { version: '1.2' }, '/version'],
    ['no extraInfo', { extraInfo: null }, '/extraInfo'],
    ['no platforms', { extraInfo: { platforms: null } }, '/extraInfo/platforms'],
    ['no screenshots', { extraInfo: { screenshots: null } }, '/extraInfo/screenshots'],
    ['no downloads', { extraInfo: { downloads: null } }, '/extraInfo/downloads'],
    ['a download without a URL', { extraInfo: { downloads: [{ name: 'x' }] } }, '/extraInfo/downloads/0/url'],
    ['an unknown member', { extraInfo: { size: '1GB' } }, '/extraInfo/size'],
    ['no id', { id: undefined }, '/id'],
  ])('refuses %s', async (_, change, path) => {
    const game = await aFullGame();
    const { issues } = await app.fail('game.update', { id: game.id, title: 'x', ...change }, 400, author.key);
    expect(issues.map((issue) => issue.path)).toEqual([path]);
    expect(await get(game.id)).toEqual(game);
  });

  test('is for the author, with a key that may write', async () => {
    const game = await aFullGame();
    const stranger = await app.aUser();
    const reader = await app.aUser({ scopes: ['user:read'] });
    const change = { id: game.id, title: 'theirs', gameType: 'theirs', tagNames: ['theirs'] };
    const events = await eventsOf(async () => {
      for (const [id, status, key, reason] of [
        [game.id, 403, stranger.key, 'NOT_OWNER'],
        [game.id, 403, reader.key, 'SCOPE_MISSING'],
        [game.id, 401, undefined, 'KEY_MISSING'],
        [randomUUID(), 404, author.key, 'GAME_NOT_FOUND'],
        ['no id', 404, author.key, 'GAME_NOT_FOUND'],
        [(await app.anImagePost({}, author)).id, 404, author.key, 'GAME_NOT_FOUND'],
      ] as const) {
        expect((await app.fail('game.update', { ...change, id }, status, key)).data.reason).toBe(reason);
      }
    });
    expect(events.map(({ type }) => type)).toEqual(['image.created']);
    expect(await get(game.id)).toEqual(game);
    expect(await app.context.db.read('SELECT id FROM tags WHERE slug = ?', ['theirs'])).toEqual([]);
  });

  test('is told of once, with the author', async () => {
    const { id } = await aFullGame();
    const events = await eventsOf(() => update(id, { title: 'told', gameType: 'told', tagNames: ['told'] }));
    expect(events).toMatchObject([{ type: 'game.updated', record: { kind: 'game', id }, actorId: author.id }]);
  });
});

/** The number of games, by both instances, that a list counts, which is the number of those that it shows. */
const totalOf = async (filters: Partial<Input<'game.list'>>): Promise<number> => {
  const totals = [];
  for (const instance of [app, other]) {
    const { total, items } = await instance.call('game.list', { limit: 100, page: 1, ...filters });
    expect(total).toBe(items.length);
    totals.push(total);
  }
  expect(totals[0]).toBe(totals[1]);
  return totals[0]!;
};

describe('a new type', () => {
  test('is counted instead of the old one, by itself and beside a tag', async () => {
    // Totals of combined filters are remembered, and used for pages that are not empty.
    const bystanders = ['type one', 'type two'].map((gameType) => app.aGame({ gameType, tagNames: ['typed'] }));
    await Promise.all(bystanders);
    const { id } = await app.aGame({ gameType: 'type one', tagNames: ['typed'] }, author);
    const seen = async () => {
      const { items } = await other.call('game.getTypeStats', {});
      const count = (type: string | null) => items.find(({ gameType }) => gameType === type)?.count ?? 0;
      const tagSlugs = ['typed'];
      return {
        counts: [count('TYPE ONE'), count('TYPE TWO')],
        typed: [await totalOf({ gameType: 'type one' }), await totalOf({ gameType: 'type two' })],
        tagged: [await totalOf({ gameType: 'type one', tagSlugs }), await totalOf({ gameType: 'type two', tagSlugs })],
        none: count(null),
      };
    };
    const before = await seen();
    expect(before).toMatchObject({ counts: [2, 1], typed: [2, 1], tagged: [2, 1] });
    await update(id, { gameType: 'Type Two' });
    expect(await seen()).toEqual({ counts: [1, 2], typed: [1, 2], tagged: [1, 2], none: before.none });
    await update(id, { gameType: null });
    expect(await seen()).toEqual({ counts: [1, 1], typed: [1, 1], tagged: [1, 1], none: before.none + 1 });
    await update(id, { gameType: 'type one', tagNames: ['typed', 'typed too'] });
    expect(await seen()).toEqual(before);
    expect(await totalOf({ gameType: 'type one', tagSlugs: ['typed', 'typed-too'] })).toBe(1);
  });
});

describe('new tags', () => {
  test('replace the old ones in lists, in their order, with totals of several that were remembered', async () => {
    const [{ id }, single] = [await app.aGame({ tagNames: ['pair a', 'pair b'] }, author), await app.aGame({}, author)];
    await app.aGame({ tagNames: ['pair a', 'pair b', 'pair c'] });
    const seen = async () => {
      const slugs = [['pair-a'], ['pair-b'], ['pair-c'], ['pair-a', 'pair-b'], ['pair-a', 'pair-c']];
      const totals = [];
      for (const tagSlugs of slugs) totals.push(await totalOf({ tagSlugs }));
      return totals;
    };
    expect(await seen()).toEqual([2, 2, 1, 2, 1]);
    // The counts of both tags are what they were, but no game has both.
    await update(single.id, { tagNames: ['pair b'] });
    await update(id, { tagNames: ['pair c', 'pair a'] });
    expect((await get(id)).tags.map(({ slug }) => slug)).toEqual(['pair-c', 'pair-a']);
    expect(await seen()).toEqual([2, 2, 2, 1, 2]);
  });

  test('and new texts are found at once, and the old ones no longer', async () => {
    const game = await app.aGame(
      {
        title: 'caterpillar',
        tagNames: ['larva'],
        gameType: 'insect',
        extraInfo: { originalName: 'raupe', originalAuthor: 'merian' },
      },
      author,
    );
    const found = async (search: string) => {
      const ids = [];
      for (const filters of [{}, { gameType: 'insect' }]) {
        const { items } = await other.call('game.list', { limit: 100, page: 1, search, ...filters });
        ids.push(...items.map(({ id }) => id));
      }
      return ids;
    };
    const both = [game.id, game.id];
    expect(await found('caterpillar larva raupe merian')).toEqual(both);
    await update(game.id, { title: 'butterfly' });
    expect([await found('butterfly larva raupe merian'), await found('caterpillar')]).toEqual([both, []]);
    await update(game.id, { extraInfo: { originalName: 'falter' } });
    expect([await found('butterfly larva falter merian'), await found('raupe')]).toEqual([both, []]);
    await update(game.id, { extraInfo: { originalAuthor: null } });
    expect([await found('butterfly larva falter'), await found('merian')]).toEqual([both, []]);
    await update(game.id, { tagNames: ['imago'] });
    expect([await found('butterfly imago falter'), await found('larva')]).toEqual([both, []]);
    await update(game.id, { gameType: 'animal' });
    expect(await found('butterfly')).toEqual([game.id]);
  });

  test('relate other games', async () => {
    const [source, first, second] = [
      await app.aGame({ tagNames: ['kin'] }, author),
      await app.aGame({ tagNames: ['kin'] }, author),
      await app.aGame({ tagNames: ['kin two'] }, author),
    ];
    const closest = async () => {
      const { items } = await app.call('game.getRelated', { gameId: source.id, limit: 1 });
      return items[0]?.id;
    };
    expect(await closest()).toBe(first.id);
    await update(source.id, { tagNames: ['kin two'] });
    expect(await closest()).toBe(second.id);
  });
});

describe('updates at once', () => {
  test('of one game all succeed, and leave one of them whole', async () => {
    const { id } = await app.aGame({ gameType: 'crowd 0', tagNames: ['crowd 0', 'crowd 1'] }, author);
    const names = Array.from({ length: 16 }, (_, n) => `crowd ${n}`);
    await Promise.all(
      names.map((name, n) => {
        const change = { title: name, gameType: name, tagNames: [name, `crowd ${(n + 1) % 16}`] };
        return [app, other][n % 2]!.call('game.update', { id, ...change }, author.key);
      }),
    );
    const { title, gameType, tags } = await get(id);
    expect(gameType).toBe(title.toUpperCase());
    expect(tags.map(({ name }) => name)).toEqual([title, `crowd ${(names.indexOf(title) + 1) % 16}`]);
    for (const name of names) {
      expect([name, await totalOf({ gameType: name, tagSlugs: [name.replace(' ', '-')] })]).toEqual([
        name,
        Number(name === title),
      ]);
    }
  });

  test('that exchange tags and types of two games leave right counts', async () => {
    const games = [await app.aGame({}, author), await app.aGame({}, author)];
    await Promise.all(
      Array.from({ length: 16 }, (_, n) => {
        const change = { gameType: `swap ${n % 3}`, tagNames: [`swap ${n % 2}`, `swap ${2 + (n % 3)}`] };
        return update(games[n % 2]!.id, n % 4 < 2 ? change : { ...change, tagNames: change.tagNames.toReversed() });
      }),
    );
  });

  if (engine !== 'sqlite') {
    test('lock the counters of types in the order of their names, as all transactions do', async () => {
      for (const types of [
        ['order a', 'order b'],
        ['order d', 'order c'],
      ] as const) {
        const from = await app.aGame({ gameType: types[0] }, author);
        await app.aGame({ gameType: types[1] }, author);
        const another = await createConnection(connectionOptions(new URL(app.databaseUrl)));
        const lock = (type: string) =>
          another.query('UPDATE counters SET n = n + 0 WHERE name = ?', [`games:${type.toUpperCase()}`]);
        const [first, second] = types.toSorted();
        await another.beginTransaction();
        await lock(first!);
        const updated = update(from.id, { gameType: types[1] });
        // Long enough for the update to wait for the first.
        await sleep(200);
        await lock(second!);
        await another.commit();
        await another.end();
        expect(await updated).toMatchObject({ gameType: types[1].toUpperCase() });
      }
    });
  }

  test('with one Idempotency-Key are one', async () => {
    const { id } = await app.aGame({}, author);
    const headers = repeating(randomUUID());
    const send = (instance: TestApp) =>
      instance.send('game.update', { id, title: 'once', tagNames: ['once'] }, author.key, headers);
    const events = await eventsOf(async () => {
      const replies = await Promise.all(Array.from({ length: 16 }, (_, n) => send([app, other][n % 2]!)));
      expect(replies.filter((reply) => reply.status === 200 && !isReplay(reply))).toHaveLength(1);
      expect(replies.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    });
    expect(events).toHaveLength(1);
    expect(isReplay(await send(other))).toBe(true);
  });
});
