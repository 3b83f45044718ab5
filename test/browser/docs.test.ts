import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { createDemo } from '../../src/demo/records.ts';
import { startApp } from '../support/app.ts';

declare global {
  var TEST_CHROMIUM: string;
}

const app = await startApp();
const key = (await createDemo(app.context.db, new Date())) ?? '';
const complaints: string[] = [];
const foreign: string[] = [];
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: TEST_CHROMIUM, args: ['--no-sandbox'] });
  context = await browser.newContext({ viewport: { width: 1280, height: 1600 } });
  page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== app.url) foreign.push(request.url());
  });
});

afterAll(async () => {
  await browser.close();
  await app.stop();
});

const screenshot = async (name: string): Promise<void> => {
  const folder = process.env['SCREENSHOTS'];
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
};

/** Opens an operation, runs it with the given body or its example, and answers what the page shows of the reply. */
const run = async (id: string, body?: unknown): Promise<{ status: string; text: string }> => {
  const block = page.locator('.opblock', { has: page.locator(`[data-path="/api/trpc/${id}"]`) });
  const summary = block.locator('.opblock-summary-control');
  await summary.click();
  if (body !== undefined) await block.locator('textarea.body-param__text').fill(JSON.stringify(body));
  await block.getByRole('button', { name: 'Execute' }).click();
  const reply = block.locator('.live-responses-table .response');
  await reply.waitFor();
  const status = (await reply.locator('.response-col_status').innerText()).trim();
  const text = await reply.locator('.highlight-code').first().innerText();
  await screenshot(id);
  await summary.click();
  return { status, text };
};

/** What earlier versions of the page kept; by a frame, since the page itself sees the storage of the session only. */
const leaveInLocalStorage = `(() => {
  const schema = { type: 'http', scheme: 'bearer' };
  const frame = document.body.appendChild(document.createElement('iframe'));
  frame.contentWindow.localStorage.setItem(
    'authorized', JSON.stringify({ ApiKey: { name: 'ApiKey', schema, value: 'left' } }));
  frame.remove();
})()`;

test('the page shows every operation, and / leads to it', async () => {
  await page.goto(app.url);
  await page.locator('.opblock').first().waitFor();
  expect(page.url()).toBe(`${app.url}/docs/`);
  expect(await page.locator('.opblock').count()).toBe(20);
  await screenshot('overview');
});

test('without a key a protected operation answers 401, whatever was kept earlier', async () => {
  await page.evaluate(leaveInLocalStorage);
  await page.reload();
  await page.locator('.opblock').first().waitFor();
  const { status, text } = await run('user.me');
  expect(status).toMatch(/^401/);
  expect(text).toContain('KEY_MISSING');
});

test('a key given to Authorize creates a game, which the list then shows', async () => {
  await page.locator('button.authorize').first().click();
  await page.locator('.modal-ux input').fill(key);
  await page.locator('.modal-ux button[type=submit]').click();
  await screenshot('authorize');
  await page.locator('.modal-ux .btn-done').click();

  const created = await run('game.create', { json: { title: '月夜の冒険', tagNames: ['RPG'] } });
  expect(created.status).toMatch(/^200/);
  expect(created.text).toContain('月夜の冒険');

  const listed = await run('game.list', { json: { limit: 10, page: 1 } });
  expect(listed.status).toMatch(/^200/);
  expect(listed.text).toContain('月夜の冒険');
});

test('the key is still there after a reload, kept by the tab alone', async () => {
  await page.reload();
  await page.locator('.opblock').first().waitFor();
  expect((await run('user.me')).status).toMatch(/^200/);

  const { hostname } = new URL(app.url);
  const { origins } = await context.storageState();
  expect(origins.filter(({ origin }) => origin.includes(hostname))).toEqual([]);
  expect(await page.locator('body').innerText()).toContain('forgotten when the tab is closed');
});

test('another tab has no key', async () => {
  const another = await context.newPage();
  try {
    await another.goto(`${app.url}/docs/`);
    await another.locator('.opblock').first().waitFor();
    expect(await another.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('cgk_');
    await another.locator('button.authorize').first().click();
    await another.locator('.modal-ux input').waitFor();
  } finally {
    await another.close();
  }
});

/**
 * One operation of each shape of input: none, an id, several members, nested ones, a list of records. That the example of
 * every operation works is for `test/wire/walk.test.ts`; the page takes half a second of the processor to show one.
 */
const ofEachShape = ['game.getTypeStats', 'image.getById', 'user.updateProfile', 'game.create', 'image.batchCreate'];

test('Try it out works with the example of an operation as it stands', async () => {
  const statuses = new Map<string, string>();
  for (const id of ofEachShape) statuses.set(id, (await run(id)).status);
  expect([...statuses].filter(([, status]) => !status.startsWith('200'))).toEqual([]);
}, 120_000);

test('nothing was asked of other hosts, and the browser had nothing to complain of', () => {
  expect(foreign).toEqual([]);
  // The reply 401 above is one that the browser notes by itself.
  expect(complaints.filter((text) => !text.includes('the server responded with a status of 401'))).toEqual([]);
});
