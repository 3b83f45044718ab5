/**
 * @engines sqlite
 * @tier long
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

let database: TestDatabase;
let served: ServeProcess;

describe('worker processes', () => {
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterEach(() => served.stop('SIGKILL'));
  afterAll(() => database.drop());

  const start = async (): Promise<void> => {
    served = await startServe({ url: database.url, env: { WORKERS: '2', LOG_LEVEL: 'debug' } });
  };

  /** The log so far, without what was printed. */
  const log = (): { msg: string; pid: number }[] =>
    served
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { msg: string; pid: number });

  const logged = async (message: string): Promise<void> => {
    while (!log().some(({ msg }) => msg === message)) await sleep(20);
  };

  /** Asks on connections of their own, until so many processes have answered, and returns their ids. */
  const answering = async (count: number): Promise<number[]> => {
    const began = log().length;
    for (let attempt = 0; attempt < 200; attempt += 1) {
      await fetch(`${served.base}/healthz`, { headers: { Connection: 'close' } }).catch(() => sleep(20));
      const pids = new Set(
        log()
          .slice(began)
          .filter(({ msg }) => msg === 'request')
          .map(({ pid }) => pid),
      );
      if (pids.size === count) return [...pids];
      await sleep(20);
    }
    throw new Error(`fewer than ${count} processes answered:\n${served.output()}`);
  };

  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  const gone = async (pids: readonly number[]): Promise<boolean> => {
    for (let attempt = 0; attempt < 500; attempt += 1) {
      if (!pids.some(isAlive)) return true;
      await sleep(20);
    }
    return false;
  };

  test('several workers share a port, are replaced when they die, and stop together', async () => {
    await start();
    const [first = 0, second = 0] = await answering(2);
    expect([first, second]).not.toContain(served.child.pid);

    process.kill(first, 'SIGKILL');
    await logged('a worker has ended and is replaced');
    const [line = ''] = served.log().match(/.*a worker has ended.*/) ?? [];
    expect(line.match(/"pid":/g)).toHaveLength(1);
    expect(JSON.parse(line)).toMatchObject({ pid: served.child.pid, workerPid: first });
    const later = await answering(2);
    expect(later).toContain(second);
    expect(later).not.toContain(first);

    expect(await served.stop()).toBe(0);
    expect(await gone(later)).toBe(true);
    // The supervisor and both workers.
    expect(log().filter(({ msg }) => msg === 'stopped')).toHaveLength(3);
  });

  test('a connection that went to a worker which dies before it takes it is answered by another', async () => {
    await start();
    const [first = 0] = await answering(2);
    // Each worker is handed one at a time: this one takes none.
    process.kill(first, 'SIGSTOP');
    let answered = 0;
    const asked = Array.from({ length: 10 }, async () => {
      const headers = { Connection: 'close' };
      const { status } = await fetch(`${served.base}/healthz`, { headers, signal: AbortSignal.timeout(10_000) });
      answered += 1;
      return status;
    });
    while (answered < asked.length - 1) await sleep(20);
    await sleep(200);
    expect(answered).toBe(asked.length - 1);
    process.kill(first, 'SIGKILL');
    expect(await Promise.all(asked)).toEqual(asked.map(() => 200));
    expect(await served.stop()).toBe(0);
  });

  test('workers end when their supervisor is gone', async () => {
    await start();
    const pids = await answering(2);
    await served.stop('SIGKILL');
    expect(await gone(pids)).toBe(true);
  });

  test('a port that is taken stops the start', async () => {
    await start();
    const { port } = new URL(served.base);
    const env = { DATABASE_URL: database.url, HOST: '127.0.0.1', PORT: port, WORKERS: '2', LOG_LEVEL: 'silent' };
    const { code, stdout, stderr } = await runCli(['serve'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`error: PORT "${port}" is in use on 127.0.0.1`);
  });
});
