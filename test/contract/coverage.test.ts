/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { operations, type ProcedureMetadata, procedures, type Reason } from '../../contract/index.ts';
import { demoKeyIn } from '../harness/app/demo.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { occupy } from '../harness/app/overload.ts';
import { withDatabase } from '../harness/http/load.ts';
import { breakDisk } from '../harness/servers/sqlite-failure.ts';

// The failures that every operation declares and that have nothing to do with what it does. Those of credentials and
// inputs are in walk.test.ts.

interface Sent {
  body?: string;
  headers?: Record<string, string>;
}

const post = (app: TestApp, key: string, { id, example }: ProcedureMetadata, { body, headers = {} }: Sent = {}) =>
  app.http
    .post(`/api/trpc/${id}`)
    .set({ 'Content-Type': 'application/json', Authorization: `Bearer ${key}`, ...headers })
    .send(body ?? JSON.stringify({ json: example.input }));

interface Failure {
  status: number;
  reason: Reason;
  retryAfter?: RegExp;
}

const expectFailure = async (
  sent: ReturnType<typeof post>,
  { status, reason, retryAfter = /^undefined$/ }: Failure,
): Promise<void> => {
  const reply = await sent;
  expect([reply.status, reply.body.error?.json.data.reason]).toEqual([status, reason]);
  expect(String(reply.headers['retry-after'])).toMatch(retryAfter);
};

/** Asks these operations at once, since each takes long to fail. Resolves to what came of each, by its id. */
const askAll = async (
  app: TestApp,
  key: string,
  all: readonly ProcedureMetadata[],
  failure: Failure,
): Promise<Map<string, Promise<void>>> => {
  const asked = new Map(all.map((operation) => [operation.id, expectFailure(post(app, key, operation), failure)]));
  await Promise.allSettled(asked.values());
  return asked;
};

describe('a request that cannot be read', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    ({ key } = await app.aUser());
  });
  afterAll(() => app.stop());

  test.each(operations)('is refused by $id', async (operation) => {
    await expectFailure(post(app, key, operation, { body: '{"json":' }), { status: 400, reason: 'MALFORMED_JSON' });
    await expectFailure(post(app, key, operation, { body: ' '.repeat(operation.bodyLimit + 1) }), {
      status: 413,
      reason: 'PAYLOAD_TOO_LARGE',
    });
    await expectFailure(post(app, key, operation, { headers: { 'Content-Type': 'text/plain' } }), {
      status: 415,
      reason: 'UNSUPPORTED_MEDIA_TYPE',
    });
  });
});

describe('a fault on demand', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp({ sandbox: true });
    ({ key } = await app.aUser());
  });
  afterAll(() => app.stop());

  test.each(operations)('is had from $id', async (operation) => {
    const ask = (status: number) => post(app, key, operation, { headers: { 'X-Sandbox-Status': String(status) } });
    await expectFailure(ask(429), { status: 429, reason: 'RATE_LIMITED', retryAfter: /^1$/ });
    await expectFailure(ask(500), { status: 500, reason: 'INTERNAL' });
    await expectFailure(ask(503), { status: 503, reason: 'OVERLOADED', retryAfter: /^[123]$/ });
  });
});

describe('a service that is busy', () => {
  let app: TestApp;
  let failures: Map<string, Promise<void>>;
  let leave: () => void;
  const gone = new Promise<void>((resolve) => (leave = resolve));

  beforeAll(async () => {
    // Long enough to start in, on a machine that is busy itself; all wait for it together.
    app = await startApp({ requestTimeoutMs: 2000 });
    const { key } = await app.aUser();
    void occupy(app.context, procedures, gone);
    failures = await askAll(app, key, procedures, { status: 503, reason: 'TIMEOUT', retryAfter: /^1$/ });
  });
  afterAll(async () => {
    leave();
    await app.stop();
  });

  test.each(procedures)('gives $id up when its time is over', async ({ id }) => {
    await failures.get(id);
  });
});

describe('a database that has gone away', () => {
  let app: TestApp;
  let failures: Map<string, Promise<void>>;
  beforeAll(async () => {
    app = await startApp();
    const key = await demoKeyIn(app.context.db, app.context.now());
    // A connection to SQLite takes note of the tables at its first read, and would afterwards know of none.
    await app.call('game.getTypeStats', {});
    breakDisk(app.databaseUrl);
    await withDatabase(app.databaseUrl, (db) => db.transaction((tx) => tx.execute('DELETE FROM game_favorites')));
    failures = await askAll(app, key, operations, { status: 503, reason: 'DATABASE_UNAVAILABLE', retryAfter: /^1$/ });
  });
  afterAll(() => app.stop());

  test.each(operations)('is told by $id', async ({ id }) => {
    await failures.get(id);
  });
});
