/**
 * @engines sqlite server
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { contract } from '../../contract/index.ts';
import { schema } from '../../src/app/schema.ts';
import { createKey } from '../../src/auth/service.ts';
import {
  KEPT_DAYS,
  readUses,
  storeCounts,
  sweepUses,
  type ConsumerUse,
  keyConsumer,
  readConsumerUses,
  sweepConsumerUses,
} from '../../src/consumers/use/store.ts';
import { keyUsesIn } from '../../src/consumers/entity.ts';
import { managerOn } from '../../src/db/manager.ts';
import { UseRecorder } from '../../src/consumers/use/recorder.ts';
import { Database } from '../../src/db/database.ts';
import { createUser } from '../../src/user/service.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { shelfProcedures } from '../harness/documents/deprecated.ts';
import { callTool, connect } from '../harness/http/mcp.ts';

// Who uses what: what is recorded of calls, and for how long.

const DAY_MS = 86_400_000;
const SCOPES = ['content:write', 'user:read'] as const;
const silent = pino({ level: 'silent' });
const nobody = { keyId: undefined, userAgent: undefined, idempotencyKey: undefined };

let database: TestDatabase;
let db: Database;
let now = new Date('2031-05-01T23:59:59.000Z');

const cli = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(args, { env: { DATABASE_URL: database.url } });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};

const recorder = (): UseRecorder => new UseRecorder(db.background, silent, () => now);

const newKey = async (made = now): Promise<string> => {
  const userId = await createUser(db, 'busy', made);
  return (await createKey(db, { userId, name: 'k', scopes: SCOPES, expiresAt: null }, made)).id;
};

/** What one consumer used, as `operation: parts`. */
const usedBy = async (consumer: string): Promise<Record<string, string>> => {
  const [use] = await readConsumerUses(db, { now, days: KEPT_DAYS, consumers: [consumer] });
  const named = (use?.operations ?? []).map(({ operation, parts }) => [
    operation,
    parts.map(({ name }) => name).join(' '),
  ]);
  return Object.fromEntries(named) as Record<string, string>;
};

const clientsOf = async (consumer: string): Promise<string[]> => {
  const [use] = await readConsumerUses(db, { now, days: KEPT_DAYS, consumers: [consumer] });
  return use?.clients.map(({ name }) => name) ?? [];
};

beforeAll(async () => {
  database = await createDatabase({ migrated: true });
  db = await Database.open(database.url, schema);
  await db.migrate();
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

describe('calls of keys', () => {
  let keyId: string;
  beforeAll(async () => {
    keyId = await newKey();
  });

  test('are counted by day and operation, by several instances', async () => {
    const instances = [recorder(), recorder()];
    for (const uses of instances) {
      for (let n = 0; n < 3; n += 1) uses.count(keyId, 'user.me');
      uses.count(keyId, 'game.create');
    }
    now = new Date(now.getTime() + 1000);
    instances[0]?.count(keyId, 'user.me');
    await Promise.all(instances.map((uses) => uses.flush()));
    instances[1]?.count(keyId, 'user.me');
    await instances[1]?.flush();
    expect(await readUses(db, keyId, now, 30)).toEqual([
      { day: '2031-05-02', operation: 'user.me', n: 2 },
      { day: '2031-05-01', operation: 'user.me', n: 6 },
      { day: '2031-05-01', operation: 'game.create', n: 2 },
    ]);
    expect(await readUses(db, keyId, now, 1)).toEqual([{ day: '2031-05-02', operation: 'user.me', n: 2 }]);
  });

  test('go away after 90 days', async () => {
    expect(await sweepUses(db, new Date(now.getTime() + 90 * DAY_MS))).toBe(false);
    expect(await readUses(db, keyId, now, 30)).toHaveLength(1);
    await sweepUses(db, new Date(now.getTime() + 91 * DAY_MS));
    expect(await readUses(db, keyId, now, 30)).toEqual([]);
  });

  test('go away part by part, by one statement each', async () => {
    const id = await newKey();
    const operations = Array.from({ length: 300 }, (_, n) => `game.${n}`);
    await db.transaction((tx) => storeCounts(tx, new Map(operations.map((one) => [`${id} 2031-01-01 ${one}`, 1]))));
    const parts: number[] = [];
    const counting: Parameters<typeof sweepUses>[0] = {
      manager: db.manager,
      transaction: (work) => {
        parts.push(0);
        return db.transaction((tx) => {
          const execute: typeof tx.execute = (sql, parameters) => {
            parts[parts.length - 1]! += 1;
            return tx.execute(sql, parameters);
          };
          return work({ ...tx, execute, manager: managerOn(db.dataSource, { read: tx.read, execute }) });
        });
      },
    };
    while (await sweepUses(counting, now));
    expect(parts).toEqual([1, 1, 1]);
    expect(await keyUsesIn(db).countBy({ keyId: id })).toBe(0);
  });

  test('are shown with the key, which is found by when it was used last', async () => {
    const stale = await newKey(new Date(Date.now() - 40 * DAY_MS));
    const listed = (await cli('keys', 'list', '--unused-since', '30d', '--json')).split('\n');
    expect(listed.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([stale]);
    await db.transaction((tx) => tx.execute("UPDATE api_keys SET last_used_at = '2999-01-01 00:00:00.000'", []));
    expect(await cli('keys', 'list', '--unused-since', '30d', '--json')).toBe('');

    const uses = new UseRecorder(db.background, silent, () => new Date());
    uses.count(stale, 'user.me');
    await uses.flush();
    expect(JSON.parse(await cli('keys', 'show', stale, '--json'))).toMatchObject({
      id: stale,
      state: 'active',
      lastUsedAt: '2999-01-01T00:00:00.000Z',
      uses: [{ operation: 'user.me', n: 1 }],
    });
    expect(await cli('keys', 'show', stale, '--days', '7')).toMatch(/\n\d{4}-\d\d-\d\d {2}1 {6}user\.me$/);
  });
});

describe('parts of calls', () => {
  test('are the members that were sent and the words of the contract, and no other value', async () => {
    const keyId = await newKey();
    const uses = recorder();
    const caller = { keyId, userAgent: undefined, idempotencyKey: 'a secret' };
    const game = { title: 'secret', tagNames: ['secret'], extraInfo: { downloads: [{ url: 'secret' }] }, secret: 1 };
    uses.note(contract.game.list, caller, { sortBy: 'views', search: 'secret', timeRange: 'secret' });
    uses.note(contract.game.batchCreate, caller, { games: [{ title: 'secret' }, game] });
    uses.note(contract.user.me, { ...caller, idempotencyKey: undefined }, undefined);
    uses.note(contract.image.list, { ...caller, idempotencyKey: undefined }, ['sortBy']);
    await uses.flush();
    const download = '/games/*/extraInfo /games/*/extraInfo/downloads /games/*/extraInfo/downloads/*/url';
    expect(await usedBy(keyConsumer(keyId))).toEqual({
      'game.list': '/search /sortBy /sortBy=views /timeRange Idempotency-Key',
      'game.batchCreate': `/games ${download} /games/*/tagNames /games/*/title Idempotency-Key`,
      'user.me': '',
      'image.list': '',
    });
    expect(JSON.stringify(await db.read('SELECT * FROM consumer_uses'))).not.toContain('secret');
  });

  test('of one day add up, whichever instance notes them, and each day is noted again', async () => {
    const keyId = await newKey();
    const [one, other] = [recorder(), recorder()];
    const caller = { ...nobody, keyId };
    for (const uses of [one, other]) uses.note(contract.game.list, caller, { limit: 1 });
    one.note(contract.game.list, caller, { page: 1 });
    other.note(contract.game.list, caller, { cursor: 'x' });
    await Promise.all([one.flush(), other.flush()]);
    expect(await usedBy(keyConsumer(keyId))).toEqual({ 'game.list': '/cursor /limit /page' });

    now = new Date(now.getTime() + DAY_MS);
    one.note(contract.game.list, caller, { page: 2 });
    await one.flush();
    const [use] = await readConsumerUses(db, { now, days: KEPT_DAYS, consumers: [keyConsumer(keyId)] });
    const [today, yesterday] = [0, DAY_MS].map((ms) => new Date(now.getTime() - ms).toISOString().slice(0, 10));
    expect(use).toEqual({
      consumer: keyConsumer(keyId),
      clients: [{ name: 'unnamed', lastDay: today }],
      operations: [
        {
          operation: 'game.list',
          lastDay: today,
          parts: [
            { name: '/cursor', lastDay: yesterday },
            { name: '/limit', lastDay: yesterday },
            { name: '/page', lastDay: today },
          ],
        },
      ],
    } satisfies { [Name in keyof ConsumerUse]: unknown });
    expect(await readConsumerUses(db, { now, days: 1, consumers: [keyConsumer(keyId)] })).toMatchObject([
      { operations: [{ parts: [{ name: '/page' }] }] },
    ]);
  });

  test('are stored once a day, however often they are used', async () => {
    const keyId = await newKey();
    const uses = recorder();
    for (let call = 0; call < 3; call += 1) uses.note(contract.game.list, { ...nobody, keyId }, { limit: call });
    expect(uses.parts.size).toBe(2);
    await uses.flush();
    uses.note(contract.game.list, { ...nobody, keyId }, { limit: 9 });
    expect(uses.parts.size).toBe(0);
  });

  test('are marked where they will go', async () => {
    const keyId = await newKey();
    const uses = recorder();
    for (const { id, route } of shelfProcedures) {
      uses.note(route, { ...nobody, keyId }, id === 'shelf.list' ? { order: 'newest', filters: [{ label: 'x' }] } : {});
    }
    await uses.flush();
    const consumers = [keyConsumer(keyId)];
    const [use] = await readConsumerUses(db, { now, days: 1, consumers, contract: shelfProcedures });
    const going = use?.operations.flatMap(({ operation, deprecated, parts }) => [
      ...(deprecated ? [operation] : []),
      ...parts.filter((part) => part.deprecated).map(({ name }) => `${operation} ${name}`),
    ]);
    expect(going).toEqual(['shelf.all', 'shelf.list /filters/*/label', 'shelf.list /order=newest']);
  });

  test('of a key that was deleted meanwhile are not stored', async () => {
    const uses = recorder();
    const keyId = '019a3c5e-b150-7e85-9f52-9d40ce61a205';
    uses.note(contract.user.me, { ...nobody, keyId }, {});
    await uses.flush();
    expect(await readConsumerUses(db, { now, days: KEPT_DAYS, consumers: [keyConsumer(keyId)] })).toEqual([]);
    expect(uses.parts.lost).toBe(0);
  });

  test('go away after 90 days', async () => {
    const end = new Date(now.getTime() + (KEPT_DAYS + 1) * DAY_MS);
    expect(await sweepConsumerUses(db, new Date(now.getTime() + KEPT_DAYS * DAY_MS))).toBe(false);
    expect(await readConsumerUses(db, { now, days: 1 })).not.toEqual([]);
    await sweepConsumerUses(db, end);
    expect(await readConsumerUses(db, { now, days: KEPT_DAYS })).toEqual([]);
  });
});

describe('clients', () => {
  test('are told by the first product and the contract of their user agent', async () => {
    const keyId = await newKey();
    const uses = recorder();
    const agents = [
      'content-gateway-python/1.1.0 (contract 1.1.0; python 3.12.1) my-app/2.0',
      'Mozilla/5.0 (X11; Linux x86_64)',
      'curl/8.5.0',
      // The name of a person, a key, and nonsense.
      'cgk_sandboxAll00000000000000000000002FwSwT/1',
      '(nothing)',
      undefined,
    ];
    for (const userAgent of agents) uses.note(contract.user.me, { ...nobody, keyId, userAgent }, {});
    await uses.flush();
    const clients = ['Mozilla/5.0', 'content-gateway-python/1.1.0 contract/1.1.0', 'curl/8.5.0', 'unnamed'];
    expect(await clientsOf(keyConsumer(keyId))).toEqual(clients);
  });

  test('are few, whatever names callers make up', async () => {
    const keyId = await newKey();
    const uses = recorder();
    for (let client = 0; client < 400; client += 1) {
      const userAgent = `made-up/${client}`;
      uses.note(contract.game.list, { ...nobody, keyId, userAgent }, {});
      uses.note(contract.game.list, { ...nobody, userAgent }, { page: 1 });
    }
    await uses.flush();
    const clients = await clientsOf(keyConsumer(keyId));
    expect(clients).toHaveLength(9);
    expect(clients).toContain('other');
    const anonymous = (await readConsumerUses(db, { now, days: 1 })).filter(({ consumer }) =>
      consumer.startsWith('client '),
    );
    expect(anonymous).toHaveLength(257);
    expect(await usedBy('client other')).toEqual({ 'game.list': '/page' });
  });
});

describe('a service', () => {
  const post = (url: string, ids: string, json: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}/api/trpc/${ids}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(json),
    });

  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());

  test('records calls of all transports, refused inputs, and reads that are answered together', async () => {
    const { url } = app;
    const { key, keyId } = await app.aUser();
    const of = (agent: string) => ({ 'User-Agent': `${agent}/1` });
    const input = (json: object): string => `input=${encodeURIComponent(JSON.stringify({ json }))}`;
    await post(url, 'game.list', { json: { limit: 0 } }, of('refused'));
    await Promise.all(['one', 'two', 'three'].map((agent) => post(url, 'game.list', { json: { page: 1 } }, of(agent))));
    const batch = { 0: { json: { sortBy: 'views' } }, 1: { json: { limit: 1 } } };
    await post(url, 'image.list,game.list?batch=1', batch, of('batch'));
    await fetch(`${url}/api/trpc/game.list?${input({ search: 'x' })}`, { headers: of('get') });
    const tail = await fetch(`${url}/api/trpc/event.tail?${input({ start: 'latest' })}`, { headers: of('tail') });
    await tail.body?.cancel();
    await callTool(await connect(url, { headers: of('mcp') }), 'game.getTypeStats');
    const keyed = { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'k', ...of('keyed') };
    await post(url, 'game.create', { json: { title: 'x' } }, keyed);
    // Who may not call an operation does not use it.
    await post(url, 'user.me', {}, of('refused'));
    await app.context.auth.uses?.flush();

    const used = await readConsumerUses(app.context.db, { now: new Date(), days: 1 });
    const told = used.map(({ consumer, clients, operations }) => [
      consumer,
      ...clients.map(({ name }) => name),
      ...operations.map(({ operation, parts }) => [operation, ...parts.map(({ name }) => name)].join(' ')),
    ]);
    expect(told).toEqual([
      ['client batch/1', 'game.list /limit', 'image.list /sortBy /sortBy=views'],
      ['client get/1', 'game.list /search'],
      ['client mcp/1', 'game.getTypeStats'],
      ['client one/1', 'game.list /page'],
      ['client refused/1', 'game.list /limit'],
      ['client tail/1', 'event.tail /start /start=latest'],
      ['client three/1', 'game.list /page'],
      ['client two/1', 'game.list /page'],
      [keyConsumer(keyId), 'keyed/1', 'game.create /title Idempotency-Key'],
    ]);
    const env = { DATABASE_URL: app.databaseUrl };
    const { stdout } = await runCommand(['keys', 'use', '--key', keyId], { env });
    expect(stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      'CONSUMER OPERATION LAST DAY CLIENTS OR PARTS',
      `key ${keyId} keyed/1`,
      `key ${keyId} game.create ${new Date().toISOString().slice(0, 10)} /title Idempotency-Key`,
      '',
    ]);
    const listed = (await runCommand(['keys', 'use', '--json'], { env })).stdout.trim().split('\n');
    const shown = listed.map((line) => JSON.parse(line) as ConsumerUse & { key?: object });
    expect(shown.map(({ consumer, clients, operations }) => ({ consumer, clients, operations }))).toEqual(used);
    expect(shown.at(-1)?.key).toMatchObject({ id: keyId });
    const pasted = await runCommand(['keys', 'use', '--key', key], { env });
    expect(pasted.stderr).toContain('This is a key, not its id.');
  });

  test('records nothing with USE_RECORDING=off', async () => {
    const other = await startApp({ settings: { USE_RECORDING: 'off' } });
    const { key } = await other.aUser();
    await post(other.url, 'game.list', { json: { page: 1 } });
    await other.call('user.me', {}, key);
    expect(other.context.auth.uses).toBeUndefined();
    expect(await readConsumerUses(other.context.db, { now: new Date(), days: 1 })).toEqual([]);
    await other.stop();
  });
});
