/**
 * @engines sqlite server
 * @tier fast
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hideRecord, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { eraseUser } from '../../src/admin/person/erase.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { schema } from '../../src/app/schema.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import { Database } from '../../src/db/database.ts';
import { insertInto, insertValues } from '../../src/db/sql/write-rows.ts';
import { idFromBytes, storedIdToBytes } from '../../src/db/values.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { insertUsers } from '../../src/user/service.ts';
import { type ProcedureId, type Reply, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { killedAfter, operatorOf } from '../harness/app/operator.ts';
import { isReplay, repeating } from '../harness/documents/repeating.ts';

// Records that their authors delete, beside two instances of a running service and its operator.

/** More than go in two transactions. */
const MARKS = 2100;

let app: TestApp;
/** Another instance on the same database. */
let other: TestApp;
/** The database as the command line has it. */
let db: Database;
let author: TestUser;
let fan: TestUser;

const { json } = operatorOf(() => app.databaseUrl);
const by = systemActor();

beforeAll(async () => {
  app = await startApp();
  other = await startApp({ databaseUrl: app.databaseUrl });
  db = await Database.open(app.databaseUrl, schema);
  [author, fan] = [await app.aUser(), await app.aUser()];
});
afterEach(async () => {
  await expectExactCounts(db);
  expect(await reconcile(db, { fix: false })).toEqual([]);
});
afterAll(async () => {
  await eraseUser(db, author.id, { by, vacuum: false, settle: () => Promise.resolve(), graceMs: 0 });
  await expectExactCounts(db);
  expect(await reconcile(db, { fix: false })).toEqual([]);
  await db.close();
  await other.stop();
  await app.stop();
});

const call = async (id: ProcedureId, input: object, key?: string, instance = app) => {
  const reply = await instance.send(id, input, key);
  if (reply.status !== 200) throw new Error(`${id} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body.result.data.json;
};
const outcomeOf = ({ status, body }: Reply): unknown => [status, body.error?.json.data.reason];

/** The events that `act` causes: type, record and actor. */
const eventsOf = async (act: () => Promise<unknown>): Promise<unknown[]> => {
  const move = () => app.context.lifecycle.relay.moveNow();
  await move();
  const { nextCursor } = await app.call('event.list', { start: 'latest' });
  await act();
  await move();
  const { items } = await app.call('event.list', { after: nextCursor });
  return items.map(({ type, record, actorId }) => [type, record.id, actorId]);
};

const count = async (table: string, column: string, id: string): Promise<number> => {
  const sql = `SELECT COUNT(*) AS n FROM ${table} WHERE ${column} = ?`;
  return (await db.read<{ n: number }>(sql, [storedIdToBytes(id)]))[0]!.n;
};

const kinds = [
  { router: 'game', kind: gameKind, member: 'gameId', counter: 'gameCount' },
  { router: 'image', kind: imageKind, member: 'imagePostId', counter: 'imagePostCount' },
] as const;

describe.each(kinds)('$router.delete', ({ router, kind, member, counter }) => {
  const { notFound, table } = kind;
  const images = router === 'image' ? { images: ['https://images.example.com/1.webp'] } : {};
  const publish = (input: object = {}): Promise<{ id: string }> =>
    call(`${router}.create`, { title: 'a record', ...images, ...input }, author.key);
  const remove = (id: string, key = author.key, instance = app, headers = {}): Promise<Reply> =>
    instance.send(`${router}.delete`, { id }, key, headers);
  const mark = async (id: string, { key }: TestUser): Promise<void> => {
    await call(`${router}.toggleFavorite`, { [member]: id }, key);
    await call(`${router}.toggleReaction`, { [member]: id, type: 'like' }, key);
  };
  const marksOf = async (id: string): Promise<number> =>
    (await count(kind.favoriteTable, kind.foreignKey, id)) + (await count(kind.reactionTable, kind.foreignKey, id));
  const hide = (id: string) => hideRecord(db, kind, id, { reason: 'stolen', by });
  const entriesOf = (id: string) =>
    json<{ actor: string; action: string; subject: string; before: object }>('audit', 'list', '--subject', id);
  const ownEntry = (id: string) => ({
    actor: `user ${author.id} by key ${author.keyId}`,
    action: `${router}s delete`,
    subject: `${table} ${id}`,
    before: { authorId: author.id },
  });

  test('takes a record out of all that either instance tells, with its favorites and reactions', async () => {
    const word = `withdrawn-${router}`;
    const type = router === 'game' ? { gameType: word } : {};
    const input = { tagNames: [word, `${word}-too`], ...type };
    const [kept, gone] = [await publish({ title: word, ...input }), await publish({ title: word, ...input })];
    await mark(gone.id, fan);
    await mark(gone.id, author);
    const seen = async (instance: TestApp) => {
      const found: unknown[] = [(await call('user.getProfile', { id: author.id }, undefined, instance))[counter]];
      const [both, one] = [[word, `${word}-too`], [word]];
      for (const filters of [
        {},
        type,
        { tagSlugs: one },
        { tagSlugs: both },
        { tagSlugs: one, ...type },
        { search: word },
        { authorId: author.id },
      ]) {
        const list = { limit: 100, page: 1, ...filters };
        const { total, items } = await call(`${router}.list`, list, undefined, instance);
        expect(total).toBe(items.length);
        found.push(total);
      }
      return found as number[];
    };
    const before = await seen(app);
    expect(await seen(other)).toEqual(before);
    const events = await eventsOf(async () => {
      expect((await remove(gone.id)).body).toEqual({ result: { data: { json: { id: gone.id } } } });
    });
    expect(events).toEqual([[`${router}.deleted`, gone.id, author.id]]);
    for (const instance of [app, other]) expect(await seen(instance)).toEqual(before.map((n) => n - 1));
    if (router === 'game') {
      const { items } = await other.call('game.getTypeStats', {});
      expect(items.find(({ gameType }) => gameType === word.toUpperCase())).toMatchObject({ count: 1 });
      const related = await other.call('game.getRelated', { gameId: kept.id });
      expect(related.items.map(({ id }) => id)).not.toContain(gone.id);
      expect(outcomeOf(await app.send('game.getRelated', { gameId: gone.id }))).toEqual([404, notFound]);
    }
    for (const [id, more] of [
      [`${router}.getById`, { id: gone.id }],
      [`${router}.update`, { id: gone.id, title: 'x' }],
      [`${router}.delete`, { id: gone.id }],
      [`${router}.toggleFavorite`, { [member]: gone.id }],
      [`${router}.toggleReaction`, { [member]: gone.id, type: 'like' }],
    ] as const) {
      for (const instance of [app, other]) {
        expect([id, outcomeOf(await instance.send(id, more, author.key))]).toEqual([id, [404, notFound]]);
      }
    }
    expect(await marksOf(gone.id)).toBe(0);
    expect(await entriesOf(gone.id)).toMatchObject([ownEntry(gone.id)]);
    expect((await entriesOf(gone.id))[0]!.before).toEqual({ authorId: author.id });
  });

  test('is for the author, with a key that may write', async () => {
    const { id } = await publish();
    const reader = await app.aUser({ scopes: ['user:read'] });
    const another = await (router === 'game' ? app.anImagePost({}, author) : app.aGame({}, author));
    await mark(id, fan);
    const events = await eventsOf(async () => {
      for (const [which, key, outcome] of [
        [id, fan.key, [403, 'NOT_OWNER']],
        [id, reader.key, [403, 'SCOPE_MISSING']],
        [id, undefined, [401, 'KEY_MISSING']],
        [randomUUID(), author.key, [404, notFound]],
        ['no id', author.key, [404, notFound]],
        [another.id, author.key, [404, notFound]],
      ] as const) {
        expect(outcomeOf(await app.send(`${router}.delete`, { id: which }, key))).toEqual(outcome);
      }
    });
    expect(events).toEqual([]);
    expect(await call(`${router}.getById`, { id })).toMatchObject({ id, favoriteCount: 1, likeCount: 1 });
    expect(await entriesOf(id)).toEqual([]);
  });

  test('ends the repetition of earlier calls, and is repeated itself', async () => {
    const headers = repeating(randomUUID());
    const creation = { title: 'once', ...images };
    const created = await app.send(`${router}.create`, creation, author.key, headers);
    const { id } = created.body.result.data.json;
    const calls = [
      [`${router}.update`, { id, title: 'twice' }],
      [`${router}.toggleFavorite`, { [member]: id }],
    ] as const;
    for (const [name, input] of calls) {
      expect((await app.send(name, input, author.key, headers)).status).toBe(200);
    }
    const first = await remove(id, author.key, app, headers);
    expect([first.status, isReplay(first)]).toEqual([200, false]);
    for (const instance of [app, other]) {
      const again = await remove(id, author.key, instance, headers);
      expect([again.status, isReplay(again), again.body]).toEqual([200, true, first.body]);
      const anew = await remove(id, author.key, instance, repeating(randomUUID()));
      expect(outcomeOf(anew)).toEqual([404, notFound]);
      for (const [name, input] of calls) {
        expect(outcomeOf(await instance.send(name, input, author.key, headers))).toEqual([404, notFound]);
      }
      const recreated = await instance.send(`${router}.create`, creation, author.key, headers);
      expect(outcomeOf(recreated)).toEqual([422, 'IDEMPOTENCY_GONE']);
    }
  });

  test.each([
    ['are one, and the others find nothing', false],
    ['with one Idempotency-Key are one, and the others repeat it', true],
  ])('sixteen at once %s', async (_, isKeyed) => {
    const { id } = await publish({ tagNames: ['at once'] });
    await mark(id, fan);
    const profile = await call('user.getProfile', { id: author.id });
    const headers = isKeyed ? repeating(randomUUID()) : {};
    let replies: Reply[] = [];
    const events = await eventsOf(async () => {
      replies = await Promise.all(
        Array.from({ length: 16 }, (__, n) => remove(id, author.key, [app, other][n % 2], headers)),
      );
    });
    expect(events).toEqual([[`${router}.deleted`, id, author.id]]);
    expect(replies.filter((reply) => reply.status === 200 && !isReplay(reply))).toHaveLength(1);
    const losers = replies.filter(({ status }) => status !== 200).map(outcomeOf);
    const loss = isKeyed ? [409, 'IDEMPOTENCY_IN_PROGRESS'] : [404, notFound];
    expect(losers).toEqual(losers.map(() => loss));
    if (!isKeyed) expect(losers).toHaveLength(15);
    expect(await call('user.getProfile', { id: author.id })).toMatchObject({ [counter]: profile[counter] - 1 });
    expect(await entriesOf(id)).toHaveLength(1);
  });

  test('beside toggles, updates and creations leaves right counts', async () => {
    const records = await Promise.all(Array.from({ length: 6 }, () => publish({ tagNames: ['busy', 'busy too'] })));
    await Promise.all(
      records.flatMap(({ id }, n) => [
        app.send(`${router}.toggleFavorite`, { [member]: id }, fan.key),
        other.send(`${router}.toggleReaction`, { [member]: id, type: 'dislike' }, fan.key),
        other.send(`${router}.update`, { id, tagNames: ['busy too', `busy ${n % 2}`] }, author.key),
        remove(id, author.key, [app, other][n % 2]),
        publish({ tagNames: ['busy', `busy ${n % 2}`] }),
      ]),
    );
    for (const { id } of records) expect(outcomeOf(await remove(id))).toEqual([404, notFound]);
  });

  test('deletes what an operator has hidden, which then cannot be shown again', async () => {
    const { id } = await publish({ tagNames: ['hidden'] });
    await mark(id, fan);
    await hide(id);
    const update = { id, title: 'back' };
    expect(outcomeOf(await app.send(`${router}.update`, update, author.key))).toEqual([404, notFound]);
    expect(outcomeOf(await remove(id, fan.key))).toEqual([404, notFound]);
    expect(await count('hidden_marks', 'record_id', id)).toBe(2);
    const headers = repeating(randomUUID());
    // The feed said at its hiding that it is gone.
    expect(await eventsOf(async () => expect((await remove(id, author.key, app, headers)).status).toBe(200))).toEqual(
      [],
    );
    expect(isReplay(await remove(id, author.key, other, headers))).toBe(true);
    expect(outcomeOf(await remove(id))).toEqual([404, notFound]);
    expect([await count('hidden_records', 'record_id', id), await count('hidden_marks', 'record_id', id)]).toEqual([
      0, 0,
    ]);
    await expect(unhideRecord(db, kind, id, by)).rejects.toMatchObject({ reason: notFound });
    expect(await entriesOf(id)).toMatchObject([
      { action: `${router}s hide`, before: { [table]: [{ id, title: 'a record', authorId: author.id }] } },
      ownEntry(id),
    ]);
  });

  test('deletes a record for good that an interrupted command has half shown', async () => {
    const { id } = await publish();
    await mark(id, fan);
    await hide(id);
    expect(await killedAfter(db, 1, () => unhideRecord(db, kind, id, by))).toBe(false);
    expect((await remove(id)).status).toBe(200);
    expect(outcomeOf(await remove(id))).toEqual([404, notFound]);
    await expect(unhideRecord(db, kind, id, by)).rejects.toMatchObject({ reason: notFound });
  });

  /** Gives a record very many favorites and dislikes. */
  const markManyTimes = (id: string): Promise<void> =>
    db.transaction(async (tx) => {
      const key = storedIdToBytes(id);
      const users = Array.from({ length: MARKS }, () => storedIdToBytes(randomUUID()));
      await insertUsers(
        tx,
        users.map((user) => ({ id: idFromBytes(user), nickname: 'x' })),
        new Date('2026-01-01'),
      );
      const columns = ['user_id', kind.foreignKey];
      await insertValues(
        tx,
        insertInto(kind.favoriteTable, columns),
        users.map((user) => [user, key]),
      );
      const reactions = users.map((user) => [user, key, 'dislike']);
      await insertValues(tx, insertInto(kind.reactionTable, [...columns, 'type']), reactions);
      await tx.execute(`UPDATE ${table} SET favorite_count = ?, dislike_count = ? WHERE id = ?`, [MARKS, MARKS, key]);
    });

  test.each([false, true])('removes very many favorites and reactions in parts; hidden: %s', async (isHidden) => {
    const { id } = await publish();
    await markManyTimes(id);
    if (isHidden) await hide(id);
    const left = async (): Promise<number> => (await marksOf(id)) + (await count('hidden_marks', 'record_id', id));
    // A part that fails leaves the others done, and the record there.
    expect(await killedAfter(app.context.db, 3, () => call(`${router}.delete`, { id }, author.key))).toBe(false);
    expect(await left()).toBe(2 * MARKS - 2000);
    await expectExactCounts(db);
    const parts: number[] = [];
    const original = app.context.db.transaction;
    app.context.db.transaction = (async (...given: Parameters<typeof original>) => {
      const before = await left();
      const result = await original.apply(app.context.db, given);
      parts.push(before - (await left()));
      return result;
    }) as typeof original;
    try {
      expect((await remove(id, author.key, app, repeating(randomUUID()))).status).toBe(200);
    } finally {
      app.context.db.transaction = original;
    }
    expect(parts.reduce((sum, n) => sum + n, 0)).toBe(2 * MARKS - 2000);
    expect(Math.max(...parts)).toBeLessThanOrEqual(1000);
  });
});
