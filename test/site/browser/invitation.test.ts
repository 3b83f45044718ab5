/**
 * @engines sqlite
 * @tier long
 * @needs chromium
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startApp } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';

declare global {
  var TEST_CHROMIUM: string;
}

const PATIENCE_MS = 120_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const KEY = /^cgk_\w{38}$/;

const app = await startApp({ rates: 'on' });
const complaints: string[] = [];
const requested: string[] = [];
let browser: Browser;
let page: Page;

/** The address that the command line prints. */
const invited = async (...args: string[]): Promise<string> => {
  const env = { DATABASE_URL: app.databaseUrl, PUBLIC_URL: app.url };
  const { stdout } = await runCommand(['users', 'invite', ...args], { env });
  return stdout.trim();
};

const codeOf = (n: number) => page.locator('.made code').nth(n);

const expectAccessible = async (): Promise<void> => {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
};

describe('an invitation in a browser', () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: TEST_CHROMIUM, args: ['--no-sandbox'] });
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(PATIENCE_MS);
    page = await context.newPage();
    page
      .on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      })
      .on('pageerror', (error) => complaints.push(error.message))
      .on('request', (request) => requested.push(`${request.url()} ${request.headers()['referer'] ?? ''}`));
  });
  afterAll(async () => {
    await browser.close();
    await app.stop();
  });

  test('leads from the printed address to the first write', async () => {
    const address = await invited('--scopes', 'content:write,user:read', '--nickname', 'Ada & Co');
    const token = new URLSearchParams(new URL(address).hash.slice(1)).get('token')!;
    await page.goto(address);
    const name = page.getByLabel('Your name, as others see it');
    expect(await name.inputValue()).toBe('Ada & Co');
    await expectAccessible();

    // A name that the service refuses uses nothing up.
    await name.fill('cgk_sandboxAll00000000000000000000002FwSwT');
    await page.getByRole('button', { name: 'Make my key' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /^The name / })
      .waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')]);
    await name.fill('Ada & Co');
    await page.getByRole('button', { name: 'Make my key' }).click();

    await codeOf(0).waitFor();
    const key = (await codeOf(0).textContent()) ?? '';
    expect(key).toMatch(KEY);
    expect(await page.locator('.facts').textContent()).toMatch(
      /^Ada & Co is user [\da-f-]{36}\. The key has content:write, user:read\.$/,
    );
    expect(page.url()).toBe(`${app.url}/invitation`);
    expect(await page.locator('form.invitation').isVisible()).toBe(false);
    await expectAccessible();

    const command = (await codeOf(1).textContent()) ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent --noproxy '*'`]);
    const game = JSON.parse(stdout).result.data.json;
    expect(game).toMatchObject({ title: 'My first game', author: { nickname: 'Ada & Co' } });

    // Authorize has the key: the reference writes with it, without asking for one.
    await page.getByRole('link', { name: 'from the browser' }).click();
    await page.getByRole('button', { name: 'Key in use' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Key of Ada & Co: content:write, user:read' }).waitFor();
    const block = page.locator('.opblock', { has: page.locator('[data-path="/api/trpc/game.create"]') });
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Execute' }).click();
    expect(await block.getByRole('region', { name: 'Reply' }).locator('.live-status').innerText()).toContain('200');
    const { total } = await app.call('game.list', { limit: 5, page: 1 });
    expect(total).toBe(2);

    // The key is shown once, and no request had the token in its address.
    await page.goto(`${app.url}/invitation`);
    await page.getByText('Open the whole address of an invitation').waitFor();
    expect(await page.content()).not.toContain(key);
    expect(requested.filter((one) => one.includes(token) || one.includes(key))).toEqual([]);
    expect(complaints).toEqual([]);

    // Another tab knows neither.
    const other = await page.context().newPage();
    await other.goto(`${app.url}/docs/`);
    await other.getByRole('button', { name: 'Authorize' }).first().waitFor();
    await other.close();

    await page.goto(address);
    await page.getByRole('button', { name: 'Make my key' }).click();
    await page.getByText('The invitation was used before. Ask the operator').waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('404')]);
  });

  test.each([
    ['user:read', 'user.me', /"nickname":"Bob"/],
    ['webhook:write', 'game.list', /"items":/],
  ])('of a key with %s has %s for a first call', async (scope, id, answer) => {
    await page.goto('about:blank');
    await page.goto(await invited('--scopes', scope));
    await page.getByLabel('Your name, as others see it').fill('Bob');
    await page.keyboard.press('Enter');
    await codeOf(0).waitFor();
    const command = (await codeOf(1).textContent()) ?? '';
    expect(command).toContain(`/api/trpc/${id} `);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent --noproxy '*'`]);
    expect(stdout).toMatch(answer);
  });
});
