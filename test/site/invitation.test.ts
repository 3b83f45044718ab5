/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp, withSettings } from '../harness/app/app.ts';

const app = await startApp();
const BROWSER = { Accept: 'text/html' };

describe('/invitation', () => {
  afterAll(() => app.stop());

  test('is a page with nothing inline, which sends no referrer', async () => {
    const { status, headers, text } = await app.http.get('/invitation').set(BROWSER);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(text).not.toMatch(/<script>|<style| style=| on\w+=/);
    for (const file of ['invitation.js', 'invitation.css']) {
      const [path = ''] = new RegExp(`assets/[\\w-]+/${file}`).exec(text) ?? [];
      expect([path, (await app.http.get(`/${path}`)).status]).toEqual([expect.stringContaining(file), 200]);
    }
  });

  test('is none in a sandbox, whose keys are public', async () => {
    const sandbox = withSettings(app, { sandbox: true });
    expect((await sandbox.get('/invitation').set(BROWSER)).status).toBe(404);
    expect((await sandbox.post('/invitation').send({ json: {} })).status).toBe(404);
  });
});
