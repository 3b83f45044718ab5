/**
 * @engines sqlite
 * @tier fast
 */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { startApp, withSettings } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';

// `/`, in HTML and in JSON, and what makes the pages the operator's.

const { version } = createRequire(import.meta.url)('#package') as { version: string };
const app = await startApp();
describe('start page', () => {
  afterAll(() => app.stop());

  const get = (headers: Record<string, string> = {}) => sendRaw(app.url, '/', { method: 'GET', headers });

  const HTML = 'text/html; charset=utf-8';
  const JSON_TYPE = 'application/json; charset=utf-8';

  /** The text of the first block of code. */
  const commandOf = (html: string): string =>
    (/<pre[^>]*><code>([^]*?)<\/code>/.exec(html)?.[1] ?? '')
      .replaceAll(/<[^>]+>/g, '')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');

  describe('/ speaks', () => {
    test.each([
      ['*/*', HTML],
      ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', HTML],
      ['image/png', HTML],
      ['text/html;q=0.4, application/json;q=0.4', HTML],
      ['application/json', JSON_TYPE],
      ['application/json, text/plain, */*', JSON_TYPE],
      ['text/html;q=0.5, application/json', JSON_TYPE],
    ])('to a caller who accepts %s: %s', async (accept, type) => {
      const { status, headers, body } = await get({ Accept: accept });
      expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type });
      expect(headers.vary).toMatch(/^Accept(,|$)/);
      const again = await get({ Accept: accept, 'If-None-Match': String(headers.etag) });
      expect([again.status, again.body]).toEqual([304, '']);
      expect(body).not.toBe('');
    });

    test('HTML to a caller who says nothing, and in a form that a cache tells from JSON', async () => {
      const html = await get();
      const json = await get({ Accept: 'application/json' });
      expect(html.headers['content-type']).toBe(HTML);
      expect(html.headers.etag).not.toBe(json.headers.etag);
    });
  });

  describe('the JSON at /', () => {
    const asJson = async (http: Pick<typeof app.http, 'get'>, headers: Record<string, string> = {}) =>
      (await http.get('/').set({ Accept: 'application/json', ...headers })).body as {
        name: string;
        version: string;
        links: Record<string, string>;
      };

    test('names the service and leads on from the address it was asked at', async () => {
      const { links, ...rest } = await asJson(app.http);
      expect(rest).toEqual({ name: 'Content Gateway', version });
      expect(links).toMatchObject({ openapi: `${app.url}/openapi.json`, ready: `${app.url}/readyz` });
      expect(links['sandbox']).toBeUndefined();
      expect((await fetch(String(links['ready']))).status).toBe(200);
    });

    test('leads on from the public address', async () => {
      const { links } = await asJson(withSettings(app, { publicUrl: 'https://api.example.com/base' }));
      expect(Object.values(links).filter((one) => !one.startsWith('https://api.example.com/base/'))).toEqual([]);
    });

    test('believes proxies only as far as they are trusted', async () => {
      const told = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'api.example.com', Host: 'inner:1' };
      expect((await asJson(withSettings(app, {}), told)).links['live']).toBe('http://inner:1/healthz');
      expect((await asJson(withSettings(app, { trustProxy: 1 }), told)).links['live']).toBe(
        'https://api.example.com/healthz',
      );
    });

    test.each(['a$(id)', "a'b", 'a&b', 'a!b'])('is relative where the host is "%s"', async (host) => {
      const { status, body } = await get({ Host: host, Accept: 'application/json' });
      expect({ status, body }).toMatchObject({ status: 200, body: { links: { openapi: './openapi.json' } } });
      const html = String((await get({ Host: host })).body);
      expect(commandOf(html)).toMatch(/^curl http:\/\/localhost:3000\/api/);
    });

    test('tells of the sandbox where there is one', async () => {
      expect((await asJson(withSettings(app, { sandbox: true }))).links['sandbox']).toMatch(/\/sandbox$/);
      const { text } = await withSettings(app, { sandbox: true }).get('/');
      expect(text).toContain('This is a sandbox');
      expect(text).not.toContain('seed');
      expect((await withSettings(app, { sandbox: true, sandboxSeed: 7 }).get('/')).text).toContain('by the seed 7');
    });
  });

  test('the call on the page works as it stands, on an empty database', async () => {
    const command = commandOf((await app.http.get('/').set('Host', new URL(app.url).host)).text);
    expect(command).toMatch(/^curl http/);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent --show-error --fail`]);
    expect(JSON.parse(stdout)).toMatchObject({ result: { data: { json: { items: [], page: 1, limit: 3 } } } });
  });

  test('the page is the operator’s', async () => {
    const { brand } = readConfig({
      BRAND_NAME: 'Games & <Images>',
      BRAND_CONTACT: 'mailto:help@example.com',
      BRAND_TERMS: 'https://example.com/terms?a=1&b=2',
    });
    const { text } = await withSettings(app, { brand }).get('/');
    expect(text).toContain('<title>Games &amp; &lt;Images&gt;</title>');
    expect(text).toContain('<a href="mailto:help@example.com">Contact</a>');
    expect(text).toContain('<a href="https://example.com/terms?a=1&amp;b=2">Terms</a>');
    expect(text).not.toContain('<Images>');
  });

  describe('the logo', () => {
    const OWN = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');

    test.each([
      ['svg', OWN, 'image/svg+xml'],
      ['png', Buffer.from('\x89PNG\r\n\x1A\n', 'latin1'), 'image/png'],
    ] as const)('of the operator, %s, is the icon, too, and runs nothing', async (type, bytes, mediaType) => {
      const brand = { ...app.context.config.brand, logo: { type, bytes } };
      const http = withSettings(app, { brand });
      for (const path of ['/favicon.ico', `/assets/logo.${type}`]) {
        const { status, headers, body } = await http
          .get(path)
          .buffer()
          .parse((response, done) => {
            const parts: Buffer[] = [];
            response.on('data', (part: Buffer) => parts.push(part));
            response.on('end', () => done(null, Buffer.concat(parts)));
          });
        expect([path, status, String(headers['content-type']).split(';')[0]]).toEqual([path, 200, mediaType]);
        expect(body).toEqual(bytes);
        expect(headers['content-security-policy']).toMatch(/^default-src 'none';.*sandbox/);
        expect(headers['x-content-type-options']).toBe('nosniff');
      }
      const { text } = await http.get('/');
      expect(text).toContain(`<link rel="icon" href="./favicon.ico" type="${mediaType}">`);
      expect(text).toMatch(new RegExp(`<img src="./assets/[\\w-]+/logo\\.${type}"`));
    });

    test('of ours is in the operator’s color, as are the pages', async () => {
      const brand = { ...app.context.config.brand, color: '#fff7c2' };
      const http = withSettings(app, { brand });
      expect(String((await http.get('/assets/logo.svg')).body)).toContain('fill="#fff7c2"');
      expect((await http.get('/assets/brand.css')).text).toContain('--brand: #fff7c2');
    });
  });
});
