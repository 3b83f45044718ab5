/**
 * @engines sqlite
 * @tier long
 * @needs chromium
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import { chromium } from 'playwright-core';
import { startApp } from '../../harness/app/app.ts';
import { crawl, placesOf, settled } from '../../harness/documents/site.ts';

declare global {
  var TEST_CHROMIUM: string;
}

// Every page there is, found from `/` by following links: how it looks, to whom it speaks, and where it leads.

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SCHEMES = ['light', 'dark'] as const;
/** Others may keep the machine busy. */
const PATIENCE_MS = 400_000;
const SCREENSHOTS = process.env['SCREENSHOTS'];

const app = await startApp();
const browser = await chromium.launch({ executablePath: TEST_CHROMIUM, args: ['--no-sandbox'] });
const NARROW = { width: 390, height: 844 };
const WIDE = { width: 1400, height: 900 };
const context = await browser.newContext({ reducedMotion: 'reduce', viewport: NARROW, isMobile: true, hasTouch: true });
// One tab for all: a process of its own for each page would take most of the processor.
const page = await context.newPage();
const site = await crawl(app.url, page);
const pages = [...site.values()].flatMap((found) => (found.status === 200 && found.page ? [found.page] : []));
const paths = pages.map(({ path }) => path).toSorted();

describe('pages in a browser', () => {
  afterAll(async () => {
    await browser.close();
    await app.stop();
  });

  /** What the page did so far that it should not. */
  let faults: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`thrown: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!/^(data|blob):/.test(url) && new URL(url).origin !== app.url) faults.push(`asked another host: ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
  });

  /** Pages that a script fills: what is there when it has, and the ids of the elements that the fragments it reads lead to. */
  const FILLED: Record<string, { ready: string; idOf: (fragment: string) => string }> = {
    '/docs/': {
      ready: '.opblock-summary-control',
      idOf: (fragment) => `operations${fragment.replaceAll('/', '-').replaceAll('.', '\\.')}`,
    },
  };

  /** The ids of the elements of the pages that a script fills, once it has. */
  const filledIds = new Map<string, string[]>();

  /** Opens a page, and waits until it is there and shows something. Returns its Content-Security-Policy. */
  const visit = async (path: string): Promise<string> => {
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: 'light' });
    faults = [];
    const response = await page.goto(app.url + path, { waitUntil: 'load' });
    const filled = FILLED[path];
    if (filled !== undefined) {
      await page.locator(filled.ready).first().waitFor();
      filledIds.set(path, await page.evaluate(`[...document.querySelectorAll('[id]')].map(({ id }) => id)`));
    }
    await page.evaluate(`new Promise((resolve) => {
      new PerformanceObserver(resolve).observe({ type: 'paint', buffered: true });
    })`);
    return response?.headers()['content-security-policy'] ?? '';
  };

  const COLOR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

  /** What axe finds serious or critical, a line for each rule: of colors alone, or of all. */
  const barriers = async (isOfColors: boolean): Promise<string[]> => {
    const options = { resultTypes: ['violations'], ...(isOfColors && { runOnly: COLOR_RULES }) };
    const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`);
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => {
        const places = nodes.slice(0, 3).map(({ html }) => `\n    ${html.slice(0, 200)}`);
        return `${id}: ${help}, ${nodes.length} times:${places.join('')}`;
      });
  };

  const screenshot = async (name: string): Promise<void> => {
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
  };

  const slugOf = (path: string): string => path.replaceAll('/', '-').replace(/^-|-$/g, '') || 'landing';

  test('all parts of the site are found', () => {
    expect(paths).toEqual(expect.arrayContaining(['/', '/docs/', '/errors', '/guides/', '/guides/start']));
  });

  /** The element that has the focus. */
  const focused = () =>
    page.evaluate<{ href: string | null; isSeen: boolean }>(`(() => {
    const { activeElement } = document;
    const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
    const { width, height } = activeElement.getBoundingClientRect();
    const isOutlined = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    return { href: activeElement.getAttribute('href'), isSeen: isOutlined && width > 20 && height > 20 };
  })()`);

  /** Guides look alike: what is seen of one where there is room is seen of all. */
  const isLikeAnother = (path: string): boolean => path.startsWith('/guides/') && !/\/(?:start)?$/.test(path);

  describe.each(paths)('%s', (path) => {
    let policy: string;

    beforeAll(async () => {
      policy = await visit(path);
      await page.evaluate(AXE);
    }, PATIENCE_MS);

    test('may ask nothing of others, nor run what is not a file of ours', () => {
      expect(policy).toMatch(/^default-src 'none';/);
      expect(policy).not.toMatch(/unsafe-(inline|eval)|\*|https?:|strict-dynamic/);
    });

    test.each([NARROW, WIDE])(
      'is for everybody at a width of $width',
      async (size) => {
        await page.setViewportSize(size);
        for (const scheme of SCHEMES) {
          await page.emulateMedia({ colorScheme: scheme });
          await settled(page);
          await screenshot(`${slugOf(path)}-${size.width}-${scheme}`);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.width);
          if (size === WIDE && isLikeAnother(path)) continue;
          // All but colors is in the dark as in the light, but on pages that a script fills.
          const found = await barriers(scheme === 'dark' && !(path in FILLED));
          expect([scheme, found]).toEqual([scheme, []]);
        }
      },
      PATIENCE_MS,
    );

    test('has a bar that the keyboard reaches, and skips', async () => {
      const links = await page
        .locator('.bar a')
        .evaluateAll((all: unknown) =>
          (all as { getAttribute(name: string): string }[]).map((one) => one.getAttribute('href')),
        );
      expect(links).toHaveLength(4);
      const reached = [];
      for (let press = 0; press <= links.length; press += 1) {
        await page.keyboard.press('Tab');
        reached.push(await focused());
      }
      expect(reached).toEqual(['#main', ...links].map((href) => ({ href, isSeen: true })));

      await page.locator('.skip').focus();
      await page.keyboard.press('Enter');
      await page.locator('#main:focus, #main :focus').waitFor();
    });

    test('gave the browser nothing to complain of', () => {
      expect(faults).toEqual([]);
    });
  });

  describe('the search', () => {
    const searched = async (path: string, phrase: string): Promise<string[]> => {
      await visit(path);
      await page.setViewportSize(WIDE);
      await page.getByRole('searchbox', { name: 'Search guides, operations and errors' }).fill(phrase);
      const links = page.locator('.found a');
      await links.first().waitFor();
      return links.evaluateAll((all: unknown) => (all as { href: string }[]).map(({ href }) => href));
    };

    test.each([
      ['/', 'game.toggleFavorite', '/docs/#/game/game.toggleFavorite'],
      ['/guides/start', 'KEY_EXPIRED', '/errors#KEY_EXPIRED'],
      ['/docs/', 'Idempotency-Key', '/guides/retries'],
      ['/errors', 'sandbox', '/guides/sandbox'],
      ['/guides/', 'pagging', '/guides/paging'],
    ])('on %s finds “%s” at %s', async (path, phrase, target) => {
      const [first = ''] = await searched(path, phrase);
      expect(first.slice(app.url.length)).toContain(target);
      expect(faults).toEqual([]);
    });

    test('is for everybody, and the keyboard opens and leaves it', async () => {
      await searched('/', 'rate limit');
      await page.evaluate(AXE);
      expect(await barriers(false)).toEqual([]);
      await screenshot('search');
      await page.keyboard.press('Escape');
      await page.locator('.found').waitFor({ state: 'hidden' });
      await page.getByRole('searchbox').fill('GAME_NOT_FOUND');
      await page.locator('.found a').first().waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL('**/errors#GAME_NOT_FOUND');
    });

    test('says if nothing is found', async () => {
      await visit('/');
      await page.getByRole('searchbox').fill('zzzqqqxxx');
      await page.getByText('Nothing found for “zzzqqqxxx”.').waitFor();
    });
  });

  describe('links', () => {
    test('lead to what is there', () => {
      const broken = pages.flatMap((from) =>
        placesOf(from, app.url)
          .map(({ address }) => ({ address, status: site.get(address)?.status }))
          .filter(({ status }) => status !== 200)
          .map(
            ({ address, status }) => `${from.path} leads to ${address.slice(app.url.length)}, which answers ${status}`,
          ),
      );
      expect([...new Set(broken)]).toEqual([]);
    });

    test(
      'lead to places that are there',
      async () => {
        const places = pages.flatMap((from) =>
          placesOf(from, app.url)
            .filter(({ fragment }) => fragment !== '')
            .map((place) => ({ ...place, from: from.path })),
        );
        const broken = [];
        for (const { from, address, fragment } of places) {
          const path = address.slice(app.url.length);
          if (site.get(address)?.page?.anchors.includes(fragment)) continue;
          const filled = FILLED[path];
          if (filled !== undefined) {
            if (!filledIds.has(path)) await visit(path);
            if (filledIds.get(path)?.includes(filled.idOf(fragment))) continue;
          }
          broken.push(`${from} leads to ${path}#${fragment}`);
        }
        expect([...new Set(broken)]).toEqual([]);
      },
      PATIENCE_MS,
    );

    test('to other sites are https or mail, and nothing else is loaded from there', () => {
      const odd = pages.flatMap(({ path, links }) =>
        links
          .filter(({ address }) => !address.startsWith(`${app.url}/`))
          .filter(({ element, address }) => element !== 'a' || !/^(https:\/\/[\w.-]+\/?|mailto:\S+@)/.test(address))
          .map(({ element, address }) => `${path}: <${element}> ${address}`),
      );
      expect(odd).toEqual([]);
    });

    test('are no two of one name on a page', () => {
      const doubled = pages.flatMap(({ path, anchors }) =>
        anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index).map((anchor) => `${path}#${anchor}`),
      );
      expect(doubled).toEqual([]);
    });
  });
});
