/**
 * @engines sqlite
 * @tier long
 */
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { until } from '../harness/until.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { largeGame, largeRequest } from '../harness/http/large-answers.ts';
import { aKey, idIn } from '../harness/http/load.ts';
import { type ServeProcess, startSandbox, startServe } from '../harness/app/program.ts';
import { usageOf } from '../harness/app/usage.ts';

// What hostile callers can make a real service hold in memory, where Linux tells how much that is.

const MIB = 1024 * 1024;
/** More than the sandbox keeps: each of them takes two MiB. */
const SPACES = 160;
const START = 'POST /api/trpc/game.list HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

let database: TestDatabase;
let service: ServeProcess;
let largeId: string;
let key: string;
const sockets = new Set<Socket>();

describe('bounded memory', () => {
  beforeAll(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    service = await startServe({ url: database.url });
    const client = openClient(service.base, key);
    const created = await client.call('game.create', largeGame);
    largeId = created.kind === 'answered' ? idIn(created.text) : '';
    client.close();
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  });

  const status = (): string => readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
  const mebibytes = (member: 'VmHWM' | 'VmRSS'): number =>
    Number(new RegExp(`${member}:\\s+(\\d+)`).exec(status())?.[1]) / 1024;

  /** What the service held at most while `attack` ran, beyond what it held before, in MiB. */
  const growthBy = async (attack: () => Promise<void>): Promise<number> => {
    // From here on the peak is a new one.
    writeFileSync(`/proc/${service.child.pid}/clear_refs`, '5');
    const before = mebibytes('VmRSS');
    await attack();
    return mebibytes('VmHWM') - before;
  };

  interface Attacker {
    socket: Socket;
    /** What it has heard so far. */
    heard(): string;
  }

  const open = async (): Promise<Attacker> => {
    const { hostname, port } = new URL(service.base);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    sockets.add(socket);
    let heard = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (heard += chunk));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return { socket, heard: () => heard };
  };
  const openMany = (count: number): Promise<Attacker[]> => Promise.all(Array.from({ length: count }, open));

  /** How often each reason was heard, and each success. */
  const reasonsOf = (attackers: readonly Attacker[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { heard } of attackers) {
      const [, reason = 'none'] = /"reason":"(\w+)"/.exec(heard()) ?? (heard().includes('200 OK') ? ['', 'ok'] : []);
      counts[reason] = (counts[reason] ?? 0) + 1;
    }
    return counts;
  };

  /** Someone in good faith still gets what they ask for, with a body of this size. */
  const expectService = async (size = 30): Promise<void> => {
    const client = openClient(service.base, key);
    const padding = 'x'.repeat(size);
    expect(await client.call('game.create', { title: 'x', padding })).toMatchObject({ status: 400 });
    client.close();
  };

  /** The start of a request with a body of 1 MiB at most. */
  const startOfWrite = (): string => `${START.replace('list', 'create')}Authorization: Bearer ${key}\r\n`;

  const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

  describeOnLinux('memory is not filled by', () => {
    // A sixteenth of it may a body have.
    const large = Buffer.alloc(16 * MIB, ' ');
    const bombs = { br: brotliCompressSync(large), gzip: gzipSync(large) };
    const compressed = (coding: keyof typeof bombs): Buffer => {
      const head = `${START}Content-Encoding: ${coding}\r\nContent-Length: ${bombs[coding].length}\r\n\r\n`;
      return Buffer.concat([Buffer.from(head), bombs[coding]]);
    };

    test.each([
      ['br', 'UNSUPPORTED_MEDIA_TYPE'],
      ['gzip', 'PAYLOAD_TOO_LARGE'],
    ] as const)('300 bombs: %s', async (coding, reason) => {
      const growth = await growthBy(async () => {
        const attackers = await openMany(300);
        for (const { socket } of attackers) socket.write(compressed(coding));
        await until(() => reasonsOf(attackers)['none'] === undefined);
        // A machine that is busy otherwise may have no time for some of them, which are refused unread.
        const { [reason]: refused = 0, OVERLOADED: unread = 0, ...others } = reasonsOf(attackers);
        expect(others).toEqual({});
        expect(refused + unread).toBe(300);
        expect(refused).toBeGreaterThan(64);
      });
      expect(growth).toBeLessThan(150);
    });

    test.each(['br', 'gzip'] as const)('150 callers that fall silent after a few bytes: %s', async (coding) => {
      const growth = await growthBy(async () => {
        const attackers = await openMany(150);
        for (const { socket } of attackers) socket.write(compressed(coding).subarray(0, -5));
        await sleep(300);
        await expectService();
      });
      expect(growth).toBeLessThan(50);
    });

    test('300 large bodies that do not end', async () => {
      const growth = await growthBy(async () => {
        const attackers = await openMany(300);
        for (const { socket } of attackers)
          socket.write(`${startOfWrite()}Content-Length: ${MIB}\r\n\r\n${' '.repeat(MIB - 1)}`);
        // Room is for 64 of them; the others are told.
        await until(() => (reasonsOf(attackers)['OVERLOADED'] ?? 0) >= 300 - 64);
        expect(reasonsOf(attackers)['none']).toBeGreaterThan(0);
        // Who goes on sending is none of those that hold it up.
        await expectService(MIB / 2);
      });
      expect(growth).toBeLessThan(220);
    });

    test('300 large bodies that do not end, at two doors', async () => {
      const growth = await growthBy(async () => {
        const attackers = await openMany(300);
        for (const [index, { socket }] of attackers.entries()) {
          const start = index % 2 === 0 ? startOfWrite() : startOfWrite().replace('/api/trpc/game.create', '/mcp');
          socket.write(`${start}Content-Length: ${MIB}\r\n\r\n${' '.repeat(MIB - 1)}`);
        }
        // The doors have one room together.
        await until(() => (reasonsOf(attackers)['OVERLOADED'] ?? 0) >= 300 - 64);
        await expectService(MIB / 2);
      });
      expect(growth).toBeLessThan(220);
    });

    test('bodies of tiny pieces', async () => {
      const growth = await growthBy(async () => {
        const pieces = '1\r\n \r\n'.repeat(MIB / 2);
        const attackers = await openMany(1);
        for (const { socket } of attackers)
          socket.write(`${startOfWrite()}Transfer-Encoding: chunked\r\n\r\n${pieces}`);
        for (const { socket } of attackers) socket.write('0\r\n\r\n');
        await until(() => reasonsOf(attackers)['none'] === undefined);
        expect(reasonsOf(attackers)).toEqual({ BAD_HTTP_REQUEST: 1 });
      });
      expect(growth).toBeLessThan(150);
    });

    test('16 callers that pipeline requests and read no answer', async () => {
      const requests = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50_000);
      const growth = await growthBy(async () => {
        const attackers = await openMany(16);
        for (const { socket } of attackers) {
          socket.pause();
          socket.write(requests);
        }
        // It takes no more of them, until it has answered those before.
        let [taken, times] = [0, 0];
        await until(
          () => {
            const now = attackers.reduce((sum, { socket }) => sum + socket.bytesWritten - socket.writableLength, 0);
            times = now === taken ? times + 1 : 0;
            taken = now;
            return times === 5;
          },
          { everyMs: 100 },
        );
        await expectService();
      });
      expect(growth).toBeLessThan(150);
    });

    test('60 callers that do not take their answers', async () => {
      const growth = await growthBy(async () => {
        const attackers = await openMany(60);
        for (const { socket } of attackers) {
          socket.once('data', () => socket.pause());
          socket.write(largeRequest(largeId));
        }
        await until(() => attackers.every(({ heard }) => heard() !== ''));
        await expectService();
      });
      expect(growth).toBeLessThan(400);
    });
  });

  describeOnLinux('connections are not kept for', () => {
    const openInService = (): number => readdirSync(`/proc/${service.child.pid}/fd`).length;

    test('callers that were refused and do not hang up', async () => {
      const before = openInService();
      const attackers = await openMany(200);
      for (const { socket } of attackers) socket.write('garbage\r\n\r\n');
      await until(() => reasonsOf(attackers)['none'] === undefined);
      expect(reasonsOf(attackers)).toEqual({ BAD_HTTP_REQUEST: 200 });
      await until(() => openInService() < before + 20);
    });
  });

  /** The status of a call in a space of the sandbox, undefined where it was given up. */
  const callInSpace = async (sandbox: ServeProcess, index: number, fault: string, signal?: AbortSignal) => {
    const response = await fetch(`${sandbox.base}/api/trpc/game.list`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Sandbox-Space': `space-${index}`, 'X-Sandbox-Fault': fault },
      body: '{"json":{"limit":1,"page":1}}',
      ...(signal && { signal }),
    }).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status;
  };

  test('sandbox spaces are 64, however many are asked for, and none with a call in it is given up', async () => {
    const sandbox = await startSandbox();
    let next = 0;
    const statuses: (number | undefined)[] = [];
    const caller = async (): Promise<void> => {
      while (next < SPACES) statuses.push(await callInSpace(sandbox, next++, 'before=delay;ms=100'));
    };
    await Promise.all(Array.from({ length: 20 }, caller));
    expect(statuses).toEqual(Array(SPACES).fill(200));
    const { peakMebibytes = 0 } = (await usageOf(sandbox.child.pid ?? 0)) ?? {};
    expect(peakMebibytes).toBeLessThan(450);

    const ended = new AbortController();
    const refused: (number | undefined)[] = [];
    const calls = Array.from({ length: 100 }, async (_, index) => {
      refused.push(await callInSpace(sandbox, index, 'after=delay;ms=30000', ended.signal));
    });
    await until(() => refused.length >= 36);
    expect(refused).toEqual(Array(36).fill(503));
    ended.abort();
    await Promise.all(calls);
    await sandbox.stop('SIGKILL');
  });
});
