/**
 * @engines sqlite server
 * @tier long
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '../../src/auth/audit/log.ts';

import { deleteRecord } from '../../src/admin/moderation/records.ts';
import { hideRecord, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { deleteUnusedTags, findUnusedTags } from '../../src/admin/moderation/unused-tags.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { schema } from '../../src/app/schema.ts';
import { mergeTags } from '../../src/content/write/tag-merge.ts';
import { Database } from '../../src/db/database.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { operatorOf } from '../harness/app/operator.ts';
import { expectExactCounts } from '../harness/app/counts.ts';

let app: TestApp;
/** Another instance on the same database. */
let other: TestApp;
let db: Database;
let author: TestUser;
const by = systemActor();

beforeAll(async () => {
  app = await startApp();
  other = await startApp({ databaseUrl: app.databaseUrl });
  db = await Database.open(app.databaseUrl, schema);
  author = await app.aUser();
});
afterAll(async () => {
  await db.close();
  await other.stop();
  await app.stop();
});
beforeEach(async () => {
  await deleteUnusedTags(db, await findUnusedTags(db, { merged: true }));
});

const { cli, json } = operatorOf(() => app.databaseUrl);
const drop = (id: string) => deleteRecord(db, gameKind, id, by);
const slugs = async (): Promise<string[]> => (await findUnusedTags(db)).map(({ slug }) => slug);
const totalOf = async (instance: TestApp, slug: string): Promise<number> =>
  (await instance.call('game.list', { limit: 1, page: 1, tagSlugs: [slug] })).total;

describe('tags prune', () => {
  test('lists the tags that no record has, and deletes them if told to', async () => {
    const game = await app.aGame({ tagNames: ['Gone tag', 'kept'] }, author);
    await app.aGame({ tagNames: ['kept'] }, author);
    const post = await app.anImagePost({ tagNames: ['Gone tag', 'post only'] }, author);
    await drop(game.id);
    expect(await json('tags', 'prune')).toEqual([]);
    await app.call('image.update', { id: post.id, tagNames: ['kept'] }, author.key);
    const due = [
      { slug: 'gone-tag', name: 'Gone tag' },
      { slug: 'post-only', name: 'post only' },
    ];
    expect(await json('tags', 'prune')).toEqual(due.map((tag) => ({ ...tag, deleted: false })));
    expect((await cli('tags', 'prune')).stderr).toContain('Nothing was deleted.');
    expect(await json('tags', 'prune', '--yes')).toEqual(due.map((tag) => ({ ...tag, deleted: true })));
    expect(await slugs()).toEqual([]);
    const entries = await json<{ action: string }>('audit', 'list');
    expect(entries.filter(({ action }) => action === 'tags prune')).toMatchObject([{ before: { tags: due } }]);
    expect(await totalOf(app, 'kept')).toBe(1);
  });

  test('makes a tag anew that is used again, which every instance finds at once', async () => {
    const game = await app.aGame({ tagNames: ['again'] }, author);
    // Both remember the tag for a minute.
    expect([await totalOf(app, 'again'), await totalOf(other, 'again')]).toEqual([1, 1]);
    await drop(game.id);
    await json('tags', 'prune', '--yes');
    await app.aGame({ tagNames: ['AGAIN'] }, author);
    expect([await totalOf(app, 'again'), await totalOf(other, 'again')]).toEqual([1, 1]);
    await expectExactCounts(db);
  });

  test('spares the tags of hidden records, and tags that were merged into tags with records', async () => {
    const hidden = await app.aGame({ tagNames: ['veil', 'old veil'] }, author);
    await hideRecord(db, gameKind, hidden.id, { reason: 'r', by });
    await app.aGame({ tagNames: ['target'] }, author);
    const source = await app.aGame({ tagNames: ['source'] }, author);
    const settle = () => Promise.resolve();
    await mergeTags(db, [gameKind, imageKind], { from: 'source', into: 'target' }, by, settle);
    // Merged after the record was hidden: its tag leads to another one.
    const into = await app.aGame({ tagNames: ['new veil'] }, author);
    await mergeTags(db, [gameKind, imageKind], { from: 'old-veil', into: 'new-veil' }, by, settle);
    await drop(into.id);
    expect(await slugs()).toEqual([]);
    expect(await json('tags', 'prune', '--merged')).toMatchObject([{ slug: 'source' }]);
    await unhideRecord(db, gameKind, hidden.id, by);
    const { tags } = await app.call('game.getById', { id: hidden.id });
    expect(tags.map(({ slug }) => slug)).toEqual(['veil', 'new-veil']);
    // A merged tag goes with the other one.
    await drop(source.id);
    await drop(hidden.id);
    expect(await slugs()).toEqual(['old-veil', 'veil', 'new-veil']);
    expect(await json('tags', 'prune', '--yes')).toHaveLength(3);
    expect(await reconcile(db, { fix: false })).toEqual([]);
  });

  test('names the tags of a record that was hidden when a tag had gone', async () => {
    const hidden = await app.aGame({ tagNames: ['raced', 'two'] }, author);
    const unused = await db.read<{ id: number; slug: string; name: string }>(
      "SELECT id, slug, name FROM tags WHERE slug = 'raced'",
    );
    await hideRecord(db, gameKind, hidden.id, { reason: 'r', by });
    // As a pruning that looked at the hidden records before.
    expect(await deleteUnusedTags(db, unused)).toHaveLength(1);
    await unhideRecord(db, gameKind, hidden.id, by);
    const { tags } = await app.call('game.getById', { id: hidden.id });
    expect(tags.map(({ name }) => name)).toEqual(['raced', 'two']);
    await expectExactCounts(db);
  });

  test('fails no call that publishes with the same tags meanwhile', async () => {
    let busy = true;
    const failures: string[] = [];
    const writer = async (instance: TestApp, n: number): Promise<void> => {
      const { key } = await app.aUser();
      while (busy) {
        const { status, body } = await instance.send(
          'game.create',
          { title: 'fleeting', tagNames: [`fleeting ${n}`, `fleeting ${n} too`] },
          key,
        );
        if (status === 200) await drop((body.result.data.json as { id: string }).id);
        else failures.push(JSON.stringify(body));
      }
    };
    const writers = [app, other, app, other].map(writer);
    let deleted = 0;
    const end = Date.now() + 30_000;
    while (deleted < 20 && Date.now() < end) deleted += (await deleteUnusedTags(db, await findUnusedTags(db))).length;
    busy = false;
    await Promise.all(writers);
    expect(failures).toEqual([]);
    expect(deleted).toBeGreaterThanOrEqual(20);
    await expectExactCounts(db);
    expect(await reconcile(db, { fix: false })).toEqual([]);
  });
});
