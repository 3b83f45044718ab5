/**
 * @engines none
 * @tier fast
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

// The bench's own parts are plain JavaScript.
interface Result {
  requests: number;
  answered: number;
  refused: number;
  other: number;
  statuses: Record<string, number>;
  perSecond: number;
  p50: number;
  worst: number;
  refusedP50: number;
}
interface Load {
  define(set: string, requests: readonly (string | { text: string; isKeyed: boolean })[]): Promise<void>;
  run(order: object): Promise<Result>;
  stop(): void;
}
const part = (file: string): Promise<unknown> => import(file);
const { startLoad, requestText, toolText } = (await part('../bench/load/load.mjs')) as {
  startLoad(): Load;
  requestText(procedure: string, input: unknown): string;
  toolText(name: string, input: unknown): string;
};

const SLOW_MS = 30;
/** What the server answers to each path, after how long: `[status, ms, body]`, in turn. */
let replies: [number, number, string][] = [];
let heard: { address: unknown; authorization: unknown }[] = [];
let server: Server;
let load: Load;

describe('load of the bench', () => {
  beforeEach(async () => {
    heard = [];
    let turn = 0;
    server = createServer((request, response) => {
      heard.push({ address: request.headers['x-forwarded-for'], authorization: request.headers.authorization });
      const [status, ms, body] = replies[turn++ % replies.length] ?? [500, 0, ''];
      request.resume();
      setTimeout(() => response.writeHead(status, { 'Content-Length': Buffer.byteLength(body) }).end(body), ms);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    load = startLoad();
  });
  afterEach(() => {
    load.stop();
    server.closeAllConnections();
    server.close();
  });

  const run = (order: object): Promise<Result> => {
    const { port } = server.address() as AddressInfo;
    return load.run({ port, set: 'set', connections: 1, milliseconds: 10_000, count: 40, ...order });
  };

  test('the load generator counts only 2xx as answers, and what is refused apart', async () => {
    replies = [
      [200, SLOW_MS, '{}'],
      [503, 0, '{}'],
      [429, 0, '{}'],
      [500, 0, '{}'],
    ];
    await load.define('set', [requestText('game.list', {})]);
    const result = await run({ tolerant: true });
    expect(result).toMatchObject({ requests: 40, answered: 10, refused: 20, other: 10 });
    expect(result.statuses).toEqual({ 200: 10, 429: 10, 500: 10, 503: 10 });
    // Quick refusals make nothing look quick.
    expect(result.p50).toBeGreaterThan(SLOW_MS - 2);
    expect(result.refusedP50).toBeLessThan(result.p50 / 2);
    expect(result.perSecond).toBeLessThan(1000 / (SLOW_MS - 2));
  });

  test('the load generator goes on after refusals, and ends at another status unless told otherwise', async () => {
    replies = [
      [200, 0, '{}'],
      [503, 0, '{}'],
    ];
    await load.define('set', [requestText('game.list', {})]);
    expect(await run({})).toMatchObject({ answered: 20, refused: 20 });
    replies = [[400, 0, 'the input is wrong']];
    await expect(run({})).rejects.toThrow('the input is wrong');
  });

  test('the load generator finds refusals inside batches and tool calls', async () => {
    replies = [
      [207, 0, '[{"result":{}},{"error":{"json":{"data":{"reason":"OVERLOADED"}}}}]'],
      [200, 0, '{"result":{"isError":true,"content":"\\"OVERLOADED\\""},"reason":"OVERLOADED"}'],
      [200, 0, '{"result":{"isError":true},"reason":"GAME_NOT_FOUND"}'],
      [200, 0, '{"result":{}}'],
    ];
    await load.define('set', [toolText('game_list', {})]);
    expect(await run({ tolerant: true })).toMatchObject({ answered: 10, refused: 20, other: 10 });
  });

  test('the load generator gives each connection a caller of its own', async () => {
    replies = [[200, 0, '{}']];
    await load.define('set', [
      { text: requestText('game.list', {}), isKeyed: false },
      { text: requestText('user.me', {}), isKeyed: true },
    ]);
    const callers = [
      { address: '10.0.0.1', key: 'one' },
      { address: '10.0.0.2', key: 'two' },
    ];
    await run({ connections: 2, callers });
    const seen = new Set(heard.map(({ address, authorization }) => JSON.stringify([address, authorization ?? null])));
    for (const one of seen) {
      expect([
        '["10.0.0.1",null]',
        '["10.0.0.2",null]',
        '["10.0.0.1","Bearer one"]',
        '["10.0.0.2","Bearer two"]',
      ]).toContain(one);
    }
    expect(new Set(heard.map(({ address }) => address)).size).toBe(2);
    expect(heard.some(({ authorization }) => authorization !== undefined)).toBe(true);
  });
});
