/**
 * @engines sqlite
 * @tier long
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey } from '../harness/http/load.ts';
import { type Environment, runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { until } from '../harness/until.ts';

// The real program on any database: an address that it cannot have, and connections when it is told to stop.

let database: TestDatabase;
let key: string;
let served: ServeProcess | undefined;

describe('server process', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
  });
  afterEach(async () => {
    await served?.stop('SIGKILL');
    await database.drop();
  });

  const start = async (env: Environment = {}): Promise<ServeProcess> => {
    const started = await startServe({ url: database.url, env: { LOG_LEVEL: 'info', ...env } });
    served = started;
    return started;
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
        'Expect: 100-continue',
        '',
        body.slice(0, 10),
      ].join('\r\n'),
    );
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
    const answered = once(socket, 'close').then(() => answer);
    // The service has to see it before it is told to stop.
    await until(() => answer.startsWith('HTTP/1.1 100 '));
    answer = '';
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
      const service = await start();
      const slow = await startSlowRequest(service.base);
      const { exited } = await beginToStop(service);
      slow.finish();
      const answer = await slow.answered;
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      expect(answer).toMatch(/^Connection: close\r$/m);
      expect(answer).toMatch(/"nextCursor":null\}\}\}\}$/);
      expect(await exited).toEqual([0, null]);
    });

    test('answers what an open connection sends meanwhile, as its last', async () => {
      const service = await start();
      const client = openClient(service.base, key);
      expect(await client.call('user.me', {})).toMatchObject({ kind: 'answered', status: 200 });
      const slow = await startSlowRequest(service.base);
      const { exited } = await beginToStop(service);
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

    test('is answered for SHUTDOWN_DELAY_MS with being no longer ready, and all else as ever', async () => {
      const { base, child } = await start({ SHUTDOWN_DELAY_MS: '1500' });
      const exited = once(child, 'exit');
      const status = async (path: string) => (await fetch(base + path)).status;
      expect(await status('/readyz')).toBe(200);
      const asked = performance.now();
      child.kill('SIGTERM');
      while ((await status('/readyz')) === 200) await sleep(10);
      expect(await (await fetch(`${base}/readyz`)).json()).toEqual({ status: 'stopping' });
      expect([await status('/healthz'), await status('/docs/')]).toEqual([200, 200]);
      expect(await exited).toEqual([0, null]);
      expect(performance.now() - asked).toBeGreaterThan(1500);
    });

    test('refuses no connection before calls have ended that began within SHUTDOWN_DELAY_MS', async () => {
      const { base, child } = await start({ SHUTDOWN_DELAY_MS: '1' });
      const exited = once(child, 'exit');
      const slow = await startSlowRequest(base);
      child.kill('SIGTERM');
      const stopping = async () => (await fetch(`${base}/readyz`)).status === 503;
      while (!(await stopping())) await sleep(10);
      await sleep(300);
      expect(await stopping()).toBe(true);
      slow.finish();
      expect(await slow.answered).toMatch(/^HTTP\/1\.1 200 /);
      expect(await exited).toEqual([0, null]);
    });

    test('a second time ends the program at once', async () => {
      const service = await start();
      await startSlowRequest(service.base);
      const { exited } = await beginToStop(service);
      service.child.kill('SIGTERM');
      // It would end with 0 had it waited for the request.
      expect(await exited).toEqual([null, 'SIGTERM']);
    });
  });

  test('SIGINT stops the service with status 0, as SIGTERM does', async () => {
    const { output, stop } = await start();
    expect(await stop('SIGINT')).toBe(0);
    expect(output()).toContain('"msg":"stopped"');
  });

  test.each(['not.a.host.invalid', '192.0.2.1'])('the address %s cannot be had', async (host) => {
    const env = { DATABASE_URL: database.url, HOST: host, PORT: '0', LOG_LEVEL: 'warn' };
    expect(await runCli(['serve'], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: HOST "${host}" is not an address of this machine\n`,
    });
  });

  test('ends in time though nobody reads its log any more', async () => {
    const { base, child } = await start({ SHUTDOWN_TIMEOUT_MS: '1000', RATE_LIMIT: 'off' });
    child.stderr?.pause();
    // More than pipes and sockets hold.
    for (let count = 0; count < 500; count += 1) await fetch(`${base}/${'x'.repeat(4000)}`);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    // The thread that writes cannot be ended otherwise.
    expect(await ended).toEqual([null, 'SIGKILL']);
  });
});
