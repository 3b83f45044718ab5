/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';

// What is answered at unknown addresses: a page to browsers, an error to programs.

const app = await startApp();
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('at an unknown address', () => {
  afterAll(() => app.stop());

  const get = (path: string, accept: string | undefined, method = 'GET') =>
    sendRaw(app.url, path, { method, headers: accept === undefined ? {} : { Accept: accept } });

  test.each(['/nothing', '/guides/nothing', '/docs/x.js', '/nothing/at/all/', '/%zz', '/apis/x', '/sdks/'])(
    'a browser gets a page: %s',
    async (path) => {
      const { status, headers, body } = await get(path, BROWSER);
      expect({ status, type: headers['content-type'] }).toEqual({ status: 404, type: 'text/html; charset=utf-8' });
      expect(headers['content-security-policy']).toMatch(/^default-src 'none';script-src 'self';/);
      expect(headers.vary).toMatch(/\bAccept\b/);
      expect(headers['x-request-id']).toBeDefined();
      const [, styles = ''] = /<link rel="stylesheet" href="([^"]+site\.css)"/.exec(String(body)) ?? [];
      expect(new URL(styles, `${app.url}${path}`).href).toBe(`${app.url}/assets/site.css`);
      expect(await get(path, BROWSER, 'HEAD')).toMatchObject({ status: 404, body: '' });
    },
  );

  test('the page leads to what was probably meant', async () => {
    expect((await get('/swagger/ui', BROWSER)).body).toContain('<a href="../docs/"><code>/docs/</code></a>');
    expect((await get('/health', BROWSER)).body).toContain('<a href="./healthz"><code>/healthz</code></a>');
  });

  test('the page shows nothing of the address', async () => {
    expect((await get('/<script>alert(1)</script>', BROWSER)).body).not.toContain('alert');
  });

  test.each([
    ['/nothing', undefined],
    ['/nothing', '*/*'],
    ['/nothing', 'application/json, text/plain, */*'],
    ['/nothing', 'application/json, text/html;q=0.9'],
    ['/nothing', 'image/png'],
    ['/api', BROWSER],
    ['/api/', BROWSER],
    ['/api/nothing', BROWSER],
    ['/api/trpc/nothing', BROWSER],
    ['/api/trpc/game.nothing', BROWSER],
  ])('%s is an error for a client that accepts %s', async (path, accept) => {
    const reply = await get(path, accept);
    expect(reply).toMatchObject({ status: 404, headers: { 'content-type': 'application/json; charset=utf-8' } });
    expect(reply.body).toMatchObject({ error: { json: { data: { httpStatus: 404 } } } });
  });

  test('a form that is sent there gets the error', async () => {
    const reply = await get('/nothing', BROWSER, 'POST');
    expect(reply).toMatchObject({ status: 404, body: { error: { json: { data: { reason: 'ROUTE_NOT_FOUND' } } } } });
  });
});
