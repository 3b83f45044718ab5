import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openClient } from '../support/client.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { aKey } from '../support/load.ts';
import { type Environment, type ServeProcess, startServe } from '../support/program.ts';

// What becomes of connections when the real program is told to stop.

let database: TestDatabase;
let served: ServeProcess;

beforeEach(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  await served.stop('SIGKILL');
  await database.drop();
});

const start = async (env: Environment = {}): Promise<ServeProcess> => {
  served = await startServe({ url: database.url, env: { LOG_LEVEL: 'info', ...env } });
  return served;
};

/** Sends a request up to the middle of its body, so that it stays under way. */
const startSlowRequest = async (base: string) => {
  const { hostname, port } = new URL(base);
  const body = '{"json":{"limit":1,"page":1}}';
  const socket = connect(Number(port), hostname);
  socket.write(
    [
      'POST /api/trpc/game.list HTTP/1.1',
      'Host: gateway',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body.slice(0, 10),
    ].join('\r\n'),
  );
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  const answered = once(socket, 'close').then(() => answer);
  // The service has to see it before it is told to stop.
  await sleep(100);
  return {
    /** Resolves with whatever was answered when the connection is closed. */
    answered,
    finish: () => socket.write(body.slice(10)),
  };
};

/** Tells the service to stop, and resolves when it accepts nothing more. */
const beginToStop = async ({ base, child }: ServeProcess): Promise<{ exited: Promise<unknown[]> }> => {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  while (!(await isGone(base))) await sleep(10);
  return { exited };
};

const isGone = async (base: string): Promise<boolean> => {
  const client = openClient(base);
  const { kind } = await client.get('/healthz');
  client.close();
  return kind === 'refused';
};

describe('SIGTERM', () => {
  test('lets what is under way finish, though nothing new is accepted', async () => {
    const { base } = await start();
    const slow = await startSlowRequest(base);
    const { exited } = await beginToStop(served);
    slow.finish();
    const answer = await slow.answered;
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/^Connection: close\r$/m);
    expect(answer).toMatch(/"nextCursor":null\}\}\}\}$/);
    expect(await exited).toEqual([0, null]);
  });

  test('answers what an open connection sends meanwhile, as its last', async () => {
    const { base } = await start();
    const client = openClient(base, await aKey(database.url));
    expect(await client.call('user.me', {})).toMatchObject({ kind: 'answered', status: 200 });
    const slow = await startSlowRequest(base);
    const { exited } = await beginToStop(served);
    expect(await client.call('user.me', {})).toMatchObject({ kind: 'answered', status: 200 });
    expect(await client.call('user.me', {})).toMatchObject({ kind: 'refused' });
    slow.finish();
    expect(await exited).toEqual([0, null]);
  });

  test('cuts off after SHUTDOWN_TIMEOUT_MS what does not finish', async () => {
    const { base, output, stop } = await start({ SHUTDOWN_TIMEOUT_MS: '300' });
    const slow = await startSlowRequest(base);
    expect(await stop()).toBe(0);
    expect(await slow.answered).toBe('');
    expect(output()).toContain('cut off requests that took too long');
  });

  test('a second time ends the program at once', async () => {
    const { base, child } = await start();
    await startSlowRequest(base);
    const { exited } = await beginToStop(served);
    const asked = performance.now();
    child.kill('SIGTERM');
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(performance.now() - asked).toBeLessThan(1000);
  });
});

test('SIGINT stops alike', async () => {
  const { output, stop } = await start();
  expect(await stop('SIGINT')).toBe(0);
  expect(output()).toContain('"msg":"stopped"');
});
