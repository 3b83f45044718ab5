/**
 * @engines sqlite
 * @tier long
 */
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// What proxies in front say of a request is believed as far as they are trusted: whence it came, and whether by TLS.

let database: TestDatabase;
let served: ServeProcess;
describe('trusted proxies', () => {
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  const FORWARDED = { 'X-Forwarded-For': '192.0.2.1, 203.0.113.7, 198.51.100.9', 'X-Forwarded-Proto': 'https' };
  const PATHS = ['/healthz', '/', '/docs/', '/nowhere', '/api/trpc/game.list', '/api/trpc/game.nothing', '/mcp'];

  /** Asks for each of the paths, and returns the headers of the replies. */
  const ask = async (headers: Record<string, string>): Promise<Headers[]> => {
    const replies: Headers[] = [];
    for (const path of PATHS) {
      const reply = await fetch(served.base + path, {
        headers: { ...headers, 'X-Request-Id': path.replaceAll('/', '.') },
      });
      await reply.arrayBuffer();
      replies.push(reply.headers);
    }
    return replies;
  };

  /** The addresses that the log has for so many requests. */
  const addresses = async (count: number): Promise<unknown[]> => {
    for (;;) {
      const lines = served
        .log()
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { msg: string; address?: string })
        .filter(({ msg }) => msg === 'request');
      if (lines.length >= count) return lines.map(({ address }) => address);
      await sleep(20);
    }
  };

  test.each([
    ['0', '127.0.0.1', false],
    ['1', '198.51.100.9', true],
    ['2', '203.0.113.7', true],
  ])('with TRUST_PROXY=%s, a request comes from %s, by TLS: %s', async (trusted, address, isSecure) => {
    served = await startServe({ url: database.url, env: { TRUST_PROXY: trusted, LOG_LEVEL: 'debug' } });
    const replies = await ask(FORWARDED);
    expect(replies.map((headers) => headers.has('strict-transport-security'))).toEqual(PATHS.map(() => isSecure));
    expect(await addresses(PATHS.length)).toEqual(PATHS.map(() => address));
  });

  test('without TLS no HSTS is sent, and what is no HTTP is logged with its address', async () => {
    served = await startServe({ url: database.url, env: { TRUST_PROXY: '1', LOG_LEVEL: 'debug' } });
    const replies = await ask({ 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'http' });
    expect(replies.filter((headers) => headers.has('strict-transport-security'))).toEqual([]);
    const socket = connect(Number(new URL(served.base).port), '127.0.0.1', () => socket.write('no HTTP\r\n\r\n'));
    socket.resume();
    await once(socket, 'close');
    expect((await addresses(PATHS.length + 1)).at(-1)).toBe('127.0.0.1');
  });

  test('a caller is one, whatever port and form of its address a proxy writes', async () => {
    served = await startServe({ url: database.url, env: { TRUST_PROXY: '1', RATE_LIMIT: 'anonymous=1' } });
    const forms = [
      (n: number) => `192.0.2.10:${1024 + n}`,
      (n: number) => `[::ffff:192.0.2.10]:${1024 + n}`,
      () => '::FFFF:C000:020A',
      () => '192.0.2.10',
    ];
    const statuses: number[][] = forms.map(() => []);
    for (let n = 0; n < 40; n += 1) {
      const form = n % forms.length;
      const headers = { 'X-Forwarded-For': `203.0.113.${n}, ${forms[form]!(n)}` };
      statuses[form]!.push((await fetch(`${served.base}/api/trpc/game.getTypeStats`, { headers })).status);
    }
    // One a second is let through. Each port is used once: if ports told callers apart, none of those was refused.
    expect(statuses.map((all) => all.includes(429))).toEqual([true, true, true, true]);
    expect(new Set(statuses.flat())).toEqual(new Set([200, 429]));
    const other = { headers: { 'X-Forwarded-For': '192.0.2.11:1024' } };
    expect((await fetch(`${served.base}/api/trpc/game.getTypeStats`, other)).status).toBe(200);
  });
});
