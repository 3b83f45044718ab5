/**
 * @engines sqlite
 * @tier long
 * @needs chromium
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { errorOf, operations, scopes, webhookMessages } from '../../../contract/index.ts';

import { startApp } from '../../harness/app/app.ts';
import { demoKeyIn } from '../../harness/app/demo.ts';

declare global {
  var TEST_CHROMIUM: string;
}

// The page takes the processor for two seconds to come and half of one to open an operation, more where it is shared.
const PATIENCE_MS = 400_000;

/** Well-formed, and of no service. */
const UNKNOWN_KEY = 'cgk_sandboxAll00000000000000000000002FwSwT';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const app = await startApp({ rates: 'on' });
const key = await demoKeyIn(app.context.db);
const complaints: string[] = [];
const foreign: string[] = [];
let browser: Browser;
let context: BrowserContext;
let page: Page;

const watch = (watched: Page): Page =>
  watched
    .on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    })
    .on('pageerror', (error) => complaints.push(error.message))
    .on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== app.url)
        foreign.push(request.url());
    });

describe('Swagger UI in a browser', () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: TEST_CHROMIUM, args: ['--no-sandbox'] });
    context = await browser.newContext({ viewport: { width: 1280, height: 1600 }, reducedMotion: 'reduce' });
    context.setDefaultTimeout(PATIENCE_MS);
    page = watch(await context.newPage());
  });

  afterAll(async () => {
    await browser.close();
    await app.stop();
  });

  const screenshot = async (name: string): Promise<void> => {
    const folder = process.env['SCREENSHOTS'];
    if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
  };

  const block = (id: string, of = page): Locator =>
    of.locator('.opblock', { has: of.locator(`[data-path="/api/trpc/${id}"]`) });

  /** The button that opens and closes an operation. */
  const control = (id: string, of = page): Locator => block(id, of).locator('.opblock-summary-control');

  /** Waits for the operations: until Swagger UI has come, a list without buttons stands in for them. */
  const shown = (of = page): Promise<void> => of.locator('.opblock-summary-control').first().waitFor();

  /** Expects the top of an element in the viewport, once it has not moved for thirty frames. */
  const expectInSight = async (of: Locator): Promise<void> => {
    await of.page().waitForLoadState('networkidle');
    let top = Number.NaN;
    for (let frames = 0; frames < 30; frames += 1) {
      await of.page().evaluate('new Promise(requestAnimationFrame)');
      const { y } = (await of.boundingBox()) ?? { y: Number.NaN };
      if (y !== top) frames = 0;
      top = y;
    }
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(of.page().viewportSize()?.height ?? 0);
  };

  const open = async (id: string, of = page): Promise<Locator> => {
    await control(id, of).click();
    await block(id, of).locator('.docs-failures').waitFor();
    return block(id, of);
  };

  /** The ids of the operations that the page shows, in its order. */
  const idsShown = async (): Promise<string[]> => {
    const ids = await page.locator('#operations .opblock .op-path').allInnerTexts();
    return ids.map((path) => path.replace('/api/trpc/', ''));
  };

  /** Runs an operation with the given body or its example, and answers what the page shows of the reply. */
  const run = async (id: string, body?: unknown): Promise<{ status: string; text: string; limits: string }> => {
    const opened = await open(id);
    if (body !== undefined) await opened.getByRole('textbox', { name: 'Request body' }).fill(JSON.stringify(body));
    await opened.getByRole('button', { name: 'Execute' }).click();
    const reply = opened.getByRole('region', { name: 'Reply' });
    await reply.waitFor();
    const status = (await reply.locator('.live-status').innerText()).trim();
    const text = await reply.locator('.highlight-code').first().innerText();
    const limits = await reply.locator('.live-limits').innerText();
    await screenshot(id);
    await control(id).click();
    return { status, text, limits };
  };

  /** What earlier versions of the page kept; by a frame, since the page itself sees the storage of the session only. */
  const leaveInLocalStorage = `(() => {
  const schema = { type: 'http', scheme: 'bearer' };
  const frame = document.body.appendChild(document.createElement('iframe'));
  frame.contentWindow.localStorage.setItem(
    'authorized', JSON.stringify({ ApiKey: { name: 'ApiKey', schema, value: 'left' } }));
  frame.remove();
})()`;

  test('the page shows every operation in the order of the contract, and who may call it', async () => {
    await page.goto(`${app.url}/docs`);
    await shown();
    expect(page.url()).toBe(`${app.url}/docs/`);
    expect(await idsShown()).toEqual(operations.map(({ id }) => id));
    const badges = operations.map(({ access }) => (access === 'public' ? 'public' : `scope ${access}`));
    expect(await page.locator('#operations .opblock .op-badge').allInnerTexts()).toEqual(badges);
    expect(await page.title()).toBe('Reference · Content Gateway');
    await screenshot('overview');
    // README shows it.
    const clip = { x: 0, y: 0, width: 1280, height: 840 };
    if (process.env['UPDATE_PICTURE'] === 'true') await page.screenshot({ path: 'docs/swagger-ui.png', clip });
  });

  /** A link of the page, as far as it is looked at. */
  interface HTMLLink {
    hash: string;
  }

  test('links beside it lead to each section of the introduction, each operation and each message to webhooks', async () => {
    const links = page.getByRole('navigation', { name: 'On this page' }).getByRole('link');
    const led = await links.evaluateAll((all: unknown) => (all as HTMLLink[]).map(({ hash }) => hash));
    const messages = Object.keys(webhookMessages).map((name) => `#/webhooks/webhook.message.${name}`);
    expect(led.filter((hash) => !hash.startsWith('#/about/'))).toEqual([
      ...operations.map(({ router, id }) => `#/${router}/${id}`),
      ...messages.toSorted(),
    ]);
    await links.getByText('Repeating a write').click();
    await page.getByRole('heading', { name: 'Repeating a write' }).waitFor();
    await links.getByText('getTypeStats').click();
    await block('game.getTypeStats').locator('.docs-failures').waitFor();
    expect(await links.and(page.locator('[aria-current]')).allInnerTexts()).toEqual(['getTypeStats']);
    await control('game.getTypeStats').click();
  });

  test('a message to webhooks can be read, and not be sent', async () => {
    await page.locator('.webhooks .opblock-summary-control').first().click();
    const message = page.locator('.webhooks .opblock').first();
    await message.getByText('The message, in UTF-8.').waitFor();
    expect(await message.getByRole('button', { name: 'Execute' }).count()).toBe(0);
    await page.locator('.webhooks .opblock-summary-control').first().click();
  });

  test('addresses of the reference that was a page of its own lead to their operations', async () => {
    const other = watch(await context.newPage());
    await other.goto(`${app.url}/reference/#/game/game.gettypestats`);
    await block('game.getTypeStats', other).locator('.docs-failures').waitFor();
    expect(other.url()).toBe(`${app.url}/docs/#/game/game.getTypeStats`);
    await other.close();
  });

  test('what is deprecated has a badge, in the list and in schemas, and can be read', async () => {
    const other = watch(await context.newPage());
    await other.route('**/openapi.json', async (route) => {
      const document = await (await route.fetch()).json();
      document.paths['/api/trpc/game.create'].post.deprecated = true;
      document.components.schemas.GameInput.properties.version.deprecated = true;
      await route.fulfill({ json: document });
    });
    await other.goto(`${app.url}/docs/`);
    await shown(other);
    const badgesOf = (id: string) => block(id, other).locator('.op-badge').allInnerTexts();
    expect(await badgesOf('game.create')).toEqual(['deprecated', 'scope content:write']);
    expect(await badgesOf('game.list')).toEqual(['public']);
    const opened = await open('game.create', other);
    expect(await opened.getByText('Warning: Deprecated').count()).toBe(1);
    const opacity = "getComputedStyle(document.querySelector('.opblock-deprecated')).opacity";
    expect(await other.evaluate(opacity)).toBe('1');
    await opened.getByText('Schema', { exact: true }).first().click();
    const members = opened.locator('.json-schema-2020-12-property');
    expect(await members.filter({ hasText: /^version/ }).innerText()).toContain('deprecated');
    expect(await members.filter({ hasText: /^gameType/ }).innerText()).not.toContain('deprecated');
    await other.close();
  });

  test('an opened operation stays where it is', async () => {
    await open('game.toggleReaction');
    expect(await idsShown()).toEqual(operations.map(({ id }) => id));
    await control('game.toggleReaction').click();
    await block('game.toggleReaction').locator('.docs-failures').waitFor({ state: 'detached' });
    expect(await idsShown()).toEqual(operations.map(({ id }) => id));
  });

  test('the same operations stand there before the scripts have come, and without any', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false });
    try {
      const bare = await plain.newPage();
      await bare.goto(`${app.url}/docs/`);
      const lines = await bare.locator('.opblock').allInnerTexts();
      expect(lines.map((line) => line.split(/\s/, 1)[0])).toEqual(operations.map(({ id }) => id));
      expect(lines[0]).toMatch(/public$/);
      expect(await bare.locator('main').innerText()).toContain('Trying operations needs JavaScript.');
    } finally {
      await plain.close();
    }
  });

  test('the operations are painted while Swagger UI has not come, and its own take their place and the focus', async () => {
    const other = watch(await context.newPage());
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await other.route('**/swagger-ui-bundle.js', async (route) => {
      await released;
      await route.continue();
    });
    const asked = other.waitForRequest('**/swagger-ui-bundle.js');
    await other.goto(`${app.url}/docs/`, { waitUntil: 'commit' });
    await asked;
    // Browsers tell of a paint some time after it.
    await other.waitForFunction(`performance.getEntriesByName('first-contentful-paint').length === 1`);
    expect(await other.locator('#docs-index .opblock').count()).toBe(operations.length);
    await other.getByText('Loading the forms to try them').waitFor();
    await other.locator('#docs-index a').first().focus();
    release();
    await shown(other);
    expect(await other.locator('#docs-index').count()).toBe(0);
    const [first] = operations;
    expect(await other.evaluate('document.activeElement.innerText')).toContain(first!.id);
    await other.close();
  });

  test('the keyboard reaches Authorize with ten presses of Tab', async () => {
    const other = watch(await context.newPage());
    await other.goto(`${app.url}/docs/`);
    await shown(other);
    const reached: string[] = [];
    while (reached.length < 10 && reached.at(-1) !== 'Authorize') {
      await other.keyboard.press('Tab');
      reached.push(await other.evaluate('document.activeElement.innerText'));
    }
    expect(reached.at(-1)).toBe('Authorize');
    await other.close();
  });

  test.each([
    ['the name', 'TYPESTATS', ['game.getTypeStats']],
    ['the path', '/api/trpc/user.me', ['user.me']],
    ['the summary', 'publish up to', ['game.batchCreate', 'image.batchCreate']],
    ['the scope', 'user:write', ['user.updateProfile', 'user.updateAvatar']],
    ['the tag and a word', 'image list', ['image.list']],
  ])('the filter finds operations by %s', async (_by, phrase, ids) => {
    await page.getByRole('searchbox', { name: 'Find an operation' }).fill(phrase);
    await page.getByText(`${ids.length} of ${operations.length} operations`).waitFor();
    expect(await idsShown()).toEqual(ids);
  });

  test('the filter says that nothing was found, and leads back to all', async () => {
    const box = page.getByRole('searchbox', { name: 'Find an operation' });
    await box.fill('game.destroy');
    await page.getByText('Nothing found for “game.destroy”.').waitFor();
    expect(await page.locator('#operations .opblock').count()).toBe(0);
    await screenshot('nothing-found');
    await page.getByRole('button', { name: 'Show all operations' }).click();
    await shown();
    expect(await page.locator('#operations .opblock').count()).toBe(operations.length);
    expect(await box.evaluate('document.activeElement.type')).toBe('search');
  });

  test.each(['game.create', 'game.list'])('%s is easy to survey: each failure has a line of reasons', async (id) => {
    const opened = await open(id);
    const { reasons } = operations.find((one) => one.id === id) ?? { reasons: [] };
    const lines = await opened.locator('.docs-failure').allInnerTexts();
    const links = await opened
      .locator('.docs-reasons a')
      .evaluateAll((all: unknown) => (all as { href: string }[]).map(({ href }) => href));
    expect(lines.map((line) => line.split(/\s/, 1)[0])).toEqual(
      [...new Set(reasons.map((reason) => String(errorOf(reason).status)))].toSorted(),
    );
    expect(links.toSorted()).toEqual([...new Set(reasons)].map((reason) => `${app.url}/errors#${reason}`).toSorted());
    expect((await opened.boundingBox())?.height).toBeLessThan(2000);
    await opened.getByRole('button', { name: 'Example of a reply 401' }).click();
    await opened.getByRole('combobox', { name: 'Reply for' }).selectOption('KEY_EXPIRED');
    await opened.getByText('"KEY_EXPIRED"').waitFor();
    await screenshot(`${id}-errors`);
    await control(id).click();
  });

  test('without a key a protected operation answers 401, whatever was kept earlier', async () => {
    await page.evaluate(leaveInLocalStorage);
    await page.reload();
    await shown();
    const { status, text } = await run('user.me');
    expect(status).toMatch(/^401/);
    expect(text).toContain('KEY_MISSING');
    expect(await page.getByRole('button', { name: 'Calls with this key that failed' }).count()).toBe(0);
  });

  /** Gives a text to Authorize. Returns its dialog. */
  const authorize = async (text: string): Promise<Locator> => {
    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await dialog.getByText('38 letters and digits').waitFor();
    await dialog.getByRole('textbox', { name: 'API key' }).fill(text);
    await page.keyboard.press('Enter');
    return dialog;
  };

  const forget = async (dialog: Locator): Promise<void> => {
    await dialog.getByRole('button', { name: 'Forget the key' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
  };

  test.each([
    ['cgk_short', 'A key has 42 characters. This has 9.'],
    ['Bearer', 'There is no key in this.'],
    ['Basic dXNlcjpwYXNzd29yZA==', 'A key has no white space in it.'],
    ['sk_live_0123456789', 'A key begins with cgk_. This does not.'],
    [`cgk_${'!'.repeat(38)}`, 'A key is made of letters and digits only. This has other characters in it.'],
    [UNKNOWN_KEY, 'This API key does not exist.'],
  ])('Authorize refuses %s, and keeps no key', async (text, fault) => {
    const dialog = await authorize(text);
    await dialog.getByRole('alert').getByText(fault).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Authorize');
    expect(await page.evaluate(`sessionStorage.getItem('authorized') ?? ''`)).not.toContain('value');
  });

  test('Authorize says which scopes a key has that may not read its user', async () => {
    const author = await app.aUser({ scopes: ['content:write'] });
    const dialog = await authorize(author.key);
    await dialog.waitFor({ state: 'detached' });
    expect(await page.locator('.docs-authorize [role=status]').innerText()).toContain('content:write');
    await page.getByRole('button', { name: 'Key in use' }).click();
    await forget(dialog);
  });

  test('Authorize shows the calls with the key that failed, and finds those of one request', async () => {
    const caller = await app.aUser();
    await app.fail('game.list', { limit: 'many', page: 1 }, 400, caller.key);
    await app.fail('game.getById', { id: 'none' }, 404, caller.key);
    const [lost] = (await app.call('apiKey.calls', {}, caller.key)).items;
    const dialog = await authorize(caller.key);
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Key in use' }).click();
    const rows = dialog.locator('tbody tr');
    await rows.first().waitFor();
    const shownCells = async (): Promise<string[][]> =>
      Promise.all((await rows.all()).map((row) => row.locator('td').allInnerTexts()));
    expect((await shownCells()).map(([, operation, reason]) => [operation, reason])).toEqual([
      ['game.getById', '404 GAME_NOT_FOUND'],
      ['game.list', '400 VALIDATION_FAILED\n/limit invalid_type'],
    ]);
    await screenshot('failed-calls');
    // The guide to keys shows it.
    if (process.env['UPDATE_PICTURE'] === 'true') await dialog.screenshot({ path: 'docs/failed-calls.png' });
    await dialog.getByRole('searchbox', { name: 'Request id' }).fill(lost!.requestId);
    expect((await shownCells()).map(([, operation, , request]) => [operation, request])).toEqual([
      ['game.getById', lost!.requestId],
    ]);
    await app.fail('user.getProfile', { id: 'none' }, 404, caller.key);
    await dialog.getByRole('searchbox', { name: 'Request id' }).fill('');
    await dialog.getByRole('button', { name: 'Look again' }).click();
    await dialog.getByText('USER_NOT_FOUND').waitFor();
    await forget(dialog);
  });

  test('a key given to Authorize, wrapped as it was copied, creates a game, which the list then shows', async () => {
    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await dialog.getByRole('textbox', { name: 'API key' }).fill(`  "Authorization: Bearer '${key}'" `);
    await dialog.getByRole('button', { name: 'Use this key' }).click();
    await dialog.waitFor({ state: 'detached' });
    const owner = `Key of demo: ${scopes.join(', ')}`;
    expect(await page.getByRole('status').filter({ hasText: 'Key of' }).innerText()).toBe(owner);
    await page.getByRole('button', { name: 'Key in use' }).click();
    await dialog.getByText(owner).waitFor();
    await screenshot('authorize');
    await dialog.getByRole('button', { name: 'Close' }).click();

    const created = await run('game.create', { json: { title: '月夜の冒険', tagNames: ['RPG'] } });
    expect(created.status).toBe('200');
    expect(created.text).toContain('月夜の冒険');
    expect(created.limits).toMatch(/^Limit “\w+”: \d+ of \d+ left, all back in \d+ seconds?\.$/);

    const listed = await run('game.list', { json: { limit: 10, page: 1 } });
    expect(listed.status).toBe('200');
    expect(listed.text).toContain('月夜の冒険');
  });

  test('a refused try says in words what is wrong, before the JSON', async () => {
    const opened = await open('game.create');
    const body = JSON.stringify({ json: { title: '', tagName: [] } });
    await opened.getByRole('textbox', { name: 'Request body' }).fill(body);
    await opened.getByRole('button', { name: 'Execute' }).click();
    const failure = opened.locator('.live-failure');
    await failure.getByRole('link', { name: 'VALIDATION_FAILED' }).waitFor();
    const lines = await failure.getByRole('listitem').allInnerTexts();
    expect(lines.map((line) => line.split(' ', 1)[0])).toEqual(['/title', '/tagName']);
    expect(lines[1]).toContain('did you mean tagNames?');
    await opened.getByRole('button', { name: 'Calls with this key that failed' }).click();
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await dialog.getByText('VALIDATION_FAILED').waitFor();
    const [, requestId] =
      /^x-request-id: (.+)$/m.exec(String(await opened.locator('.live-headers').textContent())) ?? [];
    expect(await dialog.getByRole('searchbox', { name: 'Request id' }).inputValue()).toBe(requestId);
    expect(await dialog.locator('tbody tr').count()).toBe(1);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Calls with this key that failed');
    await opened.getByRole('button', { name: 'Back to the example' }).click();
    await control('game.create').click();
  });

  test('the request that was sent is shown as a command of each shell', async () => {
    const opened = await open('user.me');
    await opened.getByRole('button', { name: 'Execute' }).click();
    await opened.getByText('This request by curl').click();
    const tabs = opened.getByRole('tablist', { name: 'Shell' });
    const shells = await tabs.getByRole('tab').allInnerTexts();
    expect(shells).toHaveLength(3);
    await tabs.getByRole('tab').first().focus();
    await page.keyboard.press('ArrowLeft');
    await tabs.getByRole('tab', { name: String(shells[2]), selected: true }).waitFor();
    expect(await page.evaluate('document.activeElement.innerText')).toBe(shells[2]);
    expect(await opened.locator('.docs-fold .docs-tabs').innerText()).toContain('curl');
    await control('user.me').click();
  });

  test('code in nine languages stands with each operation', async () => {
    const opened = await open('game.list');
    const tabs = opened.getByRole('tablist', { name: 'Language' });
    const languages = ['curl', 'TypeScript', 'Python', 'Go', 'Java', 'Rust', 'PHP', 'C#', 'Ruby'];
    expect(await tabs.getByRole('tab').allInnerTexts()).toEqual(languages);
    await tabs.getByRole('tab', { name: 'Go' }).click();
    await opened.getByText('package main').waitFor();
    await screenshot('samples');
    await control('game.list').click();
  });

  test('the key is still there after a reload, kept by the tab alone', async () => {
    await page.reload();
    await shown();
    expect((await run('user.me')).status).toBe('200');

    const { hostname } = new URL(app.url);
    const { origins } = await context.storageState();
    expect(origins.filter(({ origin }) => origin.includes(hostname))).toEqual([]);
    expect(await page.locator('body').innerText()).toContain('forgotten when the tab is closed');
  });

  test('the language chosen last is shown for all operations, after a reload too', async () => {
    const opened = await open('user.updateAvatar');
    await opened.getByRole('tab', { name: 'Go', selected: true }).waitFor();
    await opened.getByText('package main').waitFor();
    await control('user.updateAvatar').click();
  });

  describe('a second tab', () => {
    let another: Page;
    beforeAll(async () => {
      another = watch(await context.newPage());
    });
    // Chromium may draw nothing in a tab that it takes for hidden, and a click waits until what is drawn stands still.
    beforeEach(() => another.bringToFront());
    afterAll(() => another.close());

    test('opens the operation of its address, and follows the address', async () => {
      await another.goto(`${app.url}/docs/#/game/game.list`);
      await block('game.list', another).locator('.docs-failures').waitFor();
      expect(await another.locator('.docs-failures').count()).toBe(1);
      await another.getByRole('link', { name: 'Link to user.me' }).click();
      await block('user.me', another).locator('.docs-failures').waitFor();
      expect(another.url()).toBe(`${app.url}/docs/#/user/user.me`);
      await control('game.list', another).click();
      await block('game.list', another).locator('.docs-failures').waitFor({ state: 'detached' });
      await another.goBack();
      await another.goBack();
      expect(another.url()).toBe(`${app.url}/docs/#/game/game.list`);
      await block('game.list', another).locator('.docs-failures').waitFor();
    });

    test.each([
      ['#/apiKey/apiKey.rotate', '.is-open'],
      ['#/apiKey', '#operations-tag-apiKey'],
      ['#/webhooks/webhook.message.event', '.is-open'],
    ])('a fresh load of %s ends with it in sight', async (hash, named) => {
      const fresh = watch(await context.newPage());
      await fresh.emulateMedia({ reducedMotion: 'no-preference' });
      await fresh.setViewportSize({ width: 1280, height: 700 });
      await fresh.goto(`${app.url}/docs/${hash}`);
      await shown(fresh);
      await expectInSight(fresh.locator(named));
      await fresh.close();
    });

    test('an address leads to an operation that the filter hides', async () => {
      await another.getByRole('searchbox', { name: 'Find an operation' }).fill('game.list');
      await block('apiKey.rotate', another).waitFor({ state: 'detached' });
      await another.evaluate(`location.hash = '#/apiKey/apiKey.rotate'`);
      await block('apiKey.rotate', another).locator('.docs-failures').waitFor();
      await expectInSight(block('apiKey.rotate', another));
      await control('apiKey.rotate', another).click();
    });

    test('goes back to where one was', async () => {
      const position = (): Promise<number> => another.evaluate('Math.round(scrollY)');
      await another.setViewportSize({ width: 1280, height: 700 });
      const link = another.getByRole('link', { name: 'Link to image.getById' });
      // What the test before did may scroll the page until the click, and so does the click itself.
      await another.evaluate(
        `document.addEventListener('click', () => (window.clickedAt = Math.round(scrollY)), { capture: true, once: true })`,
      );
      await link.click();
      const before = await another.evaluate<number>('clickedAt');
      await block('image.getById', another).locator('.docs-failures').waitFor();
      while ((await position()) === before) await setTimeout(50);
      await another.goBack();
      while (Math.abs((await position()) - before) > 5) await setTimeout(50);
    });

    test('another tab has no key', async () => {
      expect(await another.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('cgk_');
      await another.getByRole('button', { name: 'Authorize' }).click();
      await another.getByRole('textbox', { name: 'API key' }).waitFor();
      await another.keyboard.press('Escape');
    });

    test.each([
      [390, 'dark'],
      [1400, 'light'],
    ] as const)('is for everybody at a width of %s in the %s scheme', async (width, colorScheme) => {
      await another.setViewportSize({ width, height: 900 });
      await another.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const opened = await open('game.getTypeStats', another);
      await opened.getByRole('button', { name: 'Execute' }).click();
      await opened.getByRole('region', { name: 'Reply' }).waitFor();
      await opened.getByRole('button', { name: 'Example of a reply 400' }).click();
      await opened.getByRole('tab', { name: 'Schema' }).last().click();
      await opened.locator('.json-schema-2020-12').first().waitFor();
      await another.evaluate(AXE);
      const { violations } = await another.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
      const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      expect(grave.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
      expect(await another.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      const isDark = await another.evaluate(`document.documentElement.classList.contains('dark-mode')`);
      expect(isDark).toBe(colorScheme === 'dark');
      await control('game.getTypeStats', another).click();
    });
  });

  /**
   * One operation of each shape of input: none, an id, several members, nested ones, a list of records. That the example of
   * every operation works is for `test/contract/walk.test.ts`; the page takes half a second of the processor to show one.
   */
  const ofEachShape = ['game.getTypeStats', 'image.getById', 'user.updateProfile', 'game.create', 'image.batchCreate'];

  test('Try it out works with the example of an operation as it stands', async () => {
    const statuses = new Map<string, string>();
    for (const id of ofEachShape) statuses.set(id, (await run(id)).status);
    expect([...statuses].filter(([, status]) => !status.startsWith('200'))).toEqual([]);
  });

  test('the keyboard alone opens, tries and closes an operation, and the focus is seen', async () => {
    await page.getByRole('searchbox', { name: 'Find an operation' }).fill('getTypeStats');
    await page.getByText(`1 of ${operations.length} operations`).waitFor();
    const reach = async (name: RegExp): Promise<void> => {
      for (let press = 0; press < 40; press += 1) {
        await page.keyboard.press('Tab');
        const { text, outline } = await page.evaluate<{ text: string; outline: number }>(`(() => {
        const { activeElement: { innerText, ariaLabel } } = document;
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return { text: ariaLabel ?? innerText, outline: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth) };
      })()`);
        expect([text, outline]).toEqual([text, expect.any(Number)]);
        expect(outline).toBeGreaterThanOrEqual(2);
        if (name.test(text)) return;
      }
      throw new Error(`no element ${String(name)} is reached`);
    };
    await reach(/game\.getTypeStats/);
    await page.keyboard.press('Enter');
    await block('game.getTypeStats').locator('.docs-failures').waitFor();
    await reach(/^Execute$/);
    await page.keyboard.press('Space');
    await page.getByRole('region', { name: 'Reply' }).getByText('200').first().waitFor();
    await control('game.getTypeStats').focus();
    await page.keyboard.press('Space');
    await block('game.getTypeStats').locator('.docs-failures').waitFor({ state: 'detached' });
    await page.getByRole('searchbox', { name: 'Find an operation' }).fill('');
  });

  test('nothing was asked of other hosts, and the browser had nothing to complain of', () => {
    expect(foreign).toEqual([]);
    // The refusals above are replies that the browser notes by itself.
    expect(complaints.filter((text) => !/the server responded with a status of 40[013]/.test(text))).toEqual([]);
  });
});
