/**
 * @engines none
 * @tier fast
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { version } from '../../src/base/version.ts';
import { runCommand } from '../harness/app/command.ts';

// What commands do with servers and files that are not what they should be: they follow no redirect, and read no end.

const MIB = 1024 * 1024;
const KEY = `cgk_${'a'.repeat(38)}`;
const folder = mkdtempSync(join(tmpdir(), 'remote-'));
const need = { operation: 'user.me', sends: [], reasons: [] };
const contract = join(folder, 'contract.json');
writeFileSync(contract, JSON.stringify({ consumer: 'web', contract: version, needs: [need] }));

const bomb = gzipSync(Buffer.alloc(33 * MIB, ' '), { level: 1 });

/** Sends spaces for as long as they are taken, and counts them. */
const sendEndlessly = (response: ServerResponse): void => {
  const chunk = Buffer.alloc(MIB, ' ');
  const send = (): void => {
    while (!response.destroyed && response.write(chunk)) sent += chunk.length;
  };
  response.on('drain', send);
  send();
};

let sent = 0;
const reached: string[] = [];
const server = createServer(({ method, url = '', headers }, response) => {
  reached.push(`${method} ${url}`);
  const [, first = ''] = url.split('/');
  const moved = `/elsewhere/${headers.authorization ?? ''}`;
  if (first === 'elsewhere') response.end('{}');
  else if (first === 'keyed') response.writeHead(302, { Location: moved }).end();
  else if (first === 'other') response.setHeader('Content-Type', 'application/json').end('{"ok": true}');
  else if (first === 'endless') sendEndlessly(response);
  else if (first === 'bomb') response.setHeader('Content-Encoding', 'gzip').end(bomb);
  else response.writeHead(Number(first) || 302, { Location: `http://localhost:${port()}/elsewhere` }).end();
});
const port = (): number => (server.address() as AddressInfo).port;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  reached.length = 0;
  sent = 0;
});

/** The calls of commands that ask a server, by its path, and the status that each ends with. */
const calls = (path: string): [args: string[], status: number][] => {
  const base = `http://127.0.0.1:${port()}/${path}`;
  return [
    [['contract', 'publish', contract, '--to', `${base}/`, '--key', KEY], 3],
    [['can-i-deploy', '--to', base, '--contracts', contract], 3],
    [['verify', base, '--key', KEY], 3],
  ];
};

describe('commands that ask a server', () => {
  test.each([301, 302, 303, 307, 308])('follow no redirect with %d, and say where to', async (status) => {
    for (const [args, code] of calls(String(status))) {
      reached.length = 0;
      const outcome = await runCommand(args);
      expect(outcome).toMatchObject({
        code,
        stderr: expect.stringContaining(`redirects to http://localhost:${port()}/`),
      });
      expect(reached.filter((one) => one.includes('elsewhere'))).toEqual([]);
    }
  });

  test('follow none to the state of a process', async () => {
    const { code, stderr } = await runCommand(['status', '--url', `http://127.0.0.1:${port()}`]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`redirects to http://localhost`) });
    expect(reached).toEqual(['GET /admin.json']);
  });

  test('do not tell a key that a server sends back', async () => {
    for (const [args] of calls('keyed').slice(0, 1)) {
      const { stderr } = await runCommand(args);
      expect(stderr).toContain('redirects to an address with a key in it');
      expect(stderr).not.toContain(KEY);
    }
  });

  test('take no reply for a kept contract that is none of a gateway', async () => {
    const [[args] = [[]]] = calls('other');
    expect(await runCommand(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('not as a gateway does') });
  });

  test.each(['endless', 'bomb'])('read 32 MiB of an answer and no more: %s', async (path) => {
    for (const [args, code] of calls(path)) {
      sent = 0;
      expect(await runCommand(args)).toMatchObject({ code, stderr: expect.stringContaining('more than 32 MiB') });
      expect(sent).toBeLessThan(128 * MIB);
    }
  });

  test.each([['user@'], ['user:secret@'], [':secret@']])('take no address with %s', async (user) => {
    for (const [args] of calls('x')) {
      const address = args.map((one) => one.replace('http://', `http://${user}`));
      expect(await runCommand(address)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('must have no user'),
      });
    }
    expect(reached).toEqual([]);
  });
});

test('commands read 32 MiB of a file and no more', async () => {
  const large = join(folder, 'large.json');
  writeFileSync(large, '');
  truncateSync(large, 33 * MIB);
  for (const args of [
    ['impact', large],
    ['can-i-deploy', '--document', large, '--contracts', contract],
    ['can-i-deploy', '--document', 'openapi/openapi.json', '--contracts', large],
    ['contract', 'publish', large, '--to', 'http://localhost:1'],
    ['verify', 'http://localhost:1', '--document', large],
  ]) {
    expect(await runCommand(args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('large.json cannot be read: it has more than 32 MiB'),
    });
  }
});
