/**
 * @engines mariadb
 * @tier fault
 * @needs haproxy
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { type PrintedBalancer, startHaproxy } from '../harness/faults/haproxy.ts';
import { startReaders } from '../harness/faults/readers.ts';
import { type Attempt, audit, startTogglers, startWriters } from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type Environment, PROGRAM, runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { buildReleased, releasedVersions } from '../harness/released.mjs';
import { until } from '../harness/until.ts';

// Instances on one database, behind the balancer as docs/scaling.md sets it up.

/** Five programs start, some of them again, on a machine that may be busy with others. */
const PATIENCE_MS = 600_000;

/** How long an instance that is told to stop still answers: longer than the balancer needs to look twice. */
const SHUTDOWN_DELAY_MS = '3000';

/** Far more than usual, as what a busy machine cannot do in 10 s has not failed; less than the balancer waits. */
const REQUEST_TIMEOUT_MS = '50000';
/** Callers wait for the service to say that, and no longer than the balancer. */
const CALLER_MS = 55_000;
/** An instance that ends waits for such requests, too. */
const SHUTDOWN_TIMEOUT_MS = '60000';

let database: TestDatabase;
let key: string;
let ports: number[];
let served: ServeProcess[];
/** Every service that a test has started. */
let started: ServeProcess[] = [];
let balancer: PrintedBalancer;

const start = async (port: number, program = PROGRAM, env: Environment = {}): Promise<ServeProcess> => {
  const service = await startServe({
    url: database.url,
    program,
    env: {
      LOG_LEVEL: 'warn',
      RATE_LIMIT: 'off',
      SHUTDOWN_DELAY_MS,
      SHUTDOWN_TIMEOUT_MS,
      REQUEST_TIMEOUT_MS,
      PORT: String(port),
      ...env,
    },
  });
  started.push(service);
  return service;
};

afterEach(async () => {
  started = [];
  await balancer.close();
  await Promise.all(served.map((one) => one.stop('SIGKILL')));
  await database.drop();
});

/** Each has one request under way. */
const CALLERS = 10;

/** Callers that repeat nothing, so that whatever fails is seen. */
const startCallers = async () => {
  const writers = startWriters(balancer.url, key, { count: 4, obedient: false, patienceMs: CALLER_MS });
  const togglers = await startTogglers(balancer.url, key, { count: 2, obedient: false, patienceMs: CALLER_MS });
  const readers = startReaders(
    balancer.url,
    [
      { procedure: 'game.list', input: { limit: 20, page: 1 } },
      { procedure: 'game.list', input: { limit: 20, page: 1 }, key },
      { procedure: 'user.me', input: {}, key },
      { procedure: 'user.search', input: { query: 'a', limit: 1 }, key },
    ],
    { restMs: 1, patienceMs: CALLER_MS },
  );
  return {
    writers,
    togglers,
    stop: async (): Promise<Attempt[]> => {
      await Promise.all([writers.stop(), togglers.stop(), readers.stop()]);
      return [...writers.attempts, ...togglers.attempts, ...readers.attempts];
    },
  };
};

/** Those that did not succeed, in words, and if there are some, the warnings of the services. */
const failuresOf = (attempts: readonly Attempt[]): string[] => {
  const failures = attempts
    .filter(({ outcome }) => outcome !== 'ok')
    .map(({ procedure, outcome, at, ms }) => `${procedure} ${outcome}, ${Math.round(at)}–${Math.round(at + ms)} ms`);
  const isWarning = (line: string): boolean => /"level":[4-6]0/.test(line) && !line.includes('no security fixes');
  const warnings = started.flatMap((service, index) =>
    service
      .log()
      .split('\n')
      .filter(isWarning)
      .map((line) => `service ${index}: ${line}`),
  );
  return failures.length === 0 ? [] : [...failures, ...warnings];
};

describe('instances behind HAProxy', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    ports = await freePorts(4);
    served = await Promise.all(ports.map((port) => start(port)));
    balancer = await startHaproxy(ports);
  }, PATIENCE_MS);

  test(
    'when one of four instances is killed, only requests in flight on it fail, and what shows the balancer that it is gone',
    async () => {
      const callers = await startCallers();
      const kills: { from: number; to: number; noticed: number }[] = [];
      for (const [index, port] of ports.slice(0, 2).entries()) {
        await callers.writers.succeeded(30);
        const from = performance.now();
        await served[index]!.stop('SIGKILL');
        const to = performance.now();
        await callers.writers.succeeded(30);
        served[index] = await start(port);
        kills.push({ from, to, noticed: performance.now() });
      }
      await callers.writers.succeeded(30);
      const attempts = await callers.stop();

      const failed = attempts.filter(({ outcome }) => outcome !== 'ok');
      const inFlight = ({ at, ms }: Attempt): boolean => kills.some(({ from, to }) => at <= to && at + ms >= from);
      // The call by which a backend finds out may be among the sessions that it ends. A read would be repeated.
      const late = failed.filter((attempt) => !inFlight(attempt));
      const isBeforeNoticed = ({ at }: Attempt): boolean => kills.some(({ to, noticed }) => at > to && at < noticed);
      const checked = await audit(database.url, callers.writers, callers.togglers);
      const { duplicated, ...stored } = checked;
      expect(failuresOf(late.filter((attempt) => !isBeforeNoticed(attempt)))).toEqual([]);
      // One for each of the two backends.
      expect(failuresOf(late.slice(2 * kills.length))).toEqual([]);
      expect(failed.length).toBeLessThanOrEqual(kills.length * CALLERS);
      expect(stored).toMatchObject({ lost: 0 });
      // What was stored without an answer, or toggled unseen, is no more than what failed.
      expect(checked.unacknowledged + duplicated).toBeLessThanOrEqual(failed.length);
      await withDatabase(database.url, expectExactCounts);
    },
    PATIENCE_MS,
  );

  test(
    'a rolling restart of four instances fails no request',
    async () => {
      const callers = await startCallers();
      for (const [index, port] of ports.entries()) {
        await callers.writers.succeeded(20);
        expect(await served[index]!.stop('SIGTERM')).toBe(0);
        await callers.writers.succeeded(20);
        served[index] = await start(port);
        // Until the balancer has looked.
        await sleep(1500);
      }
      await callers.writers.succeeded(20);
      const attempts = await callers.stop();

      const checked = await audit(database.url, callers.writers, callers.togglers);
      expect(failuresOf(attempts)).toEqual([]);
      expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
      await withDatabase(database.url, expectExactCounts);
    },
    PATIENCE_MS,
  );
});

describe('two instances of a release behind HAProxy', () => {
  const run = async (program: string, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli(args, { env: { DATABASE_URL: database.url }, program });
    if (code !== 0) throw new Error(`${args.join(' ')} ended with status ${code}:\n${stdout}\n${stderr}`);
    return stdout.trim();
  };

  /** With a log of the calls, which tells when the balancer sends some. */
  const startOne = (port: number, program: string): Promise<ServeProcess> =>
    start(port, program, { LOG_LEVEL: 'info', AUTO_MIGRATE: 'false' });

  const hasServed = (service: ServeProcess): boolean => service.log().includes('"procedure":"game.create"');

  // From the oldest, a migration changes the tables that are in use.
  test.each(process.env['UPGRADE_FROM'] === 'all' ? releasedVersions : releasedVersions.slice(0, 1))(
    'a rolling upgrade from %s fails no request, nor does the way back',
    async (version) => {
      const { program: released } = buildReleased(version);
      database = await createDatabase({ empty: true });
      await run(released, 'migrate');
      const user = await run(released, 'users', 'create', '--nickname', 'author');
      key = await run(released, 'keys', 'create', '--user', user, '--scopes', 'content:write,user:read');
      ports = await freePorts(2);
      served = await Promise.all(ports.map((port) => startOne(port, released)));
      balancer = await startHaproxy(ports, version === '1.0.0' ? 'on-marked-down shutdown-sessions' : '');

      const callers = await startCallers();
      await callers.writers.succeeded(20);
      await run(PROGRAM, 'migrate');
      for (const program of [PROGRAM, released]) {
        for (const [index, port] of ports.entries()) {
          await callers.writers.succeeded(20);
          expect(await served[index]!.stop('SIGTERM')).toBe(0);
          await callers.writers.succeeded(20);
          const service = await startOne(port, program);
          served[index] = service;
          await until(() => hasServed(service));
        }
      }
      await callers.writers.succeeded(20);
      const attempts = await callers.stop();

      const checked = await audit(database.url, callers.writers, callers.togglers);
      expect(failuresOf(attempts)).toEqual([]);
      expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
      await run(PROGRAM, 'reconcile', '--fix');
      await withDatabase(database.url, expectExactCounts);
    },
    PATIENCE_MS,
  );
});
