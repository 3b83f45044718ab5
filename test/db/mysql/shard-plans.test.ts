/**
 * @engines vitess
 * @tier long
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection, format } from 'mysql2/promise';
import { procedures } from '../../../contract/index.ts';

import { hideRecord, unhideRecord } from '../../../src/admin/moderation/takedown.ts';
import { deleteUser, suspendUser, unsuspendUser } from '../../../src/admin/moderation/users.ts';
import { reconcile } from '../../../src/admin/reconcile/service.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import { mergeTags } from '../../../src/content/write/tag-merge.ts';
import { renameTag } from '../../../src/content/write/tag-names.ts';
import { MysqlSession } from '../../../src/db/mysql/session.ts';
import { gameKind } from '../../../src/game/kind.ts';
import { imageKind } from '../../../src/image/kind.ts';
import { type ProcedureId, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { connectionOptions } from '../../harness/app/database.ts';
import { anInput, writes } from '../../harness/documents/repeating.ts';

// Which statements ask which shards, as vtgate plans them, held against the table of shard-plans.md; and whether the plans
// keep their locks.

/** How far a route of a plan reaches, as the columns of the table have it. */
const REACHES = ['unsharded', 'shards of the records', 'all shards'] as const;
type Reach = (typeof REACHES)[number];

interface Plan {
  OperatorType?: string;
  Variant?: string;
  Keyspace?: { Name: string; Sharded: boolean };
  Query?: string;
  Inputs?: Plan[];
}

const VARIANTS: Record<string, Reach> = {
  EqualUnique: 'shards of the records',
  Sharded: 'shards of the records',
  IN: 'shards of the records',
  MultiEqual: 'shards of the records',
  Scatter: 'all shards',
};

/** Without those that ask no shard at all, since a value is NULL. */
const routesOf = (plan: Plan): Plan[] => [
  ...(plan.Keyspace && plan.Variant !== 'None' ? [plan] : []),
  ...(plan.Inputs ?? []).flatMap((input) => routesOf(input)),
];

const reachOf = ({ Variant = '', Keyspace, OperatorType }: Plan): Reach => {
  if (!Keyspace?.Sharded) return 'unsharded';
  const reach = VARIANTS[Variant];
  if (!reach) throw new Error(`An unknown plan: ${OperatorType} ${Variant}`);
  return reach;
};

/** Buffers store these later, whatever was called; and keys are read anew where a call takes longer than they are remembered. */
const BUFFERED =
  /api_keys|view_count =|last_used_at|key_uses|consumer_uses|failed_calls|instances|search_(?:kinds|segments|tail WHERE)|maintenance/;
const LOCKS = /\b(?:FOR UPDATE|LOCK IN SHARE MODE)\b/i;

let app: TestApp;
let connection: Connection;
let author: TestUser;
let viewer: TestUser;

/** The statements that the service sends while `work` runs, with their parameters. */
const statementsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const { run } = MysqlSession.prototype;
  const sent: string[] = [];
  MysqlSession.prototype.run = function (sql, parameters, callback) {
    if (/^\s*(?:SELECT|INSERT|REPLACE|UPDATE|DELETE)\b/i.test(sql)) sent.push(format(sql, [...parameters]));
    run.call(this, sql, parameters, callback);
  };
  try {
    await work();
  } finally {
    MysqlSession.prototype.run = run;
  }
  return sent.filter((sql) => !BUFFERED.test(sql));
};

const planOf = async (sql: string): Promise<Plan> => {
  const [rows] = await connection.query(`VEXPLAIN PLAN ${sql}`);
  return JSON.parse((rows as { JSON: string }[])[0]!.JSON) as Plan;
};

const routesOfAll = async (statements: readonly string[]): Promise<Plan[]> =>
  (await Promise.all(statements.map(planOf))).flatMap(routesOf);

interface Operation {
  id: ProcedureId;
  input: () => object | Promise<object>;
  caller: () => TestUser;
}

/** The row of an operation in the table: how many routes of its statements reach how far, when caches are filled. */
const rowOf = async ({ id, input, caller }: Operation): Promise<string[]> => {
  await app.call(id, await input(), caller().key);
  const next = await input();
  const routes = await routesOfAll(await statementsOf(() => app.call(id, next, caller().key)));
  return REACHES.map((reach) => String(routes.filter((route) => reachOf(route) === reach).length));
};

/** The table: its rows, of three counts each, by what their first cell says. */
const table = new Map(
  readFileSync('test/db/mysql/shard-plans.md', 'utf8')
    .split('\n')
    .filter((line) => /^\| `\w+\.\w+`[^|]*(?:\| \d+ +){3}\|$/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name = '', ...cells]) => [name.replaceAll('`', ''), cells.slice(0, REACHES.length)]),
);

describe('plans on two shards', () => {
  beforeAll(async () => {
    app = await startApp();
    connection = await createConnection(connectionOptions(new URL(app.databaseUrl)));
    [author, viewer] = [await app.aUser(), await app.aUser()];
    for (let n = 0; n < 30; n += 1) {
      await app.aGame({ title: `game ${n}`, gameType: 'RPG', tagNames: ['a', 'b', `t${n}`] }, author);
      await app.anImagePost({ title: `post ${n}`, tagNames: ['a'] }, author);
    }
  });
  afterAll(async () => {
    await connection.end();
    await app.stop();
  });

  const read = (id: ProcedureId, input: Operation['input']): Operation => ({ id, input, caller: () => viewer });
  let serial = 0;
  const page = (more: object) => () => ({ limit: 20, page: 1, ...more });
  const reads: Record<string, Operation> = {
    'game.getById': read('game.getById', async () => ({ id: (await app.aGame({}, author)).id })),
    'game.getRelated': read('game.getRelated', async () => ({
      gameId: (await app.aGame({ gameType: 'RPG', tagNames: ['a', 'b'] }, author)).id,
    })),
    'game.getTypeStats': read('game.getTypeStats', () => ({})),
    'game.list': read('game.list', page({})),
    'game.list of a tag': read('game.list', page({ tagSlugs: ['a'] })),
    'game.list of two tags': read('game.list', page({ tagSlugs: ['a', 'b'] })),
    'game.list by views': read('game.list', page({ sortBy: 'views' })),
    'game.list of an author': read('game.list', () => ({ limit: 20, page: 1, authorId: author.id })),
    'game.list of an author by views': read('game.list', () => ({
      limit: 20,
      page: 1,
      authorId: author.id,
      sortBy: 'views',
    })),
    'game.list that searches': read('game.list', () => ({ limit: 20, page: 1, search: `game ${(serial += 1)}` })),
    'image.getById': read('image.getById', async () => ({ id: (await app.anImagePost({}, author)).id })),
    'image.list': read('image.list', page({})),
    'user.getProfile': read('user.getProfile', () => ({ id: author.id })),
    'user.me': read('user.me', () => ({})),
    'event.list': read('event.list', () => ({ limit: 10 })),
    'user.search': read('user.search', () => ({ query: `user ${(serial += 1)}`, limit: 10 })),
  };
  /** The inputs of the calls that change one row: the same one again would change nothing. */
  const changing: Partial<Record<ProcedureId, Operation['input']>> = {
    'user.updateProfile': () => ({ bio: `bio ${(serial += 1)}` }),
    'user.updateAvatar': () => ({ avatar: `/${(serial += 1)}.png` }),
  };
  const changes = writes.map((operation): [string, Operation] => {
    const { id } = operation;
    return [id, { id, input: changing[id] ?? (() => anInput(app, operation, author)), caller: () => author }];
  });
  /** The table counts no shards for webhooks, keys and contracts, whose tables are not sharded. */
  const isCounted = (id: string): boolean => !/^(?:webhook|apiKey|consumerContract)\./.test(id);
  const operations = [...Object.entries(reads), ...changes].filter(([name]) => isCounted(name));

  test('are those of every operation', () => {
    const named = new Set(operations.map(([name]) => name.split(' ')[0]));
    expect(named).toEqual(new Set(procedures.map(({ id }) => id).filter(isCounted)));
    expect([...table.keys()].toSorted()).toEqual(operations.map(([name]) => name).toSorted());
  });

  test.each(operations)('%s asks as many shards as the table says', async (name, operation) => {
    expect([name, ...(await rowOf(operation))]).toEqual([name, ...(table.get(name) ?? [])]);
  });

  test('keep the locks of every statement that locks', async () => {
    const { db } = app.context;
    const by = systemActor();
    const settle = () => Promise.resolve();
    const game = await app.aGame({ tagNames: ['a', 'locked'] }, author);
    const fan = await app.aUser();
    await app.call('game.toggleFavorite', { gameId: game.id }, fan.key);
    const statements = await statementsOf(async () => {
      for (const [, { id, input, caller }] of operations) await app.call(id, await input(), caller().key);
      await hideRecord(db, gameKind, game.id, { reason: 'r', by });
      await unhideRecord(db, gameKind, game.id, by);
      await suspendUser(db, fan.id, by, { hide: true });
      await unsuspendUser(db, fan.id, by);
      await renameTag(db, [gameKind, imageKind], { slug: 'locked', name: 'LOCKED' }, settle);
      await mergeTags(db, [gameKind, imageKind], { from: 'b', into: 'a' }, by, settle);
      await db.transaction((tx) =>
        tx.execute('UPDATE games SET favorite_count = favorite_count + 1, search_text = ?', ['x']),
      );
      await reconcile(db, { fix: true });
      await deleteUser(db, fan.id, by);
      await deleteUser(db, author.id, by);
    });
    const locking = [...new Set(statements.filter((sql) => LOCKS.test(sql)))];
    expect(locking.length).toBeGreaterThan(30);
    const lost: string[] = [];
    for (const sql of locking) {
      const routes = await routesOfAll([sql]);
      if (!routes.every(({ Query = '' }) => LOCKS.test(Query))) lost.push(sql);
    }
    expect(lost).toEqual([]);
  });
});
