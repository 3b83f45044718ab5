/**
 * @engines sqlite server
 * @tier long
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { Renewal } from '../../src/app/renewal.ts';
import { searchKinds } from '../../src/app/schema.ts';
import type { Parameter } from '../../src/db/connection.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { webhookSecrets } from '../harness/app/webhook-key.ts';

// Slugs and search texts as earlier versions stored them, and what becomes of them.

let app: TestApp;
const write = (sql: string, parameters: Parameter[] = []): Promise<number> =>
  app.context.db.transaction((tx) => tx.execute(sql, parameters));

/** The names of tags with the slugs that earlier versions made of them. */
const before: Record<string, string> = {
  Straße: 'straße',
  STRASSE: 'strasse',
  'C++': 'c',
  '❤️': '\uFE0F',
  '🐉 ': 't-00000001',
  '🐉': 't-00000002',
  'puz\u00ADzle': 'puz-zle',
  puzzle: 'puzzle',
  Μύθος: 'μύθος',
  RPG: 'rpg',
};
const names = Object.keys(before);

/** As they normalised texts. */
const normalised = (text: string): string => text.normalize('NFKC').toLowerCase().normalize('NFKC');

/** Has the tags and texts of records be as an earlier version stored them. The records have placeholders for tags. */
const makeOld = async (): Promise<void> => {
  const { db } = app.context;
  for (const [n, name] of names.entries()) {
    await write('UPDATE tags SET name = ?, slug = ? WHERE slug = ?', [name, before[name]!, `tag-${n}`]);
  }
  for (const [table, title] of [
    ['games', 'title'],
    ['image_posts', 'title'],
    ['users', 'nickname'],
  ] as const) {
    const rows = await db.read<{ id: Uint8Array; text: string }>(`SELECT id, ${title} AS text FROM ${table}`);
    for (const { id, text } of rows) {
      const tags = /#(\d+)/.exec(text)?.[1];
      const stored = [text, ...(tags === undefined ? [] : [names[Number(tags)]!])].map(normalised).join('\n');
      await write(`UPDATE ${table} SET search_text = ? WHERE id = ?`, [stored, id]);
    }
  }
  const indexer = new Indexer(db, searchKinds);
  for (const kind of searchKinds) await indexer.reindex(kind);
};

const found = async (router: 'game' | 'image', filter: object): Promise<string[]> => {
  const { items } = await app.call(`${router}.list`, { page: 1, limit: 50, sortBy: 'latest', ...filter });
  return (items as { title: string }[]).map(({ title }) => title).toSorted();
};
const tagsIn = async (search: string): Promise<{ name: string; slug: string }[]> =>
  (await app.call('game.list', { page: 1, limit: 1, search })).items[0]?.tags ?? [];

describe('what an earlier version stored', () => {
  beforeEach(async () => {
    app = await startApp();
    const author = await app.aUser({ nickname: 'Weiß' });
    const games = names.map((_, n) => ({ title: `ΠΑΣ 王〜女 #${n}`, tagNames: [`tag-${n}`] }));
    const posts = names.map((_, n) => ({
      title: `Οδός #${n}`,
      images: ['https://images.example.com/1.png'],
      tagNames: [`tag-${n}`],
    }));
    await app.call(
      'game.batchCreate',
      { games: [...games, { title: 'both', tagNames: ['tag-0', 'tag-1'] }] },
      author.key,
    );
    await app.call('image.batchCreate', { posts }, author.key);
    await makeOld();
  });
  afterEach(() => app.stop());

  const expectRenewed = async (): Promise<void> => {
    const { db } = app.context;
    expect(await reconcile(db, { fix: false })).toEqual([]);
    await expectExactCounts(db);
    // Names that are one tag now, by its slug, and by the old one where no other name has it.
    const game = (n: number): string => `ΠΑΣ 王〜女 #${n}`;
    for (const tagSlugs of [['strasse'], ['straße']]) {
      expect(await found('game', { tagSlugs })).toEqual(['both', game(0), game(1)]);
      expect(await found('image', { tagSlugs })).toEqual(['Οδός #0', 'Οδός #1']);
    }
    expect(await tagsIn('both')).toEqual([{ name: 'STRASSE', slug: 'strasse' }]);
    expect(await found('game', { tagSlugs: ['puzzle'] })).toEqual([game(6), game(7)]);
    expect(await found('game', { tagSlugs: ['puz-zle'] })).toEqual([]);
    expect(await found('game', { tagSlugs: ['μύθος'] })).toEqual([game(8)]);
    expect(await tagsIn('#8')).toEqual([{ name: 'Μύθος', slug: 'μύθοσ' }]);
    expect((await tagsIn('#4'))[0]?.slug).toBe((await tagsIn('#5'))[0]?.slug);
    expect(await tagsIn('#9')).toEqual([{ name: 'RPG', slug: 'rpg' }]);
    expect(await found('game', { tagSlugs: ['c++'] })).toEqual([game(2)]);
    // The slugs that others had are free.
    const { tags } = await app.aGame({ tagNames: ['C', 'c#', 'C++', '☠️', '❤'] });
    expect(tags).toEqual([
      { name: 'C', slug: 'c' },
      { name: 'c#', slug: 'c#' },
      { name: 'C++', slug: 'c++' },
      { name: '☠️', slug: expect.stringMatching(/^t-/) },
      { name: '❤️', slug: expect.stringMatching(/^t-/) },
    ]);
    expect(await found('game', { search: 'πας 王～女' })).toHaveLength(names.length);
    expect(await found('game', { search: 'ΜΎΘΟΣ' })).toEqual([game(8)]);
    expect(await found('image', { search: 'ΟΔΌΣ' })).toHaveLength(names.length);
    expect((await app.call('user.search', { query: 'WEISS', limit: 5 }, (await app.aUser()).key)).items).toHaveLength(
      1,
    );
  };

  test('is renewed once a migration has asked for it, while the feed tells of each record', async () => {
    const { db } = app.context;
    await db.revert('Webhooks1764600000012');
    expect(await db.migrate()).toContain('Names1764700000013');
    const { nextCursor: after } = await app.call('event.list', { start: 'latest' });
    const renewal = new Renewal(db, webhookSecrets);
    expect(await renewal.work(async () => undefined)).toBe(true);
    expect(await renewal.work(async () => undefined)).toBe(false);
    await app.context.lifecycle.relay.moveNow();
    const { items } = await app.call('event.list', { after, limit: 100, include: 'record' });
    const merged = items.filter(({ type }) => type === 'tag.merged').map(({ record }) => record.id);
    expect(merged.toSorted()).toEqual(['straße', 'μύθος', '\uFE0F'].toSorted());
    // Two tags keep their slugs, and three records have them alone.
    expect(items.filter(({ type }) => type === 'game.updated')).toHaveLength(names.length + 1 - 3);
    await expectRenewed();
  });

  test('is found and mended by reconcile', async () => {
    const { db } = app.context;
    const wrong = await reconcile(db, { fix: true });
    expect(wrong.map(({ field, total }) => [field, total])).toEqual([
      ['tags.slug', 7],
      ['tags.merged_into', 7],
      ...['games', 'image_posts', 'users'].map((table) => [`search.${table}`, expect.any(Number)]),
    ]);
    await expectRenewed();
  });
});
