/**
 * @engines sqlite
 * @tier long
 * @needs chromium
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import { statusDocuments } from '../../src/admin/status/documents.ts';
import { metricSources } from '../../src/app/context.ts';
import { createLog } from '../../src/app/log.ts';
import { type MetricsServer, serveMetrics } from '../../src/http/server/metrics-server.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { startApp } from '../harness/app/app.ts';
import { freePort } from '../harness/free-ports.mjs';

declare global {
  var TEST_CHROMIUM: string;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const metrics = new Metrics();
const app = await startApp({ observer: metrics.observer, settings: { SLOW_REQUEST_MS: '1' } });
const port = await freePort();
let browser: Browser;
let server: MetricsServer;

beforeAll(async () => {
  const { context } = app;
  metrics.addSources(metricSources(context));
  const log = createLog('silent', { write: () => undefined });
  const documents = statusDocuments({ context, metrics, requests: context.requests }, String);
  server = await serveMetrics(metrics, { host: '127.0.0.1', port }, log, documents);
  const { key } = await app.aUser();
  await app.aGame();
  const agents = ['content-gateway-python/1.2.0 (contract 1.2.0)', 'curl/8.5.0'];
  for (const agent of agents)
    await app.http.post('/api/trpc/user.me').set({ Authorization: `Bearer ${key}`, 'User-Agent': agent });
  await context.auth.uses?.flush();
  await app.fail('game.getById', { id: 'none' }, 404);
  browser = await chromium.launch({ executablePath: TEST_CHROMIUM, args: ['--no-sandbox'] });
});

afterAll(async () => {
  await browser.close();
  await server.close();
  await app.stop();
});

describe('status page in a browser', () => {
  test.each([
    ['wide, light', { width: 1280, height: 900 }, 'light'],
    ['narrow, dark', { width: 390, height: 844 }, 'dark'],
  ] as const)('%s: shows what failed, is styled, and axe finds nothing serious', async (_, viewport, colorScheme) => {
    // The policy of the page allows no scripts, which axe is.
    const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(`http://127.0.0.1:${port}/admin`);
    expect(await page.getByRole('cell', { name: 'GAME_NOT_FOUND' }).first().isVisible()).toBe(true);
    expect(await page.getByRole('row', { name: /^ok migrations/ }).count()).toBe(1);
    const font = await page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily");
    expect(font).toContain('system-ui');
    // Tables scroll by themselves.
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await page.getByRole('cell', { name: /content-gateway-python\/1\.2\.0/ }).count()).toBe(1);
    // The guide to consumers shows it.
    const clients = page.locator('table', { has: page.getByRole('columnheader', { name: 'Clients' }) });
    const isShown = process.env['UPDATE_PICTURE'] === 'true' && colorScheme === 'light';
    if (isShown) await clients.screenshot({ path: 'docs/keys-at-admin.png' });
    await page.evaluate(axe);
    const { violations } = (await page.evaluate('axe.run()')) as { violations: { id: string; impact: string }[] };
    expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
