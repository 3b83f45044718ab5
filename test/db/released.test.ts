/**
 * @engines sqlite server
 * @tier long
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Database } from '../../src/db/database.ts';
import { schema } from '../../src/app/schema.ts';
import { buildReleased } from '../harness/released.mjs';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase } from '../harness/app/database.ts';
import { PROGRAM, runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// The last released version, as it is in the world, on the same database as this one.

const BUILD_MS = 600_000;
/** Programs of two versions start several times, on a machine that does other things, too. */
const TEST_MS = 600_000;

let released: string;
beforeAll(() => {
  ({ program: released } = buildReleased());
}, BUILD_MS);

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

const anEmptyDatabase = async (): Promise<string> => {
  const { url, drop } = await createDatabase({ empty: true });
  cleanups.push(drop);
  return url;
};

/** Runs a command of a version to its end: this one's in this process, which takes less. */
const run = async (program: string, url: string, ...args: string[]): Promise<string> => {
  const env = { DATABASE_URL: url };
  const { code, stdout, stderr } = await (program === PROGRAM
    ? runCommand(args, { env })
    : runCli(args, { env, program }));
  if (code !== 0) throw new Error(`${args.join(' ')} ended with status ${code}:\n${stdout}\n${stderr}`);
  return stdout.trim();
};

const serve = async (program: string, url: string): Promise<ServeProcess> => {
  const service = await startServe({ url, program, env: { AUTO_MIGRATE: 'false', LOG_LEVEL: 'warn' } });
  cleanups.push(() => service.stop());
  return service;
};

/** A caller of one service. @throws Error when a call fails */
const callerOf =
  (base: string, key: string) =>
  async <Output>(id: string, json: object): Promise<Output> => {
    const reply = await fetch(`${base}/api/trpc/${id}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({ json }),
    });
    const body = (await reply.json()) as { result: { data: { json: Output } } };
    if (reply.status !== 200) throw new Error(`${id} answered ${reply.status}: ${JSON.stringify(body)}`);
    return body.result.data.json;
  };
type Caller = ReturnType<typeof callerOf>;

const SCOPES = 'content:write,user:read,user:write';

/** A user, and a key of it, made by a version. */
const aKey = async (program: string, url: string, nickname: string): Promise<string> => {
  const user = await run(program, url, 'users', 'create', '--nickname', nickname);
  return run(program, url, 'keys', 'create', '--user', user, '--scopes', SCOPES);
};

interface Item {
  id: string;
  title: string;
  tags: { name: string }[];
  images: string[];
  imageCount: number;
}
interface Page {
  items: Item[];
  total: number;
}

const images = (n: number): string[] => Array.from({ length: n }, (_, index) => `https://a.example/${index}.png`);
const IMAGES = [1, 3, 4, 5, 7];
const TAGS = [[], ['RPG'], ['伝説', 'rpg', 'ＡＢＣ'], ['x'], ['両方', '伝説']];

interface Made {
  games: string[];
  posts: string[];
}

/** What one of two writers publishes. */
const publish = async (call: Caller, name: string): Promise<Made> => {
  const made: Made = { games: [], posts: [] };
  for (const [index, tagNames] of TAGS.entries()) {
    const game = await call<Item>('game.create', {
      title: `${name} ドラゴン ${index}`,
      gameType: ['rpg', 'ADV', undefined][index % 3],
      isFree: true,
      tagNames,
      extraInfo: { originalName: `Ｏrig ${name} ${index}`, originalAuthor: 'Ì́ Ⅷ' },
    });
    made.games.push(game.id);
    const post = await call<Item>('image.create', {
      title: `${name} post ${index}`,
      images: images(IMAGES[index] ?? 1),
      tagNames,
    });
    made.posts.push(post.id);
  }
  const { items } = await call<{ items: Item[] }>('game.batchCreate', {
    games: ['a', 'b', 'c'].map((title) => ({ title: `${name} batch ${title}`, isFree: false, tagNames: ['x', 'new'] })),
  });
  made.games.push(...items.map(({ id }) => id));
  return made;
};

/** What it does then, also to what the other one published. */
const change = async (call: Caller, name: string, own: Made, others: Made): Promise<void> => {
  const [first, second, third, fourth, fifth] = own.posts;
  await call('image.update', { id: first, title: `${name} エリクサー` });
  await call('image.update', { id: second, tagNames: ['x', `only ${name}`] });
  await call('image.update', { id: third, images: images(6), tagNames: [] });
  await call('image.update', { id: fourth, images: images(2) });
  // Of the images that were set apart nothing may be left, nor may they come back.
  await call('image.update', { id: fifth, images: images(9).toReversed() });
  await call('user.updateProfile', { nickname: `${name} ベータ`, bio: 'x' });
  for (const id of [...own.games, ...others.games]) {
    await call('game.toggleReaction', { gameId: id, type: 'like' });
    await call('game.toggleFavorite', { gameId: id });
  }
  for (const id of others.posts) await call('image.toggleReaction', { imagePostId: id, type: 'dislike' });
};

/** Runs both writers at once; `see` is called when both have published. */
const writeBoth = async (
  [one, two]: readonly [Caller, Caller],
  see: (made: readonly [Made, Made]) => Promise<void> = () => Promise.resolve(),
): Promise<void> => {
  const made = await Promise.all([publish(one, 'one'), publish(two, 'two')]);
  await see(made);
  await Promise.all([change(one, 'one', made[0], made[1]), change(two, 'two', made[1], made[0])]);
};

const open = async (url: string): Promise<Database> => {
  const db = await Database.open(url, schema);
  cleanups.push(() => db.close());
  return db;
};

/** What is another one in each database. */
const OWN = ['id', 'author_id', 'created_at', 'updated_at', 'view_count'];

const without = (row: object, columns: readonly string[]): object =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)));

/** All that is stored of records, but for ids, times and views. */
const stored = async (url: string): Promise<object> => {
  const db = await open(url);
  const tags = await db.read<{ id: number; slug: string }>('SELECT * FROM tags ORDER BY slug');
  const slugOf = new Map(tags.map(({ id, slug }) => [String(id), slug]));
  const slugs = (list: string): (string | undefined)[] => list.split(',').map((id) => slugOf.get(id));
  const read = async (table: string): Promise<object[]> => {
    const rows = await db.read<Record<string, unknown> & { tag_ids: string; images?: string; more_images?: string }>(
      `SELECT r.*, u.nickname FROM ${table} r JOIN users u ON u.id = r.author_id ORDER BY r.title`,
    );
    return rows.map(({ tag_ids: list, ...row }) => ({ ...without(row, OWN), tags: slugs(list) }));
  };
  const links = (table: string, parent: string, key: string): Promise<object[]> =>
    db.read(
      `SELECT r.title, t.slug, l.position${table === 'game_tags' ? ', l.game_type' : ''}
      FROM ${table} l JOIN ${parent} r ON r.id = l.${key} JOIN tags t ON t.id = l.tag_id ORDER BY r.title, l.position`,
    );
  return {
    games: await read('games'),
    posts: await read('image_posts'),
    gameTags: await links('game_tags', 'games', 'game_id'),
    postTags: await links('image_post_tags', 'image_posts', 'image_post_id'),
    users: await db.read(
      'SELECT nickname, search_text, bio, game_count, image_post_count FROM users ORDER BY nickname',
    ),
    tags: tags.map((tag) => without(tag, ['id', 'name'])),
    counters: await db.read('SELECT name, n FROM counters ORDER BY name'),
  };
};

const titles = ({ items }: Page): string[] => items.map(({ title }) => title).toSorted();

describe('the last release beside this version', () => {
  test(
    'writes, is read, and reconcile leaves what this version alone would have stored',
    async () => {
      const url = await anEmptyDatabase();
      await run(released, url, 'migrate');
      const keys = [await aKey(released, url, 'first'), await aKey(released, url, 'second')] as const;
      const old = await serve(released, url);
      const one = callerOf(old.base, keys[0]);
      // The tables change while it writes.
      let isMigrated = false;
      let during = 0;
      const migrating = run(PROGRAM, url, 'migrate').finally(() => (isMigrated = true));
      while (!isMigrated) {
        await one('game.create', { title: `during ${during++}`, isFree: true, tagNames: ['during'], gameType: 'rpg' });
      }
      await migrating;
      const now = await serve(PROGRAM, url);
      // From now on the index is there, and what is not noted is missing.
      await run(PROGRAM, url, 'reindex');
      const two = callerOf(now.base, keys[1]);

      await writeBoth([one, two], async ([ofOld, ofNew]) => {
        const input = { page: 1, limit: 100 };
        for (const list of ['game.list', 'image.list']) {
          const [seenByOld, seenByNew] = await Promise.all([one<Page>(list, input), two<Page>(list, input)]);
          expect([list, titles(seenByNew), seenByNew.total]).toEqual([list, titles(seenByOld), seenByOld.total]);
        }
        for (const id of [...ofOld.games, ...ofNew.games]) {
          const [a, b] = await Promise.all([one<Item>('game.getById', { id }), two<Item>('game.getById', { id })]);
          expect(b).toMatchObject({ title: a.title, tags: a.tags });
        }
        for (const [index, id] of ofOld.posts.entries()) {
          const n = IMAGES[index] ?? 1;
          const post = await two<Item>('image.getById', { id });
          expect(post).toMatchObject({ images: images(n), imageCount: n, tags: TAGS[index]?.map(() => ({})) });
          const { items } = await two<Page>('image.list', input);
          expect(items.find((item) => item.id === id)).toMatchObject({ imageCount: n, images: images(Math.min(n, 4)) });
          expect(await one('image.getById', { id: ofNew.posts[index] })).toMatchObject({ tags: post.tags });
        }
      });
      expect(await old.stop()).toBe(0);
      expect(old.log()).not.toContain('"level":50');

      const before = await runCommand(['reconcile'], { env: { DATABASE_URL: url } });
      expect(before.code).toBe(1);
      for (const what of [
        'games.tag_ids',
        'game_tags.game_type',
        'image_posts.tag_ids',
        'image_posts.images',
        'image_posts.image_count',
        'search.games',
        'search.image_posts',
        'search.users',
      ]) {
        expect(before.stdout).toContain(`${what}: `);
      }
      await run(PROGRAM, url, 'reconcile', '--fix');
      expect(await run(PROGRAM, url, 'reconcile')).toBe('Everything is right.');

      const search = async (list: string, input: object): Promise<string[]> =>
        titles(await two<Page>(list, { page: 1, limit: 100, ...input }));
      expect(await search('game.list', { search: 'どらごん one' })).toHaveLength(TAGS.length);
      expect(await search('game.list', { tagSlugs: ['伝説'], gameType: 'ADV', search: 'one' })).toEqual([
        'one ドラゴン 4',
      ]);
      expect(await search('game.list', { tagSlugs: ['rpg'], gameType: 'adv' })).toEqual([
        'one ドラゴン 1',
        'two ドラゴン 1',
      ]);
      expect(await search('image.list', { search: 'えりくさー' })).toEqual(['one エリクサー', 'two エリクサー']);
      const { items: users } = await two<{ items: { nickname: string }[] }>('user.search', {
        query: 'べーた',
        limit: 9,
      });
      expect(users.map(({ nickname }) => nickname).toSorted()).toEqual(['one ベータ', 'two ベータ']);
      await now.stop();

      const alone = await anEmptyDatabase();
      await run(PROGRAM, alone, 'migrate');
      const own = [await aKey(PROGRAM, alone, 'first'), await aKey(PROGRAM, alone, 'second')] as const;
      const service = await serve(PROGRAM, alone);
      const first = callerOf(service.base, own[0]);
      for (let index = 0; index < during; index += 1) {
        await first('game.create', { title: `during ${index}`, isFree: true, tagNames: ['during'], gameType: 'rpg' });
      }
      await writeBoth([first, callerOf(service.base, own[1])]);
      await service.stop();
      expect(await stored(url)).toEqual(await stored(alone));
    },
    TEST_MS,
  );
});

describe('a database of the last release', () => {
  test(
    'is upgraded with all it holds, and answers as before',
    async () => {
      const url = await anEmptyDatabase();
      await run(released, url, 'migrate');
      const seed = ['--games', '150', '--images', '60', '--users', '20', '--until', '2026-04-01'];
      await run(released, url, 'seed', ...seed);
      const key = await aKey(released, url, 'caller');
      const old = await serve(released, url);
      const before = await answers(callerOf(old.base, key));
      await old.stop();

      await run(PROGRAM, url, 'migrate');
      const service = await serve(PROGRAM, url);
      const after = await answers(callerOf(service.base, key));
      expect(after).toMatchObject(before);
      await run(PROGRAM, url, 'reindex');
      expect(await run(PROGRAM, url, 'reconcile')).toBe('Everything is right.');
    },
    TEST_MS,
  );
});

/** What reads answer, by what was asked. */
const answers = async (call: Caller): Promise<Record<string, object>> => {
  const all: Record<string, object> = {};
  const ask = async <Output extends object>(id: string, input: object): Promise<Output> => {
    const output = await call<Output>(id, input);
    // Looking at records counts; and lists show fewer images than they did.
    const shown = JSON.stringify(output, (name, value: unknown) =>
      name === 'viewCount' ? undefined : name === 'images' && id === 'image.list' ? (value as []).slice(0, 4) : value,
    );
    all[`${id} ${JSON.stringify(input)}`] = JSON.parse(shown) as object;
    return output;
  };
  const page = { page: 1, limit: 50 };
  const games: Item[] = [];
  for (const sortBy of ['latest', 'likes', 'favorites']) {
    const { items } = await ask<Page>('game.list', { ...page, sortBy });
    games.push(...items);
  }
  for (const search of ['a', '伝説', 'ドラゴン']) await ask('game.list', { ...page, search });
  const [tagged] = games.filter(({ tags }) => tags.length > 1) as unknown as { tags: { slug: string }[] }[];
  const slugs = tagged!.tags.map(({ slug }) => slug);
  await ask('game.list', { ...page, tagSlugs: slugs.slice(0, 2) });
  for (const gameType of ['RPG', 'ADV']) await ask('game.list', { ...page, gameType, tagSlugs: slugs.slice(0, 1) });
  await ask('game.getTypeStats', {});
  await ask('user.search', { query: 'a', limit: 50 });
  const { items: posts } = await ask<Page>('image.list', page);
  for (const { id } of posts.slice(0, 20)) await ask('image.getById', { id });
  for (const { id } of games.slice(0, 10)) await ask('game.getById', { id });
  return all;
};
