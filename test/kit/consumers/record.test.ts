/**
 * @engines sqlite
 * @tier fast
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Need, parseConsumerContract } from '../../../contract/consumer-contract.ts';
import { keyOfWord } from '../../../src/auth/format.ts';
import { version } from '../../../src/base/version.ts';
import {
  NeedRecorder,
  type RecordingProxy,
  startRecordingProxy,
} from '../../../openapi/kit/consumers/recording-proxy.ts';
import { startApp, type TestApp } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';
import { freePort } from '../../harness/free-ports.mjs';
import { writeRaw } from '../../harness/http/raw-http.ts';

// What `record` writes of the calls that pass through it, and where it passes them.

const folder = mkdtempSync(join(tmpdir(), 'record-'));
let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(async () => {
  await app.stop();
  rmSync(folder, { recursive: true });
});

const cli = async (...args: string[]) => {
  const { code, stderr } = await runCommand(args);
  return { code, stderr: stderr.trimEnd() };
};

const read = (file: string) => parseConsumerContract(file, readFileSync(file, 'utf8'));

/** A program that calls, as the tests of a consumer do. */
const CALLS = `
const call = (id, body, test) => fetch(process.env.CONTENT_GATEWAY_URL + '/api/trpc/' + id, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'Test-Name': encodeURIComponent(test) },
  body: JSON.stringify(body),
});
await call('game.list', { json: { limit: 1, page: 1, sortBy: 'views' } }, 'shows the most viewed ☆');
await call('game.list', { json: { limit: 2, page: 1, sortBy: 'views' } }, 'shows the most viewed ☆');
await call('game.getById', { json: { id: 'none' } }, 'says that a game is gone to ${keyOfWord('nowhere')}');
`;

/** The arguments that record in a file, without those of the command. */
const recording = (out: string, to = app.url): string[] => [
  'record',
  '--to',
  to,
  '--consumer',
  'shop-web',
  '--out',
  out,
  '--port',
  '0',
  '--',
];

describe('record', () => {
  test('writes what the calls of each test sent, and how they failed; and keeps what is said of replies', async () => {
    const out = join(folder, 'shop-web.json');
    const program = join(folder, 'calls.mjs');
    writeFileSync(program, CALLS);
    const record = () => cli(...recording(out), 'node', program);
    const { code, stderr } = await record();
    expect({ code, stderr: stderr.split('\n').at(-1) }).toEqual({
      code: 0,
      stderr: `${out} has 2 needs; 2 of them do not say what they read.`,
    });
    const made = read(out);
    const [list, byId] = [
      {
        operation: 'game.list',
        test: 'shows the most viewed ☆',
        sends: ['/limit', '/page', '/sortBy', '/sortBy=views'],
        extremes: { '/limit': [1, 2], '/page': [1, 1] },
      },
      { operation: 'game.getById', test: 'says that a game is gone to cgk_…', sends: ['/id'] },
    ];
    expect(made).toEqual({
      consumer: 'shop-web',
      contract: version,
      needs: [
        { ...byId, reasons: ['GAME_NOT_FOUND'] },
        { ...list, reasons: [] },
      ],
    });
    const said = { reads: ['/items/*/coverUrl'], requires: ['/items'], decodes: true };
    const needs = made.needs.map((need) => ({ ...need, ...said }));
    writeFileSync(out, JSON.stringify({ ...made, needs }));
    await record();
    expect(read(out).needs).toEqual(needs);
  });

  test('passes on what comes, of batches, reads by GET and streams, and notes each call', async () => {
    const { url, recorder, stop } = await startRecordingProxy(app.url, 0);
    const batch = await fetch(`${url}/api/trpc/game.list,game.getById?batch=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ 0: { json: { limit: 1, page: 1 } }, 1: { json: { id: 'none' } } }),
    });
    expect([batch.status, await batch.json()]).toMatchObject([207, { length: 2 }]);
    const input = encodeURIComponent('{"json":{"start":"latest","maxDuration":1}}');
    const tail = await fetch(`${url}/api/trpc/event.tail?input=${input}`);
    expect(tail.headers.get('content-type')).toMatch('text/event-stream');
    expect(await tail.text()).toContain('event: connected');
    const page = await fetch(`${url}/docs/`, { headers: { 'Accept-Encoding': 'gzip' } });
    expect([page.status, (await page.text()).includes('swagger')]).toEqual([200, true]);
    expect((await fetch(`${url}/api/trpc/no.such`, { method: 'POST' })).status).toBe(404);
    expect(recorder.needs()).toEqual([
      {
        operation: 'event.tail',
        sends: ['/start', '/start=latest', '/maxDuration'],
        extremes: { '/maxDuration': [1, 1] },
        reasons: [],
      },
      { operation: 'game.getById', sends: ['/id'], reasons: ['GAME_NOT_FOUND'] },
      {
        operation: 'game.list',
        sends: ['/limit', '/page'],
        extremes: { '/limit': [1, 1], '/page': [1, 1] },
        reasons: [],
      },
    ]);
    await stop();
  });

  test('notes the extremes of what is sent, but no text, and nothing of ids, addresses, words and null', () => {
    const recorder = new NeedRecorder();
    const add = (id: string, json: object) => recorder.add(undefined, id, { json }, undefined);
    const game = { title: '☆🎮', tagNames: ['RPG', 'Puzzle'], version: 'Ver1.2', coverUrl: 'https://example.com/a' };
    add('game.create', game);
    add('game.create', { ...game, title: 'a secret', tagNames: [] });
    add('image.update', { id: 'a'.repeat(36), description: null, images: ['https://example.com/a'] });
    add('user.updateProfile', { socialLinks: { mine: '@me' } });
    add('webhook.update', { id: 'x', types: ['game.created'], recordId: 'y' });
    add('game.list', { limit: 1, page: 1, cursor: 'abc', search: '星', tagSlugs: ['rpg'] });
    const noted = recorder.needs().map(({ operation, extremes }) => [operation, extremes]);
    expect(Object.fromEntries(noted)).toEqual({
      'game.create': { '/tagNames': [0, 2], '/tagNames/*': [3, 6], '/title': [2, 8] },
      'image.update': { '/images': [1, 1] },
      'user.updateProfile': undefined,
      'webhook.update': { '/types': [1, 1] },
      'game.list': { '/limit': [1, 1], '/page': [1, 1], '/search': [1, 1], '/tagSlugs': [1, 1] },
    });
    expect(JSON.stringify(recorder.needs())).toContain('{"/tagNames":[0,2],"/tagNames/*":[3,6],"/title":[2,8]}');
  });

  test('replaces the extremes of an earlier contract', () => {
    const recorder = new NeedRecorder();
    recorder.add(undefined, 'user.search', { json: { query: 'me' } }, undefined);
    const need: Need = { operation: 'user.search', sends: ['/query'], reads: ['/items'], reasons: [] };
    expect(recorder.needs([{ ...need, extremes: { '/query': [1, 9] } }])).toEqual([
      { ...need, extremes: { '/query': [2, 2] } },
    ]);
  });

  test('writes nothing where the command fails, and says where nothing answers', async () => {
    const out = join(folder, 'none.json');
    const options = recording(out);
    const failed = await cli(...options, 'node', '-e', 'process.exit(7)');
    expect([failed.code, failed.stderr]).toEqual([7, expect.stringMatching(/status 7: .* is not written\.$/)]);
    expect((await cli(...options, join(folder, 'no-such-program'))).code).toBe(127);
    expect(() => readFileSync(out)).toThrow('ENOENT');
    const nowhere = await startRecordingProxy(`http://127.0.0.1:${await freePort()}`, 0);
    const reply = await fetch(`${nowhere.url}/api/trpc/user.me`, { method: 'POST' });
    expect([reply.status, await reply.text()]).toEqual([502, expect.stringContaining('does not answer')]);
    await nowhere.stop();
  });

  test.each([
    ['calls nothing', '', 'No call came through'],
    ['calls no operation', "await fetch(process.env.CONTENT_GATEWAY_URL + '/docs/')", 'No call came through'],
    ['fails, having called', `${CALLS}; process.exit(7)`, 'is not written'],
  ])('leaves the contract as it was where the command %s', async (what, program, told) => {
    const out = join(folder, `kept, ${what}.json`);
    const need = { operation: 'user.me', sends: [], reasons: [] };
    const good = JSON.stringify({ consumer: 'good', contract: '1.1.0', needs: [need] });
    writeFileSync(out, good);
    const { code, stderr } = await cli(...recording(out), 'node', '--input-type=module', '-e', program);
    expect({ code, stderr }).toEqual({ code: program.endsWith('(7)') ? 7 : 2, stderr: expect.stringContaining(told) });
    expect(readFileSync(out, 'utf8')).toBe(good);
  });

  test('leaves out calls that no gateway answered', async () => {
    const out = join(folder, 'unanswered.json');
    const other = createServer((_, response) => response.setHeader('Content-Type', 'application/json').end('{"ok":1}'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const to = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    expect(await cli(...recording(out, to), 'node', '--input-type=module', '-e', CALLS)).toMatchObject({ code: 2 });
    expect(() => readFileSync(out)).toThrow('ENOENT');
    other.close();
  });
});

describe('the proxy of record', () => {
  const reached: string[] = [];
  /** Answers as a gateway does, or redirects what is below `/moved`, and notes what comes. */
  const server = (name: string) =>
    createServer(({ url = '', headers }, response) => {
      reached.push(`${name} ${url} ${headers.authorization}`);
      if (url.startsWith('/moved')) response.writeHead(308, { Location: `${elsewhere}${url}?key=${KEY}` }).end();
      else response.setHeader('Content-Type', 'application/json').end('{"result":{"data":{"json":{}}}}');
    });
  const KEY = `cgk_${'a'.repeat(38)}`;
  const [gateway, other] = [server('gateway'), server('other')];
  let elsewhere: string;
  let to: string;
  let proxy: RecordingProxy;
  beforeAll(async () => {
    const [here, there] = await Promise.all(
      [gateway, other].map(async (one) => {
        await once(one.listen(0, '127.0.0.1'), 'listening');
        return `127.0.0.1:${(one.address() as AddressInfo).port}`;
      }),
    );
    to = `http://${here}`;
    elsewhere = `http://${there}`;
  });
  afterAll(() => [gateway, other].forEach((one) => one.close()));
  beforeEach(async () => {
    reached.length = 0;
    proxy = await startRecordingProxy(`${to}/gw/`, 0);
  });
  afterEach(() => proxy.stop());

  const send = (target: string, { method = 'GET', host = 'localhost' } = {}): Promise<string> =>
    writeRaw(
      proxy.url,
      `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n`,
    );

  test.each([
    '//HOST/x',
    '///HOST/x',
    '/..//HOST/x',
    '/a/..//HOST/x',
    '/\\HOST/x',
    '/@HOST/x',
    '/.//HOST/x',
    '/%2F/HOST/x',
    '/:80/x',
  ])('sends %s to the gateway, as it is', async (target) => {
    const path = target.replace('HOST', elsewhere.replace('http://', ''));
    expect(await send(path)).toMatch('200 OK');
    expect(reached).toEqual([`gateway /gw${path} Bearer x`]);
  });

  test.each([
    ['GET', 'http://HOST/x'],
    ['GET', 'HTTP://HOST/x'],
    ['POST', 'http://HOST/api/trpc/game.list'],
    ['OPTIONS', '*'],
    ['CONNECT', 'HOST'],
  ])('passes on no %s %s', async (method, target) => {
    const reply = await send(target.replace('HOST', elsewhere.replace('http://', '')), { method });
    expect(reply).not.toContain('200');
    expect(reached).toEqual([]);
  });

  test.each<[string, boolean]>([
    ['localhost', true],
    ['LocalHost:4020', true],
    ['127.0.0.1:4020', true],
    ['127.1.2.3', true],
    ['[::1]:4020', true],
    ['evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['127.evil.example', false],
    ['localhost.evil.example', false],
    ['localhost@evil.example', false],
    ['10.0.0.1', false],
    ['', false],
  ])('answers the host %j: %s', async (host, isAnswered) => {
    expect(await send('/x', { host })).toMatch(isAnswered ? '200 OK' : ' 421 ');
    expect(reached).toHaveLength(isAnswered ? 1 : 0);
  });

  test('answers a call that the gateway redirects with where to, and follows nothing', async () => {
    const moved = await startRecordingProxy(`${to}/moved`, 0);
    const reply = await fetch(`${moved.url}/api/trpc/user.me`, { method: 'POST', redirect: 'manual' });
    expect([reply.status, await reply.text()]).toEqual([
      502,
      expect.stringContaining(`redirects to ${elsewhere}/moved/api/trpc/user.me, which is not followed`),
    ]);
    expect(reached).toEqual(['gateway /moved/api/trpc/user.me undefined']);
    await moved.stop();
  });
});
