/**
 * @engines sqlite mariadb
 * @tier fault
 * @needs haproxy nginx
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ErrorResponse, operations } from '../../contract/index.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type PrintedBalancer, printedFor, startHaproxy, startNginx } from '../harness/faults/haproxy.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { aKey } from '../harness/http/load.ts';
import { startWithAccount } from '../harness/servers/gateway-account.ts';
import { fillDisk, mountSmallDisk } from '../harness/servers/small-disk.ts';
import { until } from '../harness/until.ts';

// The balancers of docs/scaling.md, in front of instances that cannot do everything, or do not answer.

jest.setTimeout(300_000);

const balancers = [
  ['haproxy', startHaproxy],
  ['nginx', startNginx],
] as const;
const { name: engine, server: program } = globalThis.TEST_ENGINE;

/** A database that can be made to take no writes, and to take them again. */
interface Database {
  url: string;
  takeWrites(does: boolean): Promise<void>;
  remove(): Promise<void>;
}

const onSmallDisk = async (): Promise<Database> => {
  const disk = mountSmallDisk(4);
  if (!disk) throw new Error('this machine lets nobody mount a disk');
  const filler = join(disk.folder, 'filler');
  return {
    url: `sqlite:${join(disk.folder, 'content.db')}`,
    takeWrites: async (does) => (does ? rmSync(filler) : fillDisk(filler)),
    remove: async () => disk.remove(),
  };
};

const onServer = async (): Promise<Database> => {
  if (!program || !('binary' in program)) throw new Error('it needs a server of its own');
  const { url, run, stop } = await startWithAccount('mariadb', program);
  return {
    url,
    takeWrites: async (does) => void (await run(`SET GLOBAL read_only = ${does ? 0 : 1}`)),
    remove: stop,
  };
};

let served: ServeProcess[];
let balancer: PrintedBalancer | undefined;
let clients: Client[];

const clientOf = (base: string, key?: string): Client => {
  const client = openClient(base, key);
  clients.push(client);
  return client;
};

const start = async (url: string, count: number): Promise<number[]> => {
  const ports = await freePorts(count);
  for (const port of ports) {
    const env = { LOG_LEVEL: 'debug', PORT: String(port), TRUST_PROXY: '1', REQUEST_TIMEOUT_MS: '50000' };
    served.push(await startServe({ url, env }));
  }
  return ports;
};

beforeEach(() => {
  [served, clients, balancer] = [[], [], undefined];
});
afterEach(async () => {
  for (const client of clients) client.close();
  await balancer?.close();
  await Promise.all(served.map((one) => one.stop('SIGKILL')));
});

const statusOf = (ending: Ending): number | string => (ending.kind === 'answered' ? ending.status : ending.code);

/** Expects a failure in the form of the service, and returns its reason. */
const reasonOf = (ending: Ending): string => {
  if (ending.kind !== 'answered') throw new Error(`The connection failed: ${ending.code}`);
  const { error } = ErrorResponse.strict().parse(JSON.parse(ending.text));
  expect(ending.status).toBe(503);
  expect(error.json.data).toMatchObject({ httpStatus: 503, requestId: ending.headers['x-request-id'] });
  expect(ending.retryAfter).toMatch(/^\d+$/);
  expect(ending.headers['content-type']).toMatch(/^application\/json/);
  return error.json.data.reason;
};

/** Large enough that a log with room on a full disk is soon used up. */
const GAME = { title: 'a game', description: 'a'.repeat(5000) };

const list = (client: Client) => client.call('game.list', { limit: 5, page: 1 });
const create = (client: Client, key?: string) =>
  client.call('game.create', GAME, key === undefined ? {} : { 'Idempotency-Key': key });

describe.each(balancers)('behind the %s of the guide', (name, startBalancer) => {
  let database: Database;
  beforeEach(async () => {
    database = await (engine === 'sqlite' ? onSmallDisk() : onServer());
  });
  afterEach(() => database.remove());

  test('reads go on while the database takes no writes, and all failures have the form of the service', async () => {
    const ports = await start(database.url, engine === 'sqlite' ? 1 : 2);
    const key = await aKey(database.url);
    balancer = await startBalancer(ports);
    const caller = clientOf(balancer.url, key);
    const direct = served.map(({ base }) => clientOf(base));
    const untilWritesAre = (status: number): Promise<void> =>
      until(async () => {
        // A log that has room takes a few more writes on a full disk.
        await create(caller);
        const answers = await Promise.all(direct.map((client) => client.get('/readyz?for=write')));
        return answers.every((answer) => statusOf(answer) === status);
      });
    const checks = (): number => Math.min(...served.map((one) => one.log().match(/"path":"\/readyz/g)?.length ?? 0));

    await until(async () => statusOf(await create(caller)) === 200);
    await database.takeWrites(false);
    await untilWritesAre(503);
    // Until the balancer knows, if it asks.
    const before = checks();
    if (name === 'haproxy') await until(() => checks() > before + 8);
    for (let n = 0; n < 8; n += 1) expect(statusOf(await list(caller))).toBe(200);
    expect(await Promise.all(direct.map((client) => client.get('/readyz?for=read')))).toMatchObject(
      direct.map(() => ({ status: 200, text: '{"status":"ready"}' })),
    );
    expect(reasonOf(await create(caller, randomUUID()))).toBe('DATABASE_UNAVAILABLE');
    expect(reasonOf(await create(caller))).toBe('DATABASE_UNAVAILABLE');
    await database.takeWrites(true);
    await untilWritesAre(200);
    await until(async () => statusOf(await create(caller)) === 200);

    await Promise.all(served.map((one) => one.stop('SIGKILL')));
    for (const call of [() => list(caller), () => create(caller), () => create(caller, randomUUID())])
      expect(['OVERLOADED', 'OUTCOME_UNKNOWN']).toContain(reasonOf(await call()));
  });
});

describe('the HAProxy of the guide', () => {
  const text = printedFor('haproxy');

  test.each(['haproxy', 'nginx'] as const)('the reads in the configuration of %s are those of the contract', (name) => {
    const patterns = new Set(printedFor(name).match(/\/api\/trpc\/\(\\w\S+\+\$/g));
    expect(patterns.size).toBe(1);
    const pattern = new RegExp(`^${[...patterns].join('')}`);
    const reads = operations.filter(({ id }) => pattern.test(`/api/trpc/${id}`)).map(({ id }) => id);
    expect(reads).toEqual(operations.filter(({ effect }) => effect === 'read').map(({ id }) => id));
    expect(pattern.test('/api/trpc/game.list,user.me')).toBe(true);
    expect(pattern.test('/api/trpc/game.list,game.create')).toBe(false);
  });

  test('leaves a silent instance within six seconds', () => {
    const ms = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
    const [inter, fast, check, fall] = [
      / inter (\d+)ms/,
      /fastinter (\d+)ms/,
      /timeout check (\d+)ms/,
      /fall (\d)/,
    ].map(ms) as [number, number, number, number];
    expect(inter + fall * check + (fall - 1) * fast).toBeLessThan(6000);
  });

  if (engine !== 'sqlite')
    test('repeats on another what a silent instance has and may be repeated, and tells of the rest', async () => {
      const database: TestDatabase = await createDatabase();
      try {
        const ports = await start(database.url, 2);
        const key = await aKey(database.url);
        const own = (balancer = await startHaproxy(ports));
        const [silent] = served as [ServeProcess];
        // As many as find both instances, each with a connection of its own.
        const callers = Array.from({ length: 16 }, () => clientOf(own.url, key));
        const isReady = async (): Promise<boolean> =>
          (await Promise.all(callers.map((client) => create(client)))).every((ending) => statusOf(ending) === 200);
        await until(isReady);
        silent.child.kill('SIGSTOP');
        const endings = await Promise.all(
          callers.flatMap((client) => [
            // On a connection that was used before, HAProxy closes it in place of an answer.
            create(clientOf(own.url, key)).then((ending) => ['write', ending] as const),
            create(clientOf(own.url, key), randomUUID()).then((ending) => ['repeatable', ending] as const),
            list(client).then((ending) => ['read', ending] as const),
          ]),
        );
        const cut = endings.filter(([, ending]) => statusOf(ending) !== 200);
        expect(cut.length).toBeGreaterThan(0);
        for (const [kind, ending] of cut) {
          expect([kind, reasonOf(ending)]).toEqual(['write', 'OUTCOME_UNKNOWN']);
          expect(ending).toMatchObject({ headers: { 'x-should-retry': 'false' } });
        }
        // It is out, so that nobody meets it any more.
        for (const client of callers) expect(statusOf(await create(client))).toBe(200);
        silent.child.kill('SIGCONT');
      } finally {
        await balancer?.close();
        await Promise.all(served.map((one) => one.stop('SIGKILL')));
        await database.drop();
      }
    });
});
