// What of the network no scripted exchange shows: proxies, a dispatcher of the app, many calls with one signal, the log, the end.
// Needs CERTIFICATE and KEY, files of a certificate for gateway.invalid that NODE_EXTRA_CA_CERTS names, too.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener, Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { MockAgent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { ApiConnectionError, ContentGateway } from 'content-gateway-client';
import type { GatewayOptions } from 'content-gateway-client';

const KEY = 'cgk_network';
const OUTPUT = { result: { data: { json: { id: 'g1' } } } };

const warnings: string[] = [];
process.on('warning', ({ name }) => warnings.push(name));

/** Listens on a free port, without keeping the program from its end. */
const listen = async (server: Server): Promise<number> => {
  server.on('connection', (socket: Socket) => socket.unref());
  await once(server.unref().listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
};

/** The requests that came to the gateway or the proxy, since they were taken last. */
const seen: { by: string; target: string | undefined; headers: IncomingHttpHeaders }[] = [];
const takeSeen = () => seen.splice(0);

const answerAs =
  (by: string): RequestListener =>
  ({ url: target, headers }, response) => {
    seen.push({ by, target, headers });
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(OUTPUT));
  };

const tls = {
  cert: readFileSync(process.env['CERTIFICATE'] ?? ''),
  key: readFileSync(process.env['KEY'] ?? ''),
};
const securePort = await listen(createTlsServer(tls, answerAs('secure gateway')));
let connections = 0;
const gatewayPort = await listen(createServer(answerAs('gateway')).on('connection', () => (connections += 1)));
const proxy = createServer(answerAs('proxy')).on('connect', ({ url: target, headers }, socket: Socket) => {
  seen.push({ by: 'tunnel', target, headers });
  const inner = connect(securePort, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    socket.pipe(inner).pipe(socket);
  }).unref();
  for (const side of [socket, inner]) side.on('error', () => {});
});
const proxyHost = `127.0.0.1:${await listen(proxy)}`;

/** Calls with these variables of the environment alone. Returns by whom it was answered, or the error. */
const callWith = async (
  environment: Record<string, string>,
  baseUrl: string,
  options: GatewayOptions = {},
): Promise<string | Error> => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'CONTENT_GATEWAY_LOG']) {
    delete process.env[name];
    delete process.env[name.toLowerCase()];
  }
  Object.assign(process.env, environment);
  seen.length = 0;
  try {
    const gateway = new ContentGateway({ baseUrl, apiKey: KEY, maxRetries: 0, connectTimeoutMs: 300, ...options });
    await gateway.game.getById('g1', { headers: { 'X-Sent': '1' } }).catch((error: unknown) => {
      if (!(error instanceof Error)) throw error;
      // The output lacks most members: what counts is that it came.
      if (!error.message.includes('whose output lacks')) throw error;
    });
    return seen.map(({ by }) => by).join(', ');
  } catch (error) {
    return error as Error;
  }
};

const isDirect = (outcome: string | Error): boolean => outcome instanceof ApiConnectionError && seen.length === 0;

// By http, the proxy gets the request itself; the user of its URL is decoded.
const withUser = { HTTP_PROXY: `http://me:p%40ss@${proxyHost}` };
assert.equal(await callWith(withUser, 'http://gateway.invalid/base'), 'proxy');
const [asked] = takeSeen();
assert.equal(asked?.target, 'http://gateway.invalid/base/api/trpc/game.getById');
assert.equal(asked.headers.host, 'gateway.invalid');
assert.equal(asked.headers['proxy-authorization'], `Basic ${btoa('me:p@ss')}`);
assert.equal(asked.headers.authorization, `Bearer ${KEY}`);
const userAlone = { HTTP_PROXY: `http://me@${proxyHost}` };
assert.equal(await callWith(userAlone, 'http://gateway.invalid'), 'proxy');
assert.equal(takeSeen()[0]?.headers['proxy-authorization'], `Basic ${btoa('me:')}`);

// By https, it opens a tunnel, and sees nothing of the request.
const secured = { HTTPS_PROXY: `http://me:p%40ss@${proxyHost}` };
assert.equal(await callWith(secured, 'https://gateway.invalid'), 'tunnel, secure gateway');
const [tunnel, through] = takeSeen();
assert.equal(tunnel?.target, 'gateway.invalid:443');
assert.equal(tunnel.headers['proxy-authorization'], `Basic ${btoa('me:p@ss')}`);
assert.equal(tunnel.headers.authorization, undefined);
assert.equal(through?.headers['proxy-authorization'], undefined);
assert.equal(through?.headers['x-sent'], '1');

// Each scheme has its own proxy; names in lower case prevail, also when they are empty; a scheme may be left out.
assert.ok(isDirect(await callWith({ HTTP_PROXY: `http://${proxyHost}` }, 'https://gateway.invalid')));
assert.ok(isDirect(await callWith({ HTTPS_PROXY: `http://${proxyHost}` }, 'http://gateway.invalid')));
const both = { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: proxyHost };
assert.equal(await callWith(both, 'http://gateway.invalid'), 'proxy');
assert.ok(isDirect(await callWith({ HTTP_PROXY: proxyHost, http_proxy: '' }, 'http://gateway.invalid')));

for (const [noProxy, host, direct] of [
  ['*', 'gateway.invalid', true],
  ['gateway.invalid', 'gateway.invalid', true],
  ['other.invalid, GATEWAY.invalid', 'gateway.invalid', true],
  ['.invalid', 'gateway.invalid', true],
  ['invalid', 'gateway.invalid', true],
  ['*.invalid', 'a.gateway.invalid', true],
  ['way.invalid', 'gateway.invalid', false],
  ['a.gateway.invalid', 'gateway.invalid', false],
  ['gateway.invalid:80', 'gateway.invalid', true],
  ['gateway.invalid:81', 'gateway.invalid', false],
  ['gateway.invalid:81', 'gateway.invalid:81', true],
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.11', false],
  ['2001:db8::1', '[2001:db8::1]', true],
  ['[2001:db8::1]:81', '[2001:db8::1]:81', true],
  ['[2001:db8::1]:81', '[2001:db8::1]', false],
  ['', 'gateway.invalid', false],
] as const) {
  const outcome = await callWith({ HTTP_PROXY: proxyHost, NO_PROXY: noProxy }, `http://${host}`);
  assert.equal(isDirect(outcome), direct, `NO_PROXY=${noProxy} with ${host}: ${String(outcome)}`);
  if (!direct) assert.equal(outcome, 'proxy');
}

for (const host of ['127.0.0.1', '127.0.0.2', '127.1', 'localhost', '[::1]']) {
  const outcome = await callWith({ HTTP_PROXY: `http://${proxyHost}` }, `http://${host}:${gatewayPort}`);
  assert.ok(outcome === 'gateway' || isDirect(outcome), `${host}: ${String(outcome)}`);
}
assert.equal(await callWith({ HTTP_PROXY: proxyHost }, `http://127.0.0.1:${gatewayPort}`), 'gateway');

for (const address of [
  'http://me:secret@proxy:port',
  'socks5://me:secret@proxy',
  'http://me:%ff%secret@proxy',
  'a b',
]) {
  const refused = await callWith({ HTTPS_PROXY: address }, 'https://gateway.invalid');
  assert.ok(refused instanceof TypeError && refused.message.startsWith('HTTPS_PROXY must be'), String(refused));
  assert.ok(!refused.message.includes('secret'));
}

/** A clock by which no wait takes time. */
const quick = { now: Date.now, sleep: async () => {} };

// A proxy that wants a password is not asked again.
const strict = createServer((_, response) => response.writeHead(407).end('Who are you?'));
strict.on('connect', (_, socket: Socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
const strictHost = `127.0.0.1:${await listen(strict)}`;
for (const scheme of ['http', 'https']) {
  const again = { maxRetries: 2, clock: quick };
  const refused = await callWith({ [`${scheme}_proxy`]: strictHost }, `${scheme}://gateway.invalid`, again);
  assert.ok(
    refused instanceof ApiConnectionError && refused.message.includes('after 1 attempt: Proxy'),
    String(refused),
  );
}

// The app's own dispatcher prevails over the environment, for as long as it is there.
const before = getGlobalDispatcher();
const mock = new MockAgent();
mock.disableNetConnect();
mock
  .get('http://gateway.invalid')
  .intercept({ path: '/api/trpc/game.getById', method: 'POST' })
  .reply(429, { error: { json: { message: 'From the mock.', data: { reason: 'RATE_LIMITED' } } } });
setGlobalDispatcher(mock);
const mocked = await callWith({ HTTP_PROXY: proxyHost }, 'http://gateway.invalid');
assert.ok(mocked instanceof Error && mocked.message.includes('429 RATE_LIMITED: From the mock.'), String(mocked));
mock.assertNoPendingInterceptors();
setGlobalDispatcher(before);
assert.equal(await callWith({ HTTP_PROXY: proxyHost }, 'http://gateway.invalid'), 'proxy');

const gateway = new ContentGateway({ baseUrl: `http://127.0.0.1:${gatewayPort}`, maxRetries: 0 });

// A client that is derived from another has its connections.
await gateway.call('game.getNewest');
await new Promise(setImmediate);
const opened = connections;
await gateway.withOptions({ apiKey: 'cgk_other', timeoutMs: 20_000 }).call('game.getNewest');
assert.equal(connections, opened);

// A thousand calls may share one signal, which ends those that are on their way.
const shared = new AbortController();
const { signal } = shared;
const callsOf = (count: number) => Array.from({ length: count }, () => gateway.call('game.getNewest', {}, { signal }));
for (let turn = 0; turn < 2; turn += 1) {
  for (const output of await Promise.all(callsOf(1000))) assert.deepEqual(output, { id: 'g1' });
}
assert.ok(connections - opened <= 100, `${connections - opened} connections`);
// Also those that wait for their turn.
const cancelled = Promise.allSettled(callsOf(1000));
shared.abort(new Error('enough'));
for (const outcome of await cancelled) {
  assert.ok(outcome.status === 'rejected' && outcome.reason === signal.reason, JSON.stringify(outcome));
}
await new Promise(setImmediate);
assert.deepEqual(warnings, []);

// A hook may cancel the call of which it is told, which then doesn't wait.
const hooked = new AbortController();
const unheard = { ...quick, sleep: () => Promise.reject(new Error('It waits.')) };
const cancelling = new ContentGateway({
  baseUrl: 'http://127.0.0.1:1',
  onAttempt: () => hooked.abort(),
  clock: unheard,
});
await assert.rejects(cancelling.call('game.getNewest', {}, hooked), (error) => error === hooked.signal.reason);

// The log is asked for by the environment, and is a line for each attempt.
const lines: string[] = [];
const { write } = process.stderr;
process.stderr.write = (text) => lines.push(String(text)) > 0;
const away = await callWith({ CONTENT_GATEWAY_LOG: 'debug' }, 'http://127.0.0.1:1', {
  maxRetries: 1,
  clock: quick,
});
const wrong = await callWith({ CONTENT_GATEWAY_LOG: 'debug' }, `http://127.0.0.1:${gatewayPort}`);
const silent = await callWith({ CONTENT_GATEWAY_LOG: 'info' }, `http://127.0.0.1:${gatewayPort}`);
process.stderr.write = write;
assert.ok(away instanceof ApiConnectionError);
assert.deepEqual([wrong, silent], ['gateway', 'gateway']);
assert.deepEqual(
  lines.map((line) => line.replaceAll(/\d+ ms/g, 'n ms').replace(/0\.\d+ s/, '0.n s')),
  [
    'content-gateway: game.getById attempt 1: ApiConnectionError in n ms, again in 0.n s\n',
    'content-gateway: game.getById attempt 2: ApiConnectionError in n ms\n',
    'content-gateway: game.getById attempt 1: 200 UnexpectedReplyError in n ms\n',
  ],
);

// Connections that idle keep no program from its end.
const ended = performance.now();
process.on('exit', () => {
  if (performance.now() - ended < 1000) return;
  console.error('The program ended a second late.');
  process.exitCode = 1;
});
