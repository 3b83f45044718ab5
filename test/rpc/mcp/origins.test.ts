/**
 * @engines sqlite
 * @tier fast
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp } from '../../harness/app/app.ts';

// Who may call the MCP server from a browser on the same machine: no page whose name was made to lead there.

const PUBLIC = 'https://gateway.example.com:8443';
const CORS = 'https://app.example.com';
const app = await startApp({ settings: { CORS_ORIGINS: CORS, PUBLIC_URL: `${PUBLIC}/ours` } });
const proxied = await startApp({ settings: { CORS_ORIGINS: CORS, TRUST_PROXY: '1' } });
const usual = await startApp();
afterAll(() => Promise.all([app.stop(), proxied.stop(), usual.stop()]));

/** The status of a call with these headers. */
const statusOf = async (headers: Record<string, string>, { method = 'POST', to = app } = {}) => {
  const asked = request(`${to.url}/mcp`, { method, headers: { 'Content-Type': 'application/json', ...headers } });
  asked.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : undefined);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response.resume().statusCode;
};

describe('on loopback', () => {
  const { host, port } = new URL(app.url);

  test.each([[CORS], [PUBLIC]])('scripts of %s may call', async (Origin) => {
    expect(await statusOf({ Origin })).toBe(200);
  });

  test.each([[host], [`localhost:${port}`], ['[::1]:3000']])('scripts of the service at %s may call', async (Host) => {
    expect(await statusOf({ Host, Origin: `http://${Host}` })).toBe(200);
  });

  test.each([
    ['http://evil.example.com'],
    ['null'],
    [''],
    [`${CORS}.evil.example.com`],
    ['http://app.example.com'],
    ['https://gateway.example.com'],
    ['http://localhost:1'],
    [`https://${host}`],
  ])('scripts of %j may not, by any method', async (Origin) => {
    expect([await statusOf({ Origin }), await statusOf({ Origin }, { method: 'GET' })]).toEqual([403, 403]);
  });

  test.each([['localhost'], ['LOCALHOST:1'], ['127.0.0.1'], ['127.8.8.8:9'], ['[::1]'], ['gateway.example.com']])(
    'it has the name %s',
    async (Host) => {
      expect(await statusOf({ Host })).toBe(200);
    },
  );

  test.each([
    ['evil.example.com'],
    ['evil.example.com:3000'],
    ['localhost.evil.example.com'],
    ['notlocalhost'],
    ['127.0.0.1.evil.example.com'],
    ['192.168.1.1'],
    ['0.0.0.0'],
    ['[::2]'],
    ['app.example.com'],
  ])('it has not the name %j, with and without an origin', async (Host) => {
    expect([await statusOf({ Host }), await statusOf({ Host, Origin: `http://${Host}` })]).toEqual([403, 403]);
  });
});

test('where every origin may call by CORS, on loopback it is those of this machine', async () => {
  for (const Origin of ['http://localhost:5173', 'http://127.0.0.1', 'https://[::1]:8443']) {
    expect([Origin, await statusOf({ Origin }, { to: usual })]).toEqual([Origin, 200]);
  }
  for (const Origin of ['http://evil.example.com', 'http://localhost.evil.example.com', 'null', 'file://']) {
    expect([Origin, await statusOf({ Origin }, { to: usual })]).toEqual([Origin, 403]);
  }
});

test('behind a proxy it has any name, whose scripts may still not call', async () => {
  expect(await statusOf({ Host: 'upstream' }, { to: proxied })).toBe(200);
  expect(await statusOf({ Host: 'upstream', Origin: 'http://upstream' }, { to: proxied })).toBe(403);
});
