/**
 * @engines sqlite
 * @tier fast
 */
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Config } from '../../src/config/config.ts';
import { packages } from '../../src/base/packages.ts';
import { startApp, type TestApp, withSettings } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';

// Packages of the SDKs that a service gives away: what is listed and given, and that nothing else is.

const outside = await mkdtemp(join(tmpdir(), 'content-gateway-sdks-'));
const folder = join(outside, '.release', 'artifacts');
await mkdir(folder, { recursive: true });
/** Paths of hidden files, of links that lead elsewhere, and of nothing. */
const ABSENT = `
  /sdks/.hidden /sdks/unhidden /sdks/.git/config /sdks/python/.pypirc /sdks/python/secret /sdks/elsewhere
  /sdks/elsewhere/secret /sdks/elsewhere/ /sdks/dangling /sdks/empty/ /sdks/nothing /sdks/python/nothing
  /sdks/java/gateway.jar/ /sdks/java//gateway.jar /sdks// /sdks/../../secret /sdks/..%2f..%2fsecret
  /sdks/python/..%2f..%2f..%2f..%2fsecret /sdks/%2e%2e/%2e%2e/secret /sdks/%2fetc%2fpasswd /sdks//etc/passwd
  /sdks/java%00.jar /sdks/%zz /SDKS/
`
  .trim()
  .split(/\s+/);

const app = await startApp({ settings: { SDKS_DIR: folder } });
const BROWSER = 'text/html,*/*;q=0.8';
/** More than a socket takes at once. */
const LARGE = Buffer.alloc(8 * 1024 * 1024, 'package ');

const put = async (path: string, content: string | Buffer = path): Promise<void> => {
  await mkdir(join(folder, path, '..'), { recursive: true });
  await writeFile(join(folder, path), content);
};

describe('/sdks/', () => {
  beforeAll(async () => {
    await put('typescript/gateway-1.0.0.tgz', LARGE);
    await put('python/gateway-1.0.0.tar.gz');
    await put('python/gateway-1.0.0-py3-none-any.whl');
    await put('go/git.example.com/!gateway/@v/list');
    await put('go/git.example.com/!gateway/@v/v1.0.0.mod');
    await put('go/git.example.com/!gateway/@v/v1.0.0.zip');
    await put('java/gateway.jar');
    await put('java/gateway.pom');
    await put('rust/gateway.crate');
    await put('a & <b>#?%41.txt');
    await put('.hidden');
    await put('.git/config');
    await put('python/.pypirc');
    await mkdir(join(folder, 'empty'));
    await writeFile(join(outside, 'secret'), 'secret');
    await symlink(join(outside, 'secret'), join(folder, 'python/secret'));
    await symlink(outside, join(folder, 'elsewhere'));
    await symlink('.hidden', join(folder, 'unhidden'));
    await symlink('missing', join(folder, 'dangling'));
    await symlink('typescript', join(folder, 'javascript'));
  });
  afterAll(async () => {
    await app.stop();
    await rm(outside, { recursive: true });
  });

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    sendRaw(app.url, path, { method, headers });
  const linksOf = (html: unknown): string[] =>
    [...String(html).matchAll(/<li><a href="([^"]+)"/g)].map(([, href = '']) => href);

  test('lists files and folders, and no hidden ones', async () => {
    const { status, headers, body } = await get('/sdks/');
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';script-src 'self';/);
    expect(linksOf(body)).toEqual([
      'a%20%26%20%3Cb%3E%23%3F%2541.txt',
      'empty/',
      'go/',
      'java/',
      'javascript/',
      'python/',
      'rust/',
      'typescript/',
    ]);
    expect(body).not.toContain('<b>');
    expect(linksOf((await get('/sdks/python/')).body)).toEqual([
      '../',
      'gateway-1.0.0-py3-none-any.whl',
      'gateway-1.0.0.tar.gz',
    ]);
  });

  test('all that is listed is there', async () => {
    const walk = async (path: string): Promise<number> => {
      const { status, body } = await get(path);
      expect([path, status]).toEqual([path, path === '/sdks/empty/' ? 404 : 200]);
      const links = path.endsWith('/') ? linksOf(body).filter((link) => link !== '../') : [];
      const counts = await Promise.all(links.map((link) => walk(new URL(link, `${app.url}${path}`).pathname)));
      return counts.reduce((sum, count) => sum + count, 1);
    };
    expect(await walk('/sdks/')).toBe(22);
  });

  test.each([
    ['typescript/gateway-1.0.0.tgz', 'application/gzip'],
    ['javascript/gateway-1.0.0.tgz', 'application/gzip'],
    ['python/gateway-1.0.0.tar.gz', 'application/gzip'],
    ['python/gateway-1.0.0-py3-none-any.whl', 'application/zip'],
    ['go/git.example.com/!gateway/@v/list', 'application/octet-stream'],
    ['go/git.example.com/!gateway/@v/v1.0.0.mod', 'text/plain; charset=utf-8'],
    ['go/git.example.com/%21gateway/%40v/v1.0.0.zip', 'application/zip'],
    ['java/gateway.jar', 'application/java-archive'],
    ['java/gateway.pom', 'application/xml'],
    ['rust/gateway.crate', 'application/gzip'],
    ['a%20%26%20%3Cb%3E%23%3F%2541.txt', 'text/plain; charset=utf-8'],
  ])('gives %s as %s', async (path, type) => {
    const reply = await fetch(`${app.url}/sdks/${path}`);
    const content = Buffer.from(await reply.arrayBuffer());
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, type]);
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    expect(reply.headers.get('content-length')).toBe(String(content.length));
    expect(content.equals(path.endsWith('.tgz') ? LARGE : Buffer.from(decodeURIComponent(path)))).toBe(true);
    expect(await get(`/sdks/${path}`, {}, 'HEAD')).toMatchObject({
      status: 200,
      headers: { 'content-length': String(content.length) },
      body: '',
    });
  });

  test('gives a file again only if it has changed', async () => {
    const path = '/sdks/java/gateway.jar';
    const { headers } = await get(path);
    const known = { 'If-None-Match': String(headers.etag) };
    expect(await get(path, known)).toMatchObject({ status: 304, body: '' });
    await utimes(join(folder, 'java/gateway.jar'), 1, 1);
    expect((await get(path, known)).status).toBe(200);
  });

  test('goes on after a client that leaves in the middle of a file', async () => {
    const leaving = new AbortController();
    const reply = await fetch(`${app.url}/sdks/typescript/gateway-1.0.0.tgz`, { signal: leaving.signal });
    await reply.body?.getReader().read();
    leaving.abort();
    expect((await get('/sdks/')).status).toBe(200);
  });

  test.each(ABSENT)('%s is not there', async (path) => {
    expect(await get(path)).toMatchObject({
      status: 404,
      body: { error: { json: { data: { reason: 'ROUTE_NOT_FOUND' } } } },
    });
    expect(await get(path, { Accept: BROWSER })).toMatchObject({
      status: 404,
      headers: { 'content-type': 'text/html; charset=utf-8' },
    });
  });

  test.each([
    ['/sdks', 'sdks/'],
    ['/sdks/go/git.example.com', 'git.example.com/'],
  ])('%s leads to the folder', async (path, to) => {
    expect(await get(path)).toMatchObject({ status: 302, headers: { location: to } });
  });

  test.each(['/sdks', '/sdks/', '/sdks/java/gateway.jar'])('%s can only be read', async (path) => {
    expect(await get(path, {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test('is led to, unless it is off', async () => {
    const other = await startApp({ settings: { SDKS_DIR: 'off' } });
    try {
      for (const [url, isThere] of [
        [app.url, true],
        [other.url, false],
      ] as const) {
        const page = async (path: string) => String((await sendRaw(url, path, { method: 'GET' })).body);
        expect((await page('/')).includes('<a href="sdks/">')).toBe(isThere);
        const json = await sendRaw(url, '/', { method: 'GET', headers: { Accept: 'application/json' } });
        expect(Object.keys((json.body as { links: object }).links).includes('sdks')).toBe(isThere);
        expect((await sendRaw(url, '/sdks/', { method: 'GET' })).status).toBe(isThere ? 200 : 404);
      }
    } finally {
      await other.stop();
    }
  });
});

describe('the line that installs a package', () => {
  const [[language, go], , [, types]] = ['go', 'java', 'types'].map((name) =>
    packages.find(([one]) => one === name),
  ) as [(typeof packages)[number], unknown, (typeof packages)[number]];
  const REGISTRY = 'https://proxy.example.com';
  let service: TestApp;
  beforeAll(async () => {
    const served = join(outside, 'served');
    for (const { file } of [go, types]) {
      await mkdir(join(served, file, '..'), { recursive: true });
      await writeFile(join(served, file), file);
    }
    service = await startApp({ settings: { SDKS_DIR: served, SDK_PACKAGES: `java=${REGISTRY}/` } });
  });
  afterAll(() => service.stop());

  /** A page as text, without the colors of code. */
  const textOf = async (path: string, settings: Partial<Config> = {}): Promise<string> => {
    const { text } = await withSettings(service, settings).get(path).set('Host', 'gateway.example').expect(200);
    return text.replaceAll(/<\/?(?:span|pre|code)\b[^>]*>/g, '').replaceAll('&quot;', '"');
  };
  const AT_HOST = 'http://gateway.example/sdks/';

  test.each(['/guides/sdks', '/guides/sdks.md', '/llms-full.txt'])(
    '%s: from the service, a registry, or nowhere',
    async (path) => {
      const text = await textOf(path);
      expect(text).toContain(`\n${go.served}\n`);
      expect(text).toMatch(new RegExp(`^  (?:<|&lt;)repositories.*${REGISTRY}(?:<|&lt;)/url`, 'm'));
      expect(text).toMatch(/^# content-gateway-client: not at \/sdks\/ of this service/m);
      expect(text).not.toContain('/sdks/java<');
      expect(text).not.toContain('/sdks/typescript/');
    },
  );

  test.each(['/guides/trpc', '/guides/trpc.md'])('%s: from the service, a registry, or nowhere', async (path) => {
    expect(await textOf(path)).toContain(`\nnpm install ${AT_HOST}${types.file}\n`);
    const published = await textOf(path, { sdkPackages: { types: REGISTRY } });
    expect(published).toContain(`\nnpm install ${types.name}@${types.version} --registry ${REGISTRY}\n`);
    expect(await textOf(path, { sdksDir: undefined })).toContain(`\n# ${types.name}: not at /sdks/`);
  });

  test('/sdks/ has it with the address of the service, and says how to make what is missing', async () => {
    const text = await textOf('/sdks/');
    expect(text).toContain(go.served.replace(/\$\w+_URL\/sdks\//, AT_HOST));
    expect(text).toContain(REGISTRY);
    expect(text).toContain('`npm run sdk` makes them');
    const empty = await textOf('/sdks/', { sdksDir: join(outside, 'absent'), sdkPackages: {} });
    expect(empty).toContain('`npm run sdk` makes them');
    expect(empty).not.toContain(`${language}/`);
  });
});
