/**
 * @engines sqlite
 * @tier long
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { renameTag } from '../../src/content/write/tag-names.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { searchKinds } from '../../src/app/schema.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { TagDictionary } from '../../src/content/tag/dictionary.ts';
import { startApp, type TestUser } from '../harness/app/app.ts';
import { type Outcome, runCli } from '../harness/app/program.ts';

const app = await startApp();
const { db } = app.context;
afterAll(() => app.stop());

/** More than are looked at in one go. */
const GAMES = 101;
let author: TestUser;

const tags = (...args: string[]): Promise<Outcome> =>
  runCli(['tags', ...args], { env: { DATABASE_URL: app.databaseUrl } });

/** How many games and image posts a search finds, by the index. */
const found = async (search: string): Promise<number[]> => {
  const input = { limit: 1, page: 1, search };
  return [(await app.call('game.list', input)).total, (await app.call('image.list', input)).total];
};

/** The search texts there are. */
const textsOf = async (table: 'games' | 'image_posts'): Promise<string[]> => {
  const rows = await db.read<{ text: string }>(`SELECT DISTINCT search_text AS text FROM ${table} ORDER BY text`);
  return rows.map(({ text }) => text);
};

const spoil = (table: 'games' | 'image_posts'): Promise<number> =>
  db.transaction((tx) => tx.execute(`UPDATE ${table} SET search_text = ?`, ['x']));

beforeAll(async () => {
  author = await app.aUser();
  const game = {
    title: 'Quest',
    gameType: 'ADV',
    tagNames: ['first', 'RPG💩', '伝説'],
    extraInfo: { originalName: 'ＱＵＥＳＴ 原作', originalAuthor: 'RPG💩' },
  };
  // The first in spells a tag for all.
  await app.aGame(game, author);
  for (let left = GAMES - 1; left > 0; left -= 100) {
    await app.call('game.batchCreate', { games: Array.from({ length: Math.min(left, 100) }, () => game) }, author.key);
  }
  await app.anImagePost({ title: 'Picture', tagNames: ['rpg'] }, author);
  // Some wait in the tail of the index, the others are in its segments.
  await new Indexer(db, searchKinds, undefined, { run: 8, fanout: 3, graceMs: 60_000 }).work();
  await app.anImagePost({ title: 'Picture', tagNames: ['RPG'] }, author);
});

describe('tags list', () => {
  test('shows slugs, names and how many records there are', async () => {
    expect(await tags('list')).toEqual({
      code: 0,
      stdout: [
        'SLUG   GAMES  IMAGE POSTS  NAME',
        'first  101    0            first',
        'rpg    101    2            RPG💩',
        '伝説     101    0            伝説\n',
      ].join('\n'),
      stderr: '',
    });
  });

  test.each(['ｒｐｇ', '💩', 'pG'])('finds %s in names and slugs', async (text) => {
    expect(await tags('list', '--search', text, '--json')).toEqual({
      code: 0,
      stdout: '{"slug":"rpg","name":"RPG💩","gameCount":101,"imagePostCount":2}\n',
      stderr: '',
    });
  });
});

describe('tags rename', () => {
  test.each([
    [
      'the slug of another tag',
      ['rpg', 'First', '--yes'],
      1,
      'Another tag has the slug "first". To have it stand in for this one: tags merge rpg first',
    ],
    ['a slug that no tag has', ['rpgs', 'RPGs'], 1, 'There is no tag with the slug "rpgs"'],
    ['spaces behind a slug', ['rpg ', 'RPG', '--yes'], 1, 'There is no tag with the slug "rpg "'],
    ['no name', ['rpg', ''], 2, 'It must have at least 1 character'],
    ['another direction', ['rpg', 'RPG\u202e'], 2, 'it holds U+202E'],
  ])('refuses %s', async (_, args, code, fault) => {
    expect(await tags('rename', ...args)).toEqual({ code, stdout: '', stderr: expect.stringContaining(fault) });
  });

  test('gives a tag another name, by which its records are found at once', async () => {
    const dictionary = new TagDictionary(db, 400);
    const names = async () => (await dictionary.namesOf(db, ['2,1']))[0]?.map(({ name }) => name);
    expect(await names()).toEqual(['RPG💩', 'first']);
    expect(await found('💩')).toEqual([GAMES, 2]);

    expect(await tags('rename', 'rpg', 'Rpg!')).toEqual({
      code: 0,
      stdout: 'Rpg!\n',
      stderr: `It was "RPG💩". Updated the search text of ${GAMES + 2} records.\n`,
    });
    expect(await textsOf('games')).toEqual(['quest\nquest 原作\nrpg💩\nfirst\nrpg!\n伝説']);
    expect(await textsOf('image_posts')).toEqual(['picture\nrpg!']);
    expect(await found('rpg!')).toEqual([GAMES, 2]);
    // By the author.
    expect(await found('rpg💩')).toEqual([GAMES, 0]);
    expect(await found('quest 原作 伝説 first')).toEqual([GAMES, 0]);
    const filtered = { limit: 1, page: 1, search: 'rpg!', tagSlugs: ['rpg'] };
    expect((await app.call('game.list', { ...filtered, gameType: 'ADV' })).total).toBe(GAMES);

    const { tags: shown } = await app.anImagePost({ tagNames: ['RPG'] }, author);
    expect(shown).toEqual([{ name: 'Rpg!', slug: 'rpg' }]);
    for (let polls = 0; polls < 100 && (await names())?.[0] !== 'Rpg!'; polls += 1) await sleep(50);
    expect(await names()).toEqual(['Rpg!', 'first']);
  });

  test('mends what an interrupted one left, and nothing else', async () => {
    await spoil('games');
    const { stderr } = await tags('rename', 'rpg', 'Rpg!');
    expect(stderr).toBe(`It was "Rpg!". Updated the search text of ${GAMES} records.\n`);
    expect(await textsOf('games')).toEqual(['quest\nquest 原作\nrpg💩\nfirst\nrpg!\n伝説']);
  });

  test('mends what was published with the old name meanwhile', async () => {
    const kinds = [gameKind, imageKind];
    const renamed = await renameTag(db, kinds, { slug: 'rpg', name: 'RPG' }, () => spoil('image_posts'));
    expect(renamed).toMatchObject({ tag: { name: 'Rpg!', slug: 'rpg' }, mended: GAMES + 3 + 3 });
    expect((await textsOf('image_posts')).map((text) => text.split('\n')[1])).toEqual(['rpg', 'rpg']);
    expect(await found('rpg')).toEqual([GAMES, 3]);
    expect(await found('rpg!')).toEqual([0, 0]);
  });

  test('gives all records a tag with another slug, to which the old one leads', async () => {
    expect(await tags('rename', 'rpg', '役割 RPG')).toEqual({
      code: 0,
      stdout: `${GAMES + 3} records would get "役割-rpg" for "rpg".\n`,
      stderr: 'Nothing was changed: add --yes to rename it.\n',
    });
    expect(await found('役割')).toEqual([0, 0]);
    expect(await tags('rename', 'rpg', '役割 RPG', '--yes')).toEqual({
      code: 0,
      stdout: '役割 RPG\n',
      stderr: `It was "RPG". ${GAMES + 3} records got the slug "役割-rpg" for "rpg".\n`,
    });
    expect(await found('役割')).toEqual([GAMES, 3]);
    const input = { limit: 1, page: 1, tagSlugs: ['rpg'] };
    expect((await app.call('game.list', input)).total).toBe(GAMES);
    expect((await tags('list', '--search', 'rpg', '--json')).stdout).toBe(
      `{"slug":"役割-rpg","name":"役割 RPG","gameCount":${GAMES},"imagePostCount":3}\n`,
    );
  });
});
