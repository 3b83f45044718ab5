/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { createApp } from '../../src/app/app.ts';
import { guides } from '../../src/site/guides/guides.ts';
import { startApp } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';

// The guides as they are served, and what language models read.

const app = await startApp();
describe('guide pages', () => {
  afterAll(() => app.stop());

  const page = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    sendRaw(app.url, path, { method, headers });

  const names = guides.map(({ name }) => name);
  const PAGES = ['/guides/', ...names.map((name) => `/guides/${name}`)];
  const TEXTS = [...names.map((name) => `/guides/${name}.md`), '/llms.txt', '/llms-full.txt'];

  test.each(PAGES)('%s is a page that may reach nothing but this service', async (path) => {
    const { status, headers, body } = await page(path);
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';script-src 'self';style-src 'self';/);
    expect(body).toMatch(/<h1>[^<]+<\/h1>/);
    expect(body).not.toMatch(/ style="| on\w+="|<script(?! src)/);
  });

  test.each([...PAGES, ...TEXTS])('%s is sent once, and can only be read', async (path) => {
    const { headers } = await page(path);
    const again = await page(path, { 'If-None-Match': String(headers.etag) });
    expect(again).toMatchObject({ status: 304, body: '' });
    expect(await page(path, {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
    expect(await page(path, {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test.each(['/docs', '/guides'])('%s leads to the folder', async (path) => {
    const { status, headers } = await page(path);
    expect({ status, to: headers.location }).toEqual({ status: 302, to: `${path.slice(1)}/` });
    expect((await page(`${path}/`)).status).toBe(200);
  });

  test.each(['/reference', '/reference/'])('%s, where the reference was, leads to it', async (path) => {
    const { status, headers } = await page(path);
    expect(status).toBe(301);
    expect(new URL(String(headers.location), `http://localhost${path}`).pathname).toBe('/docs/');
  });

  test('the list tells guides for callers from those for operators, and so does each guide', async () => {
    const hrefs = (html: string): string[] => [...html.matchAll(/<li><a href="(\w+)"/g)].map(([, name = '']) => name);
    const [callers, operators] = [false, true].map((isForOperators) =>
      guides.filter((guide) => guide.isForOperators === isForOperators).map(({ name }) => name),
    );
    const { 0: first = '', 1: second = '' } = String((await page('/guides/')).body).split('<h2>Run the service</h2>');
    expect([hrefs(first), hrefs(second)]).toEqual([callers, operators]);
    const besides = async (name: string): Promise<string[]> =>
      hrefs(String((await page(`/guides/${name}`)).body).split('</nav>\n<article')[0] ?? '');
    expect(await besides('start')).toEqual(callers);
    expect(await besides('backup')).toEqual(operators);
  });

  test('the texts are texts', async () => {
    expect((await page('/guides/start.md')).headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect((await page('/llms.txt')).headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test.each(['/guides/nothing', '/guides/Start', '/guides/start/', '/guides/..%2fpackage', '/guides/dependencies.md'])(
    '%s is not there',
    async (path) => {
      expect(await page(path)).toMatchObject({
        status: 404,
        body: { error: { json: { data: { reason: 'ROUTE_NOT_FOUND' } } } },
      });
    },
  );

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
        const { context } = app;
        const config = { ...context.config, publicUrl: 'https://api.example.com/content?a&b' };
        const { text } = await supertest(createApp({ ...context, config }))
          .get(path)
          .set('Host', 'inside:3000');
        expect(text).toContain(
          path === '/guides/start'
            ? 'https://api.example.com/content?a&amp;b/api'
            : 'https://api.example.com/content?a&b/',
        );
        expect(text).not.toMatch(/inside:3000|address\.invalid|<!-- name/);
      },
    );
  });
});
