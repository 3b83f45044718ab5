/**
 * @engines sqlite
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { createApp } from '../../src/app/app.ts';
import { startApp } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';

// What the service answers beside its operations: health, documents and the docs page.

const app = await startApp();
describe('pages', () => {
  afterAll(() => app.stop());

  const page = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    sendRaw(app.url, path, { method, headers });

  test('/healthz and /readyz answer', async () => {
    expect(await page('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    for (const path of ['/readyz', '/readyz?for=read', '/readyz?for=write'])
      expect(await page(path)).toMatchObject({ status: 200, body: { status: 'ready' } });
    expect(await page('/readyz?for=all')).toMatchObject({
      status: 400,
      body: { error: { json: { data: { reason: 'VALIDATION_FAILED', hint: expect.stringContaining('`for`') } } } },
    });
    expect(await page('/healthz', {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
  });

  test.each(['/healthz', '/readyz', '/readyz?for=read', '/', '/docs', '/docs/', '/openapi.json'])(
    '%s can only be read',
    async (path) => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        expect(await page(path, {}, method)).toMatchObject({
          status: 405,
          headers: { allow: 'GET, HEAD' },
          body: { error: { json: { data: { reason: 'METHOD_NOT_SUPPORTED', path: null } } } },
        });
      }
    },
  );

  test('/docs leads to the docs page', async () => {
    const { status, headers } = await page('/docs');
    expect({ status, leadsTo: new URL(String(headers.location), `${app.url}/docs`).pathname }).toEqual({
      status: 302,
      leadsTo: '/docs/',
    });
  });

  test('/docs/ is a page that may reach nothing but this service', async () => {
    const { status, headers, body } = await page('/docs/');
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    const policy = Object.fromEntries(
      String(headers['content-security-policy'])
        .split(';')
        .map((directive) => [directive.split(' ')[0], directive.split(' ').slice(1).join(' ')]),
    );
    expect(policy).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    });
    const addresses = [...String(body).matchAll(/(?:src|<link[^>]* href)="([^"]+)"/g)].map(([, address]) =>
      String(address),
    );
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      const { pathname } = new URL(address, `${app.url}/docs/`);
      expect([address, (await page(pathname)).status]).toEqual([address, 200]);
    }
  });

  test.each(['/docs/x.js', '/docs/swagger-ui.css.map', '/docs/..%2fpackage.json', '/docs//', '/openapi.yml'])(
    '%s is not there',
    async (path) => {
      expect(await page(path)).toMatchObject({
        status: 404,
        body: { error: { json: { data: { reason: 'ROUTE_NOT_FOUND', path: null } } } },
      });
    },
  );

  test.each([
    ['/openapi.json', '3.1'],
    ['/openapi-3.0.json', '3.0'],
  ])('%s is the committed document, with the address of the service, and is sent once', async (path, version) => {
    const first = await page(path);
    expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } });
    const committed = readFileSync(`openapi${path}`, 'utf8').replaceAll('http://localhost:3000', app.url);
    const { servers, info, externalDocs: _, ...rest } = first.body as Record<string, object>;
    expect(rest).toEqual({ ...(JSON.parse(committed) as object), servers: undefined, info: undefined });
    expect(servers).toEqual([{ url: app.url }]);
    const { info: committedInfo } = JSON.parse(committed) as { info: object };
    expect({ ...info, description: '' }).toEqual({ ...committedInfo, description: '' });
    expect(first.body).toMatchObject({ openapi: expect.stringContaining(version) });
    const etag = String(first.headers.etag);
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await page(path, { 'If-None-Match': known });
      expect(again).toMatchObject({ status: 304, body: '', headers: { etag } });
    }
    expect((await page(path, { 'If-None-Match': '"other"' })).status).toBe(200);
  });

  test.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', undefined],
  ])(
    'a large file is sent to who accepts "%s" in the coding %s, with a validator of its own',
    async (accepted, coding) => {
      const plain = await fetch(`${app.url}/openapi.json`, { headers: { 'Accept-Encoding': 'identity' } });
      const reply = await fetch(`${app.url}/openapi.json`, { headers: { 'Accept-Encoding': accepted } });
      expect(reply.headers.get('content-encoding') ?? undefined).toBe(coding);
      expect(reply.headers.get('vary')).toContain('Accept-Encoding');
      expect(await reply.text()).toBe(await plain.text());
      expect(reply.headers.get('etag') === plain.headers.get('etag')).toBe(coding === undefined);
      const etag = String(reply.headers.get('etag'));
      const again = await page('/openapi.json', { 'Accept-Encoding': accepted, 'If-None-Match': etag });
      expect(again).toMatchObject({ status: 304, body: '', headers: { etag, vary: reply.headers.get('vary') } });
    },
  );

  test('with a public address and known origins, the document and CORS name these', async () => {
    const { context } = app;
    const config = {
      ...context.config,
      publicUrl: 'https://api.example.com',
      corsOrigins: ['https://app.example.com'],
    };
    const http = supertest(createApp({ ...context, config }));
    const document = await http.get('/openapi.json').set('Origin', 'https://app.example.com');
    expect(document.body.servers).toEqual([{ url: 'https://api.example.com' }]);
    expect(document.headers).toMatchObject({ 'access-control-allow-origin': 'https://app.example.com' });
    const stranger = await http.get('/healthz').set('Origin', 'https://evil.example.com');
    expect(stranger.status).toBe(200);
    expect(stranger.headers['access-control-allow-origin']).toBeUndefined();
  });
});
