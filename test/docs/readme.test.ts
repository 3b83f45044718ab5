/**
 * @engines sqlite
 * @tier fast
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { guides } from '../../openapi/guide-catalogue.ts';
import { renderMarkdown } from '../../openapi/markdown.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { demoKeyIn } from '../harness/app/demo.ts';
import { blocksOf, difference } from '../harness/documents/guide.ts';
import { runShell } from '../harness/documents/sections.ts';

// What README tells its readers to run, run as it stands against the service; only the port is another. And what it, and
// docs/developing.md, refer to.

/** `UPDATE_PICTURE=true npm run test:file -- test/site/browser/reference.test.ts` makes it anew. */
const PICTURE = 'docs/swagger-ui.png';

const readme = await readFile('README.md', 'utf8');
const developing = await readFile('docs/developing.md', 'utf8');
/** The calls by curl, with the answers that README shows. */
const calls = blocksOf(readme).flatMap(({ text }, index, blocks) =>
  /^curl .*\/api\//.test(text) ? [[text, blocks[index + 1]?.text ?? '']] : [],
);

let app: TestApp;
describe('README', () => {
  beforeAll(async () => {
    app = await startApp();
    await demoKeyIn(app.context.db);
  });
  afterAll(() => app.stop());

  test.each(calls)('%s', async (call = '', shown = '') => {
    const { code, stdout } = await runShell(call.replaceAll('http://localhost:3000', app.url), {});
    expect(code).toBe(0);
    expect(difference(JSON.parse(shown), JSON.parse(stdout))).toBeUndefined();
  });

  test('shows one call by curl', () => {
    expect(calls).toHaveLength(1);
  });
});

describe('the text of README', () => {
  const linksIn = (text: string): string[] => [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => href);
  const isOurs = (href: string): boolean => !/^[a-z]+:/.test(href);

  test('is short enough to be read whole', () => {
    expect(readme.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(700);
  });

  test.each([
    ['README.md', readme],
    ['docs/developing.md', developing],
  ])('of %s leads to files and headings that are there', (file, text) => {
    const { headings } = renderMarkdown(text, (url) => ({ kind: 'outside', url }), '');
    const ids = headings.map(({ id }) => `#${id}`);
    const broken = linksIn(text)
      .filter(isOurs)
      .filter((href) =>
        href.startsWith('#') ? !ids.includes(href) : !existsSync(join(dirname(file), href.replace(/#.*$/, ''))),
      );
    expect(broken).toEqual([]);
  });

  test('shows the page of Swagger UI, 1280 pixels wide, in less than 150 kB', async () => {
    expect(linksIn(readme)).toContain(PICTURE);
    const picture = await readFile(PICTURE);
    expect(picture.subarray(1, 4).toString('latin1')).toBe('PNG');
    // The width stands first in the first chunk, whose length and type take eight bytes.
    expect(picture.readUInt32BE(16)).toBe(1280);
    expect(picture.length).toBeLessThan(150_000);
  });

  test('leaves the way of one call to docs/developing.md, which names files of src that are there', () => {
    const [, way = ''] = /^## The way of one call\n([^]*?)^## /m.exec(developing) ?? [];
    const named = [...way.matchAll(/`([\w-]+\/[\w/.-]*)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((path) => !existsSync(join('src', path)))).toEqual([]);
  });

  test('is no guide of the site, nor is docs/developing.md', () => {
    expect(guides.filter(({ file }) => ['README.md', 'docs/developing.md'].includes(file))).toEqual([]);
  });
});
