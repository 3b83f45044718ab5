/**
 * @engines none
 * @tier fast
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import {
  assertPublic,
  ForbiddenTarget,
  parseTarget,
  resolveTarget,
  type WebhookPolicy,
} from '../../../src/event/webhook/sender/guard.ts';
import { nameLookUp } from '../../../src/event/webhook/sender/names.ts';
import { nextAttempt } from '../../../src/event/webhook/sender/schedule.ts';
import { isTaken, send, signedHeaders } from '../../../src/event/webhook/sender/send.ts';
import { newSecret } from '../../../src/event/webhook/secrets.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';
import { NXDOMAIN, SERVFAIL, startNameServer } from '../../harness/servers/name-server.ts';

const NOT_PUBLIC = 'It may not be called: its name has no public address.';
const strict: WebhookPolicy = { allowed: [], ports: [443, 8443], allowsHttp: false };

/** Addresses that are private, reserved, of a cloud's inside, or hold an IPv4 address. */
const FORBIDDEN = `
  127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1
  255.255.255.255 192.0.2.1 198.18.0.1 240.0.0.1 ::1 :: fe80::1 fd00:ec2::254 fc00::1 fec0::1 ff02::1
  ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2001:0:1::1
  2001:db8::1 100::1 ::127.0.0.1 2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:8.8.8.8
  2a00:1450:4001:81b:300:5efe:7f00:1 168.63.129.16 161.26.0.10 166.9.14.1 100.100.100.200 192.0.0.192
`
  .trim()
  .split(/\s+/);

describe('the target of a webhook', () => {
  test.each(FORBIDDEN)('may not be %s', async (address) => {
    expect(() => assertPublic(address, strict)).toThrow(ForbiddenTarget);
    const url = new URL('https://example.com/');
    const lookUp = () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]);
    // What fails takes a second, unless it is aborted.
    await expect(resolveTarget(url, strict, AbortSignal.abort(), lookUp)).rejects.toThrow(ForbiddenTarget);
    const host = address.includes(':') ? `[${address}]` : address;
    expect(() => parseTarget(`https://${host}/`, strict)).toThrow(ForbiddenTarget);
  });

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '2606:4700::1111',
    '168.63.129.17',
    '166.12.0.1',
    '2606:4700::5efe',
    '2606:4700::1:5efe:a00:1',
  ])('may be %s', (address) => {
    expect(() => assertPublic(address, strict)).not.toThrow();
  });

  test.each([
    ['https://2130706433/', 'decimal'],
    ['https://0x7f000001/', 'hexadecimal'],
    ['https://0177.0.0.1/', 'octal'],
    ['https://127.1/', 'short'],
    ['https://127.0.0.1./', 'with a dot'],
    ['https://①②⑦.0.0.1/', 'in other digits'],
    ['https://[::ffff:7f00:1]/', 'mapped'],
    ['http://example.com/', 'without TLS'],
    ['ftp://example.com/', 'of another scheme'],
    ['https://user@example.com/', 'with a user'],
    ['https://user:password@example.com/', 'with a password'],
    ['https://example.com:22/', 'at another port'],
    ['https://example.com:80/', 'at the port of http'],
    ['example.com', 'without a scheme'],
    ['https:///', 'without a host'],
  ])('may not be %s, %s', (url) => {
    expect(() => parseTarget(url, strict)).toThrow(ForbiddenTarget);
  });

  test.each(['https://example.com/hook?a=b', 'https://example.com:8443/', 'https://例え.example/'])(
    'may be %s',
    (url) => {
      expect(parseTarget(url, strict).protocol).toBe('https:');
    },
  );

  test('may be in a network that the operator allows, and at its ports', () => {
    const policy = { allowed: ['10.1.0.0/16', 'fd00::/8'], ports: [3000], allowsHttp: true };
    for (const host of ['10.1.2.3', '[fd00::1]']) expect(parseTarget(`http://${host}:3000/`, policy).port).toBe('3000');
    expect(() => parseTarget('http://10.2.0.1:3000/', policy)).toThrow('10.2.0.1 is not a public address');
    expect(() => parseTarget('http://10.1.2.3/', policy)).toThrow('its port must be 3000');
  });

  test('is refused when one of its addresses is private, whatever the first one is', async () => {
    const both = ['8.8.8.8', '127.0.0.1'].map((address) => ({ address, family: 4 }));
    const url = new URL('https://rebinding.example/');
    const within = AbortSignal.abort();
    await expect(resolveTarget(url, strict, within, () => Promise.resolve(both))).rejects.toThrow(ForbiddenTarget);
    await expect(resolveTarget(url, strict, within, () => Promise.resolve([]))).rejects.toThrow(ForbiddenTarget);
  });

  test('is a few addresses of each version of IP, however many its name has', async () => {
    const many = [
      '2606:4700::1',
      '2606:4700::2',
      '2606:4700::3',
      '2606:4700::4',
      '1.1.1.1',
      '1.1.1.2',
      '1.1.1.3',
      '1.1.1.4',
    ];
    const lookUp = () => Promise.resolve(many.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
    const found = await resolveTarget(new URL('https://many.example/'), strict, new AbortController().signal, lookUp);
    expect(found.map(({ address }) => address)).toEqual([...many.slice(4, 7), ...many.slice(0, 3)]);
  });
});

describe('a message to an endpoint', () => {
  let server: Server;
  let policy: WebhookPolicy;
  let base: string;
  let requests: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.host}`);
      if (request.url === '/redirect') response.writeHead(302, { Location: '/elsewhere' }).end();
      else if (request.url === '/large') response.end('x'.repeat(1_000_000));
      else if (request.url === '/busy') response.writeHead(503, { 'Retry-After': '120' }).end('busy\n\u0000<b>now</b>');
      else response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    base = `http://localhost:${port}`;
    policy = { allowed: ['127.0.0.0/8', '::1/128'], ports: [port], allowsHttp: true };
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const to = (path: string, more: Partial<WebhookPolicy> = {}) => {
    requests = [];
    return send({ url: `${base}${path}`, headers: {}, body: '{}' }, { ...policy, ...more });
  };

  test('is sent by POST', async () => {
    const answer = await to('/');
    expect([answer.status, isTaken(answer)]).toEqual([204, true]);
    expect(requests).toEqual([`POST / ${new URL(base).host}`]);
  });

  test('follows no redirect', async () => {
    const answer = await to('/redirect');
    expect([answer.status, isTaken(answer), requests.length]).toEqual([302, false, 1]);
  });

  test('is not sent where the name leads to a private address, which takes a second to tell', async () => {
    requests = [];
    const world = new VirtualWorld();
    const began = world.now;
    try {
      const lookUp = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      const message = { url: `${base}/`, headers: {}, body: '{}' };
      const answer = await world.settled(send(message, { ...policy, allowed: [] }, lookUp));
      expect([answer.status, answer.text]).toEqual([undefined, NOT_PUBLIC]);
      expect(world.now - began).toBe(1000);
    } finally {
      world.end();
    }
    expect(requests).toEqual([]);
  });

  test('that cannot be sent says the same to its owner, whatever the name leads to', async () => {
    const zone: Record<string, readonly string[] | number> = {
      'private.example': ['10.11.12.13'],
      'loopback.example': ['127.0.0.1', '1.1.1.1'],
      'mapped.example': ['::1'],
      'empty.example': [],
      'broken.example': SERVFAIL,
    };
    const names = await startNameServer((name) => zone[name] ?? NXDOMAIN);
    const lookUp = nameLookUp({ servers: [names.address] });
    try {
      const hosts = [...Object.keys(zone), 'nowhere.example'];
      const answers = await Promise.all(
        hosts.map((host) => send({ url: `https://${host}/`, headers: {}, body: '{}' }, strict, lookUp)),
      );
      expect(new Set(answers.map(({ fault: _fault, ...shown }) => JSON.stringify(shown)))).toEqual(
        new Set([JSON.stringify({ text: NOT_PUBLIC, body: '', isNotSent: true })]),
      );
      // The operator is told all of it.
      expect(answers.map(({ fault }) => String(fault))).toEqual([
        expect.stringContaining('10.11.12.13'),
        expect.stringContaining('127.0.0.1'),
        expect.stringContaining('::1'),
        expect.stringContaining('ENODATA'),
        expect.stringContaining('ESERVFAIL'),
        expect.stringContaining('ENOTFOUND'),
      ]);
    } finally {
      names.close();
    }
  });

  test('whose connection fails names no address to its owner', async () => {
    const { port } = server.address() as AddressInfo;
    const lookUp = () => Promise.resolve([{ address: '127.0.0.3', family: 4 }]);
    const answer = await send({ url: `http://dead.example:${port}/`, headers: {}, body: '{}' }, policy, lookUp);
    expect(answer.text).toBe('The connection failed: ECONNREFUSED.');
    expect(String(answer.fault)).toContain('127.0.0.3');
  });

  test('is sent to the next address of its name where the first one does not connect', async () => {
    const { port } = server.address() as AddressInfo;
    const lookUp = () =>
      Promise.resolve(['127.0.0.3', '127.0.0.4', '127.0.0.1'].map((address) => ({ address, family: 4 })));
    requests = [];
    const answer = await send({ url: `http://several.example:${port}/`, headers: {}, body: '{}' }, policy, lookUp);
    expect([answer.status, requests]).toEqual([204, [`POST / several.example:${port}`]]);
  });

  test('has an answer of which little is kept, on one line', async () => {
    const large = await to('/large');
    expect([large.text.length, large.body.length]).toEqual([200, 65_536]);
    expect(await to('/busy')).toMatchObject({ status: 503, text: 'busy <b>now</b>', retryAfter: 120 });
  });

  test('is signed as the libraries of Standard Webhooks verify it, by both secrets while one is replaced', () => {
    const [secret, old] = [newSecret(), newSecret()];
    const body = '{"type":"game.created","data":{"title":"星"}}';
    const headers = signedHeaders('019a3c5e-e480-7181-8285-d072f394d508', new Date(), body, [secret, old]);
    for (const one of [secret, old]) expect(new Webhook(one).verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
    // A replay.
    const before = signedHeaders('id', new Date(Date.now() - 6 * 60_000), body, [secret]);
    expect(() => new Webhook(secret).verify(body, before)).toThrow(/too old/);
  });
});

describe('the attempts of a delivery', () => {
  test('come later where the endpoint asks for it, by a day at most, and not all at once', () => {
    const now = new Date(0);
    expect(nextAttempt(now, 1, 3600)).toEqual(new Date(3_600_000));
    expect(nextAttempt(now, 1, 1e9)).toEqual(new Date(86_400_000));
    expect([nextAttempt(now, 1, undefined, 0), nextAttempt(now, 1, undefined, 1)]).toEqual([
      new Date(4500),
      new Date(5500),
    ]);
    expect(nextAttempt(now, 10, undefined)).toBeUndefined();
  });
});
