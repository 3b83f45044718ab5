/**
 * @engines sqlite
 * @tier long
 * @needs chromium
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { operations, webhookMessages } from '../../../contract/index.ts';
import { webhookTag } from '../../../openapi/webhooks.ts';
import { startApp } from '../../harness/app/app.ts';
import { settled } from '../../harness/documents/site.ts';

declare global {
  var TEST_CHROMIUM: string;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const app = await startApp();
const complaints: string[] = [];
const foreign: string[] = [];
let browser: Browser;
let page: Page;

describe('reference in a browser', () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: TEST_CHROMIUM, args: ['--no-sandbox'] });
    // One tab for all: each new one compiles the scripts again.
    page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== app.url)
        foreign.push(request.url());
    });
  });

  afterAll(async () => {
    await browser.close();
    await app.stop();
  });

  const WIDE = { width: 1400, height: 900 };
  const NARROW = { width: 390, height: 844 };

  /** Opens the reference anew at a fragment, and waits until it is drawn. */
  const open = async (fragment = '', viewport = WIDE): Promise<void> => {
    // From the reference, a fragment alone would load nothing.
    await page.goto('about:blank');
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(`${app.url}/reference/${fragment}`);
    await page.locator('redoc h1, redoc h2').first().waitFor();
  };

  const screenshot = async (name: string): Promise<void> => {
    const folder = process.env['SCREENSHOTS'];
    if (folder) await page.screenshot({ path: `${folder}/reference-${name}.png` });
  };

  /** The fragment that leads to an operation. */
  const fragmentOf = (tag: string, id: string): string => `#/${tag}/${id}`.toLowerCase();

  const FOUND = '[data-component-name="Search/SearchItem"]';

  /** Takes the first of what the search finds. */
  const choose = async (text: string): Promise<void> => {
    await page.keyboard.type(text);
    await page.locator(FOUND).first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
  };

  const summaries = operations.map(({ route }) => route.summary);
  const summaryOf = (id: string): string => operations.find((procedure) => procedure.id === id)?.route.summary ?? '';
  const listGames = summaryOf('game.list');
  const readProfile = summaryOf('user.getProfile');

  /** A link of the page, as far as it is looked at. */
  interface HTMLLink {
    hash: string;
    innerText: string;
  }

  test('the introduction links to the pages that it names, and the navigation to all operations in order', async () => {
    await open();
    const guide = page.locator('redoc a[href$="/guides/keys"]').first();
    expect(await guide.getAttribute('href')).toBe(`${app.url}/guides/keys`);
    const led: string[] = [];
    const texts: string[] = [];
    // Opening one group may close another.
    for (const tag of new Set([...operations.map(({ router }) => router), webhookTag.name])) {
      const group = tag.toLowerCase();
      const links = page.locator(`[data-component-name="Menu/MenuItem"] a[href*="#/${group}/"][href*="."]`);
      await page.locator(`redoc a[href$="#/${group}"]`).first().click();
      await links.first().waitFor();
      const found = (await links.evaluateAll((all) =>
        all.map((one) => [(one as unknown as HTMLLink).hash, (one as unknown as HTMLLink).innerText]),
      )) as [string, string][];
      led.push(...found.map(([hash]) => hash));
      texts.push(...found.map(([, text]) => text.split('\n')[0]?.trim() ?? ''));
    }
    // The messages to webhooks come last, in the order of their names.
    const names = Object.keys(webhookMessages).toSorted();
    expect(led).toEqual([
      ...operations.map(({ router, id }) => fragmentOf(router, id)),
      ...names.map((name) => fragmentOf(webhookTag.name, `webhook.message.${name}`)),
    ]);
    expect(texts).toEqual([...summaries, ...names.map((name) => webhookMessages[name]?.summary)]);
  });

  test('an operation shows the patterns that can be read at a glance', async () => {
    await open(fragmentOf('game', 'game.create'));
    const section = page.locator('[id="game/game.create"]');
    await section.getByText('json.title').first().waitFor();
    const text = await section.innerText();
    expect(text).toContain('^Ver[0-9]+');
    expect(text).not.toContain('Show pattern');
  });

  test('a fragment leads to its operation, which leads to the page that sends it and has samples', async () => {
    await open(fragmentOf('game', 'game.list'));
    await page.getByRole('heading', { name: listGames }).waitFor();
    const section = page.locator('[id="game/game.list"]');
    expect(await section.getByRole('link', { name: 'Try it' }).getAttribute('href')).toBe(
      `${app.url}/docs/#/game/game.list`,
    );
    const code = section.getByTestId('source-code').first();
    const languages = section
      .getByTestId('right-panel')
      .filter({ has: page.getByTestId('source-code') })
      .first()
      .getByTestId('dropdown')
      .last();
    await code.filter({ hasText: 'curl' }).waitFor();
    // By then all is drawn; before, a menu closes again.
    await page.getByTestId('search-trigger').waitFor();
    expect(await code.innerText()).toContain(`${app.url}/api/trpc/game.list`);
    for (const [language, text] of [
      ['TypeScript', 'await '],
      ['Python', 'import '],
      ['Go', ':= '],
      ['Java', 'new '],
      ['Rust', '.await'],
    ] as const) {
      const item = page.getByRole('menuitem').filter({ hasText: language, visible: true });
      const isOpen = () =>
        item.waitFor({ timeout: 1000 }).then(
          () => true,
          () => false,
        );
      do await languages.click();
      while (!(await isOpen()));
      await item.click();
      await code.filter({ hasText: text }).waitFor();
    }
    await screenshot('rust');
  });

  test('the search finds an operation by its name', async () => {
    await open();
    await page.getByTestId('search-trigger').click();
    await choose('getRelated');
    await page.waitForURL((url) => url.hash.startsWith(fragmentOf('game', 'game.getRelated')));
  });

  test('on a phone a menu leads to the operations', async () => {
    await open('', NARROW);
    const link = page.locator('redoc a[href$="#/user"]').first();
    await expect(link.isVisible()).resolves.toBe(false);
    await page.getByTestId('floating-button').click();
    await link.click();
    await page.getByRole('heading', { name: readProfile }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW.width);
    await screenshot('menu');
  });

  // That of the overview is for `pages.test.ts`, as for all pages.
  test('axe finds nothing serious in an operation, on a wide page and on a narrow one', async () => {
    await open(fragmentOf('game', 'game.list'));
    await page.getByRole('heading', { name: listGames }).waitFor();
    await page.evaluate(axe);
    for (const [viewport, colorScheme] of [
      [WIDE, 'light'],
      [WIDE, 'dark'],
      [NARROW, 'light'],
      [NARROW, 'dark'],
    ] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await settled(page);
      await screenshot(`operation-${viewport.width}-${colorScheme}`);
      const found = await page.evaluate<
        string[]
      >(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + failureSummary)))`);
      expect([viewport, colorScheme, found]).toEqual([viewport, colorScheme, []]);
    }
  });

  const HAS_FOCUS = (element: unknown): boolean =>
    element === (globalThis as unknown as { document: { activeElement: unknown } }).document.activeElement;

  test('the keyboard alone reaches the content, the search and an operation', async () => {
    await open();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.localName')).toMatch(/^h[12]$/);
    const search = page.getByTestId('search-trigger');
    for (let presses = 0; presses < 50 && !(await search.evaluate(HAS_FOCUS)); presses++) {
      await page.keyboard.press('Shift+Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Search' }).waitFor();
    await choose('Publish a game');
    await page.waitForURL((url) => url.hash.startsWith(fragmentOf('game', 'game.create')));
  });

  test('nothing was asked of other hosts, nor does the page lead to the services of others', async () => {
    await open(fragmentOf('user', 'user.me'));
    await page.getByRole('heading', { name: summaryOf('user.me') }).waitFor();
    const shown = page.locator('a[href*="redocly"], a[href*="chatgpt"], a[href*="claude"]').filter({ visible: true });
    expect(await shown.count()).toBe(0);
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
