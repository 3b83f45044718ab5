/**
 * @engines sqlite
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, describe, expect, test } from '@jest/globals';
import { build } from '../../src/base/version.ts';
import { guides } from '../../src/site/guides/guides.ts';
import { startApp, withSettings } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';

// What the service answers beside its operations: health, documents, pages, and what is at no address.

const { version } = createRequire(import.meta.url)('#package') as { version: string };
const app = await startApp({
  settings: { SECURITY_CONTACT: 'mailto:security@example.com', BRAND_NAME: 'Game Shelf' },
});
const silent = await startApp();
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HTML = 'text/html; charset=utf-8';
const names = guides.map(({ name }) => name);
const PAGES = ['/', '/docs/', '/errors', '/guides/', ...names.map((name) => `/guides/${name}`)];
/** What changes only with a release, beside pages. */
const FILES = [
  ...names.map((name) => `/guides/${name}.md`),
  '/llms.txt',
  '/llms-full.txt',
  '/errors.json',
  '/assets/errors.css',
  '/assets/errors.js',
  ...['openapi.json', 'openapi-3.0.json', 'openapi.yaml', 'openapi-3.0.yaml'].map((name) => `/${name}`),
];
/** What pages may load, and reach: nothing but this service. */
const POLICY =
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';" +
  "base-uri 'none';form-action 'none';frame-ancestors 'none'";

afterAll(() => Promise.all([app.stop(), silent.stop()]));

const page = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  sendRaw(app.url, path, { method, headers });
/** The addresses of the files that a page loads. */
const filesOf = (body: unknown): string[] =>
  [...String(body).matchAll(/(?:src|<link[^>]* href)="([^"]+)"/g)].map(([, address = '']) => address);
/** An error that tells of a path, where there is no page for it. */
const failureOf = (reason: string) => ({ error: { json: { data: { reason, path: null } } } });

describe('pages', () => {
  test.each(PAGES)('%s is a page that may reach nothing but this service', async (path) => {
    const { status, headers, body } = await page(path);
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: HTML });
    expect(headers['content-security-policy']).toBe(POLICY);
    expect(body).toMatch(/<h1>[^<]+<\/h1>/);
    expect(body).not.toMatch(/<style|<script(?![^>]* src=)| style="| on\w+="/);
    const addresses = filesOf(body);
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      const { pathname } = new URL(address, app.url + path);
      expect([address, (await page(pathname)).status]).toEqual([address, 200]);
    }
  });

  test.each(PAGES)('caches keep the files of %s for good, and none of another version', async (path) => {
    const files = filesOf((await page(path)).body).filter((address) => !address.endsWith('favicon.ico'));
    for (const address of files) {
      const { pathname } = new URL(address, app.url + path);
      const cached = async (at: string) => {
        const { status, headers } = await page(at);
        return [at, status, headers['cache-control']];
      };
      expect(await cached(pathname)).toEqual([pathname, 200, 'public, max-age=31536000, immutable']);
      const other = pathname.replace(/^\/assets\/[\w-]{16}/, '/assets/another-version0');
      expect(await cached(other)).toEqual([other, 200, 'no-cache']);
    }
  });

  test('the folder of the files has another name in another color', async () => {
    const folderOf = (html: string) => /assets\/([\w-]{16})\/site\.css/.exec(html)?.[1];
    const brand = { ...app.context.config.brand, color: '#fff7c2' };
    const { text } = await withSettings(app, { brand }).get('/');
    expect(folderOf(text)).toMatch(/./);
    expect(folderOf(text)).not.toBe(folderOf(String((await page('/')).body)));
  });

  test.each([...PAGES, ...FILES])('%s is sent once to who asks again', async (path) => {
    const { headers } = await page(path);
    const etag = String(headers.etag);
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      expect(await page(path, { 'If-None-Match': known })).toMatchObject({ status: 304, body: '', headers: { etag } });
    }
    expect((await page(path, { 'If-None-Match': '"other"' })).status).toBe(200);
    expect(await page(path, {}, 'HEAD')).toMatchObject({ status: 200, body: '', headers: { etag } });
  });

  test.each([...PAGES, ...FILES, '/docs', '/guides', '/healthz', '/readyz', '/readyz?for=read'])(
    '%s can only be read',
    async (path) => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        expect(await page(path, {}, method)).toMatchObject({
          status: 405,
          headers: { allow: 'GET, HEAD' },
          body: failureOf('METHOD_NOT_SUPPORTED'),
        });
      }
    },
  );

  test.each([
    ['/docs', 302, '/docs/'],
    ['/guides', 302, '/guides/'],
    // Where the reference was.
    ['/reference', 301, '/docs/'],
    ['/reference/', 301, '/docs/'],
  ])('%s leads to another page: %d', async (path, status, to) => {
    const { status: came, headers } = await page(path);
    expect([came, new URL(String(headers.location), app.url + path).pathname]).toEqual([status, to]);
  });

  test.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', undefined],
  ])(
    'a large file is sent to who accepts "%s" in the coding %s, with a validator of its own',
    async (codings, coding) => {
      const plain = await fetch(`${app.url}/openapi.json`, { headers: { 'Accept-Encoding': 'identity' } });
      const reply = await fetch(`${app.url}/openapi.json`, { headers: { 'Accept-Encoding': codings } });
      expect(reply.headers.get('content-encoding') ?? undefined).toBe(coding);
      expect(reply.headers.get('vary')).toContain('Accept-Encoding');
      expect(await reply.text()).toBe(await plain.text());
      expect(reply.headers.get('etag') === plain.headers.get('etag')).toBe(coding === undefined);
      const etag = String(reply.headers.get('etag'));
      const again = await page('/openapi.json', { 'Accept-Encoding': codings, 'If-None-Match': etag });
      expect(again).toMatchObject({ status: 304, body: '', headers: { etag, vary: reply.headers.get('vary') } });
    },
  );
});

describe('well-known addresses', () => {
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

  test('/version names the service, its version and its build', async () => {
    expect(await page('/version')).toMatchObject({ status: 200, body: { name: 'Game Shelf', version, build } });
  });

  test('/.well-known/security.txt says where to report, and until when this holds', async () => {
    const { status, headers, body } = await page('/.well-known/security.txt');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(body).toContain('Contact: mailto:security@example.com\n');
    const [, expires = ''] = /^Expires: (.*)$/m.exec(String(body)) ?? [];
    const days = (Date.parse(expires) - app.context.now().getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(80);
    expect(days).toBeLessThan(365);
  });

  test('security.txt is missing without SECURITY_CONTACT', async () => {
    const reply = await sendRaw(silent.url, '/.well-known/security.txt', { method: 'GET' });
    expect(reply).toMatchObject({ status: 404, body: failureOf('ROUTE_NOT_FOUND') });
  });

  test('with a public address and known origins, the document and CORS name these', async () => {
    const http = withSettings(app, {
      publicUrl: 'https://api.example.com',
      corsOrigins: ['https://app.example.com'],
    });
    const document = await http.get('/openapi.json').set('Origin', 'https://app.example.com');
    expect(document.body.servers).toEqual([{ url: 'https://api.example.com' }]);
    expect(document.headers).toMatchObject({ 'access-control-allow-origin': 'https://app.example.com' });
    const stranger = await http.get('/healthz').set('Origin', 'https://evil.example.com');
    expect(stranger.status).toBe(200);
    expect(stranger.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('the documents of OpenAPI', () => {
  test.each([
    ['/openapi.json', '3.1'],
    ['/openapi-3.0.json', '3.0'],
  ])('%s is the committed document, with the address of the service', async (path, openapi) => {
    const { status, headers, body } = await sendRaw(silent.url, path, { method: 'GET' });
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const committed = JSON.parse(
      readFileSync(`openapi${path}`, 'utf8').replaceAll('http://localhost:3000', silent.url),
    ) as { info: object };
    const { info, externalDocs: _, ...rest } = body as { info: object; externalDocs: object };
    expect(rest).toEqual({ ...committed, servers: [{ url: silent.url }], info: undefined });
    expect({ ...info, description: '' }).toEqual({ ...committed.info, description: '' });
    expect(body).toMatchObject({ openapi: expect.stringContaining(openapi) });
  });
});

describe('guide pages', () => {
  test('the list tells the guides for each reader apart, and each guide stands beside those for its reader alone', async () => {
    const hrefs = (html: string): string[] => [...html.matchAll(/<li><a href="(\w+)"/g)].map(([, name = '']) => name);
    const readers = ['integrator', 'ci', 'operator'].map((reader) =>
      guides.filter((guide) => guide.reader === reader).map(({ name }) => name),
    );
    const parts = String((await page('/guides/')).body)
      .split('<h2>')
      .slice(1);
    expect(parts.map((part) => part.split('<')[0])).toEqual(['Use the API', 'Test your client', 'Run the service']);
    expect(parts.map(hrefs)).toEqual(readers);
    const besides = async (name: string): Promise<string[]> =>
      hrefs(String((await page(`/guides/${name}`)).body).split('</nav>\n<article')[0] ?? '');
    expect([await besides('keys'), await besides('ci'), await besides('backup')]).toEqual(readers);
    const others = [
      ...String((await page('/guides/ci')).body).matchAll(/<a href="(\w+)"( aria-current="true")?>[A-Z]/g),
    ];
    expect(others.slice(0, 3).map(([, name, mark]) => [name, mark !== undefined])).toEqual([
      ['start', false],
      ['sandbox', true],
      ['operators', false],
    ]);
  });

  test('the texts are texts', async () => {
    expect((await page('/guides/start.md')).headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect((await page('/llms.txt')).headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  describe('examples call', () => {
    test.each(['/guides/start', '/guides/start.md', '/llms-full.txt'])(
      'the host that the request names: %s',
      async (path) => {
        const first = await page(path, { Host: 'a.example.com' });
        expect(first.body).toContain('curl http://a.example.com/api/trpc/game.list');
        const second = await page(path, { Host: 'b.example.com' });
        expect(second.body).toContain('curl http://b.example.com/api/trpc/game.list');
        expect(second.body).not.toContain('a.example.com');
        expect(first.headers.etag).not.toBe(second.headers.etag);
      },
    );

    test.each(['/guides/start', '/guides/start.md', '/llms.txt', '/llms-full.txt'])(
      'the public address, where one is configured: %s',
      async (path) => {
        const http = withSettings(app, { publicUrl: 'https://api.example.com/content?a&b' });
        const { text } = await http.get(path).set('Host', 'inside:3000');
        const shown = path === '/guides/start' ? 'content?a&amp;b/api' : 'content?a&b/';
        expect(text).toContain(`https://api.example.com/${shown}`);
        expect(text).not.toMatch(/inside:3000|address\.invalid|<!-- name/);
      },
    );
  });
});

describe('at an unknown address', () => {
  const get = (path: string, accept: string | undefined, method = 'GET') =>
    page(path, accept === undefined ? {} : { Accept: accept }, method);

  test.each([
    '/docs/x.js',
    '/docs/swagger-ui.css.map',
    '/docs/..%2fpackage.json',
    '/docs//',
    '/openapi.yml',
    ...['nothing', 'Start', 'start/', '..%2fpackage', 'dependencies.md'].map((name) => `/guides/${name}`),
  ])('%s is not there', async (path) => {
    expect(await page(path)).toMatchObject({ status: 404, body: failureOf('ROUTE_NOT_FOUND') });
  });

  test.each(['/nothing', '/guides/nothing', '/docs/x.js', '/nothing/at/all/', '/%zz', '/apis/x', '/sdks/'])(
    'a browser gets a page: %s',
    async (path) => {
      const { status, headers, body } = await get(path, BROWSER);
      expect({ status, type: headers['content-type'] }).toEqual({ status: 404, type: HTML });
      expect(headers['content-security-policy']).toBe(POLICY);
      expect(headers.vary).toMatch(/\bAccept\b/);
      expect(headers['x-request-id']).toBeDefined();
      const [, styles = ''] = /<link rel="stylesheet" href="([^"]+site\.css)"/.exec(String(body)) ?? [];
      expect((await page(new URL(styles, `${app.url}${path}`).pathname)).status).toBe(200);
      expect(await get(path, BROWSER, 'HEAD')).toMatchObject({ status: 404, body: '' });
    },
  );

  test('the page leads to what was probably meant, and shows nothing of the address', async () => {
    expect((await get('/swagger/ui', BROWSER)).body).toContain('<a href="../docs/"><code>/docs/</code></a>');
    expect((await get('/health', BROWSER)).body).toContain('<a href="./healthz"><code>/healthz</code></a>');
    expect((await get('/<script>alert(1)</script>', BROWSER)).body).not.toContain('alert');
  });

  test.each([
    ['/nothing', undefined],
    ['/nothing', '*/*'],
    ['/nothing', 'application/json, text/plain, */*'],
    ['/nothing', 'application/json, text/html;q=0.9'],
    ['/nothing', 'image/png'],
    ...['/api', '/api/', '/api/nothing', '/api/trpc/nothing', '/api/trpc/game.nothing'].map((path) => [path, BROWSER]),
  ])('%s is an error for a client that accepts %s', async (path = '', accept) => {
    const reply = await get(path, accept);
    expect(reply).toMatchObject({ status: 404, headers: { 'content-type': 'application/json; charset=utf-8' } });
    expect(reply.body).toMatchObject({ error: { json: { data: { httpStatus: 404 } } } });
  });

  test('a form that is sent there gets the error', async () => {
    expect(await get('/nothing', BROWSER, 'POST')).toMatchObject({ status: 404, body: failureOf('ROUTE_NOT_FOUND') });
  });
});
