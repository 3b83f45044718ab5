/**
 * @engines none
 * @tier fast
 */
import { execFile, execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { printable } from '../../../src/admin/commands/shared/output.ts';
import { groupsOf } from '../../../openapi/kit/conformance/findings/groups.ts';
import { basesOf } from '../../../openapi/kit/conformance/http/base.ts';
import { curlOf, quoted } from '../../../openapi/kit/conformance/http/curl.ts';
import { demandThat } from '../../../openapi/kit/conformance/findings/expect.ts';
import { Mismatch, Skip } from '../../../openapi/kit/conformance/findings/finding.ts';
import type { Reply, SentRequest } from '../../../openapi/kit/conformance/exchange.ts';
import { anySeed, SeededRandom, SEEDS } from '../../../openapi/kit/conformance/seed.ts';

// The parts of the conformance kit that need no deployment.

describe('the base of a deployment', () => {
  test.each([
    ['http://x', ['http://x']],
    ['http://x/', ['http://x']],
    ['http://x/gw//', ['http://x/gw']],
    ['http://x/api/trpc', ['http://x', 'http://x/api/trpc']],
    ['http://x/api/trpc/', ['http://x', 'http://x/api/trpc']],
    ['http://x/api/trpc/game.list', ['http://x', 'http://x/api/trpc/game.list']],
    ['http://x/api', ['http://x', 'http://x/api']],
    ['http://x/gw/docs', ['http://x/gw', 'http://x/gw/docs']],
    ['http://x/docs/', ['http://x', 'http://x/docs']],
    ['http://x/gw/openapi.json', ['http://x/gw', 'http://x/gw/openapi.json']],
    ['http://x/openapi-3.0.json', ['http://x', 'http://x/openapi-3.0.json']],
    ['http://x/mydocs', ['http://x/mydocs']],
  ])('%s may be %j', (url, bases) => {
    expect(basesOf(url)).toEqual(bases);
  });
});

describe('random', () => {
  test('is the same for the same seed and name, and for no others', () => {
    const [one, same, other] = [new SeededRandom(1), new SeededRandom(1), new SeededRandom(2)];
    expect([one.run, one.uuid('a'), one.hex('b')]).toEqual([same.run, same.uuid('a'), same.hex('b')]);
    expect(one.run).toMatch(/^[0-9a-f]{12}$/);
    expect(new Set([one.run, other.run, one.hex('a'), one.hex('b'), other.hex('a')]).size).toBe(5);
    expect(one.uuid('a')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('has a seed of its own where none is given', () => {
    const seeds = Array.from({ length: 100 }, anySeed);
    expect(new Set(seeds).size).toBeGreaterThan(95);
    expect(seeds.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < SEEDS)).toBe(true);
  });
});

describe('findings', () => {
  const result = (subject: string, finding: { expected: string; came: string; at?: string; cause?: string }) => ({
    subject,
    name: 'does it',
    findings: [finding],
  });
  const groups = (...findings: Parameters<typeof result>[1][]): number =>
    groupsOf(findings.map((finding, index) => result(`op${index}`, finding))).length;
  const id = (n: number): string => `"019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f0${n}"`;

  test.each([
    ['the same words', { expected: 'status 200', came: 'status 201' }, { expected: 'status 200', came: 'status 201' }],
    ['other ids', { expected: `${id(1)} once`, came: id(2) }, { expected: `${id(3)} once`, came: id(4) }],
    [
      'other request ids',
      { expected: 'the header "verify-0123456789ab-1.1"', came: 'nothing' },
      { expected: 'the header "verify-0123456789ab-200.14"', came: 'nothing' },
    ],
    [
      'other places in a list, and other values of a kind',
      { at: '/result/data/json/items/0/likeCount', expected: '1', came: '"1"' },
      { at: '/result/data/json/likeCount', expected: '20', came: '"20"' },
    ],
    [
      'whatever is in a member that should not be',
      { at: '/debug', expected: 'no such member', came: 'true' },
      { at: '/debug', expected: 'no such member', came: '{"a":1}' },
    ],
    ['a cause', { expected: 'a', came: 'b', cause: 'x' }, { expected: 'c', came: 'd', at: '/e', cause: 'x' }],
    [
      'other numbers of things',
      { expected: 'record 4 of the walk', came: 'another' },
      { expected: 'record 7 of the walk', came: 'another' },
    ],
    [
      'other holders of a member',
      { expected: 'an issue "too_big" at "/games/0/title"', came: 'none there' },
      { expected: 'an issue "too_big" at "/title"', came: 'none there' },
    ],
  ])('that differ in %s are one', (_, one, other) => {
    expect(groups(one, other)).toBe(1);
  });

  test.each([
    ['status', { expected: 'status 200', came: 'status 201' }, { expected: 'status 200', came: 'status 202' }],
    ['member', { at: '/a/b', expected: '1', came: '2' }, { at: '/a/c', expected: '1', came: '2' }],
    ['kind of value', { at: '/a', expected: '1', came: '2' }, { at: '/a', expected: '1', came: 'nothing' }],
    ['name', { at: '/a', expected: '"TOO_BAD"', came: '"A"' }, { at: '/a', expected: '"TOO_GOOD"', came: '"A"' }],
    ['cause', { expected: 'a', came: 'b', cause: 'x' }, { expected: 'a', came: 'b', cause: 'y' }],
  ])('that differ in the %s are two', (_, one, other) => {
    expect(groups(one, other)).toBe(2);
  });

  test('are told with each check that shows them, once', () => {
    const shown = [result('a', { expected: 'x', came: 'y' }), result('b', { expected: 'x', came: 'y' })];
    const [group] = groupsOf([...shown, shown[0]!]);
    expect(group?.places).toEqual([
      { subject: 'a', name: 'does it' },
      { subject: 'b', name: 'does it' },
    ]);
  });
});

describe('a refusal', () => {
  const refusalOf = (subject: string, reason: string) => {
    const json = { error: { json: { data: { reason } } } };
    return { subject, json, status: 404, text: JSON.stringify(json), headers: new Headers() } as unknown as Reply;
  };
  const refused = (subject: string, reason: string) => () =>
    demandThat(false, refusalOf(subject, reason), { expected: 'status 200', came: 'status 404' });

  test.each([
    ['webhook.create', 'WEBHOOK_SECRETS_OFF', 'the deployment has no key for the secrets of webhooks'],
    ['webhook.rotateSecret', 'WEBHOOK_SECRETS_OFF', 'the deployment has no key for the secrets of webhooks'],
    ['webhook.create', 'EVENTS_OFF', 'the deployment keeps no events'],
  ])('of %s for %s is passed over', (subject, reason, message) => {
    expect(refused(subject, reason)).toThrow(new Skip(message));
  });

  test.each([
    ['webhook.list', 'WEBHOOK_SECRETS_OFF'],
    ['game.list', 'EVENTS_OFF'],
    ['webhook.create', 'WEBHOOK_NOT_FOUND'],
    ['webhook.create', 'toString'],
  ])('of %s for %s is a finding', (subject, reason) => {
    expect(refused(subject, reason)).toThrow(Mismatch);
  });
});

describe('a curl command', () => {
  const KEY = 'cgk_secret';
  const seen: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const keep = async (): Promise<void> => {
      seen.push({ method, url, headers, body: (await buffer(request)).toString('utf8') });
      response.end('{}');
    };
    void keep();
  });
  const listening = once(server.listen(0, '127.0.0.1'), 'listening');
  afterAll(() => void server.close());

  const send = async (request: Partial<SentRequest>): Promise<{ line: string; got: (typeof seen)[number] }> => {
    await listening;
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}${request.url ?? '/'}`;
    const line = curlOf({ method: 'POST', headers: {}, body: undefined, ...request, url }, KEY);
    await promisify(execFile)('sh', ['-c', line], { env: { PATH: process.env['PATH'], GATEWAY_KEY: KEY } });
    return { line, got: seen.pop()! };
  };

  test.each([
    ['quotation marks', `{"a":"it's \\"$HOME\\" \`id\` \\\\ !x"}`],
    ['line ends', 'a\nb\r\n'],
    ['any script', '{"title":"伝説 𠮷 \\ud800"}'],
    ['what begins like a file name', '@/etc/passwd'],
    ['what is not seen', '{"title":"a\u202eb\u200b"}'],
    ['nothing', ''],
    ['a long text', '𠮷'.repeat(40_000)],
    ['4 MiB', '{}'.padEnd(4_194_305)],
  ])('sends a body of %s as it was', async (_, body) => {
    const headers = { 'Content-Type': 'application/json' };
    const { line, got } = await send({ body, headers });
    expect(got.body === body).toBe(true);
    expect(got).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
    expect(printable(line)).toBe(line);
    expect(line.length).toBeLessThan(20_000);
  });

  test('sends method, path and headers as they were, and the key from the environment', async () => {
    const { line, got } = await send({
      method: 'PUT',
      url: '/api/trpc/game.list/?input=%7B%22json%22%3A%7B%7D%7D&x=[1-2]',
      headers: { Authorization: `Bearer ${KEY}`, 'X-Odd': `a "b" 'c' $d %e \\f`, 'Idempotency-Key': 'cl\u00e9' },
    });
    expect(line).not.toContain(KEY);
    expect(line).not.toContain('\n');
    expect(got).toMatchObject({
      method: 'PUT',
      url: '/api/trpc/game.list/?input=%7B%22json%22%3A%7B%7D%7D&x=[1-2]',
      headers: { authorization: `Bearer ${KEY}`, 'x-odd': `a "b" 'c' $d %e \\f`, 'idempotency-key': 'cl\u00e9' },
    });
  });

  test('sends a POST of nothing', async () => {
    const { got } = await send({});
    expect([got.method, got.headers['content-length'], got.body]).toEqual(['POST', '0', '']);
  });

  test.each(['plain', "it's", '', '$(id)', 'a b', '`id`', '\\', '"', '*', '-n', '~', 'a\nb'])('quotes %j', (text) => {
    expect(execFileSync('sh', ['-c', `printf %s ${quoted(text)}`], { encoding: 'utf8' })).toBe(text);
  });
});
