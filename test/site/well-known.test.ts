/**
 * @engines sqlite
 * @tier fast
 */
import { createRequire } from 'node:module';
import { afterAll, describe, expect, test } from '@jest/globals';
import { build } from '../../src/base/version.ts';
import { startApp } from '../harness/app/app.ts';

const { version } = createRequire(import.meta.url)('#package') as { version: string };

const app = await startApp({
  settings: { SECURITY_CONTACT: 'mailto:security@example.com', BRAND_NAME: 'Game Shelf' },
});
const silent = await startApp();
describe('well-known addresses', () => {
  afterAll(async () => {
    await Promise.all([app.stop(), silent.stop()]);
  });

  test('/version names the service, its version and its build', async () => {
    const response = await fetch(`${app.url}/version`);
    expect([response.status, await response.json()]).toEqual([200, { name: 'Game Shelf', version, build }]);
  });

  test('/.well-known/security.txt says where to report, and until when this holds', async () => {
    const response = await fetch(`${app.url}/.well-known/security.txt`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const text = await response.text();
    expect(text).toContain('Contact: mailto:security@example.com\n');
    const [, expires = ''] = /^Expires: (.*)$/m.exec(text) ?? [];
    const days = (Date.parse(expires) - app.context.now().getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(80);
    expect(days).toBeLessThan(365);
  });

  test('security.txt is missing without SECURITY_CONTACT', async () => {
    const response = await fetch(`${silent.url}/.well-known/security.txt`);
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { json: { data: { reason: 'ROUTE_NOT_FOUND' } } } },
    ]);
  });
});
