/**
 * @engines none
 * @tier fast
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { operations as all } from '../../contract/index.ts';
import { guides, sourceOf } from '../../openapi/guide-catalogue.ts';
import { ADDRESS, SOURCE, targetOf } from '../../openapi/guide-links.ts';
import { guideFiles } from '../../openapi/guide-pages.ts';
import { filledGuides } from '../../openapi/guides.ts';
import { renderMarkdown } from '../../openapi/markdown.ts';
import { readConfig } from '../../src/config/config.ts';
import { publishedText } from '../../src/site/guides/guides.ts';

const files = new Map(guideFiles());
const published = (name: string): string => files.get(`openapi/guides/${name}`) ?? '';
const render = (markdown: string) => renderMarkdown(markdown, (url) => ({ kind: 'outside', url }), '../');

describe('guides', () => {
  test('what the guides say of the contract, README and the SDKs is up to date', async () => {
    const stale = (await filledGuides()).filter(([path, text]) => readFileSync(path, 'utf8') !== text);
    expect(stale.map(([path]) => `${path}: npm run -s openapi`)).toEqual([]);
  });

  test('the published files are up to date, and there are no others', () => {
    expect(readdirSync('openapi/guides').toSorted()).toEqual(
      [...files.keys()].map((path) => basename(path)).toSorted(),
    );
    const stale = [...files].filter(([path, text]) => readFileSync(path, 'utf8') !== text);
    expect(stale.map(([path]) => `${path}: npm run -s openapi`)).toEqual([]);
  });

  describe('the Markdown of the guides', () => {
    test.each(guides.map(({ file }) => [file]))('%s begins with its title and a sentence about it', (file) => {
      const [title, , sentence] = sourceOf(guides.find((guide) => guide.file === file) as never).split('\n');
      expect(title).toMatch(/^# \S/);
      expect(sentence).toMatch(/^[A-Z].+/);
    });

    test.each(guides.map(({ file }) => [file]))(
      '%s begins no line of text with a comment, which would end the paragraph',
      (file) => {
        const lines = readFileSync(file, 'utf8').split('\n');
        expect(lines.filter((line) => /^\s*(?:[-*] |\d+\. )?<!--.*?-->./.test(line))).toEqual([]);
      },
    );

    test.each([...guides.map(({ file }) => [file]), ['README.md'], ['SECURITY.md'], ['deploy/README.md']])(
      '%s cuts no sentence in two',
      (file) => {
        const text = readFileSync(file, 'utf8').replaceAll(/^ *```[^]*?^ *```$/gm, '|');
        const paragraphs = text.split(/\n\n+/).filter((part) => !/^(?:[#|-]|<!--)/.test(part));
        expect(paragraphs.filter((part) => !/[.:!?)|>*]$/.test(part.trim()))).toEqual([]);
      },
    );

    test('leads to files that are there, and to anchors on guides that are there', () => {
      const anchors = new Map(
        guides.map((guide) => [guide.file, render(sourceOf(guide)).headings.map(({ id }) => id)]),
      );
      const broken = guides.flatMap((guide) =>
        [...sourceOf(guide).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, href = '']) => {
          if (/^[a-z]+:/.test(href)) return [];
          const [path = '', fragment] = href.split('#', 2);
          const file = path === '' ? guide.file : posix.join(posix.dirname(guide.file), path);
          const known = anchors.get(file);
          try {
            readFileSync(file);
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'EISDIR') return [`${guide.file}: ${href}`];
          }
          return known === undefined || fragment === undefined || known.includes(fragment)
            ? []
            : [`${guide.file}: ${href}`];
        }),
      );
      expect(broken).toEqual([]);
    });
  });

  describe('a link', () => {
    const guide = { file: 'docs/keys.md', isLocal: false };

    test.each([
      ['paging.md#cursors', { kind: 'page', path: 'guides/paging#cursors' }],
      ['#scopes', { kind: 'page', path: '#scopes' }],
      ['../CHANGELOG.md', { kind: 'page', path: 'guides/changelog' }],
      ['../openapi/openapi.json', { kind: 'page', path: 'openapi.json' }],
      ['http://localhost:3000/errors#KEY_MISSING', { kind: 'page', path: 'errors#KEY_MISSING' }],
      ['https://llmstxt.org', { kind: 'outside', url: 'https://llmstxt.org' }],
      ['../README.md#rates', { kind: 'file', path: 'README.md' }],
      ['..', { kind: 'outside', url: SOURCE }],
    ])('%s', (href, target) => {
      expect(targetOf(href, guide)).toEqual(target);
    });

    test('of the changelog starts from the root of the repository', () => {
      expect(targetOf('docs/keys.md', { file: 'CHANGELOG.md', isLocal: false })).toEqual({
        kind: 'page',
        path: 'guides/keys',
      });
    });

    test('to the reader’s own machine stays', () => {
      const url = 'http://localhost:3000/docs';
      expect(targetOf(url, { file: 'docs/sandbox.md', isLocal: true })).toEqual({ kind: 'outside', url });
    });
  });

  describe('rendering', () => {
    test('shows HTML as text', () => {
      const { html } = render('# T\n\n<script>alert(1)</script>\n\nAn <b onclick="x()">inline</b> one.');
      expect(html).not.toMatch(/<(script|b)\b/);
      expect(html).toContain('&lt;script&gt;');
    });

    test('keeps the marks of passages, and no other comment', () => {
      const { html } = render('# T\n\n<!-- where own -->\n\nOne.\n\n<!-- /where -->\n\n<!-- another -->\n');
      expect(html).toBe('<!-- where own -->\n<p>One.</p>\n<!-- /where -->\n&lt;!-- another --&gt;\n');
    });

    test('makes anchors as code hosts do, each once', () => {
      const { headings } = render('# T\n\n## What `data.reason` means, 海\n\n## Again\n\n### Again\n');
      expect(headings.map(({ id }) => id)).toEqual(['what-datareason-means-海', 'again', 'again-1']);
    });

    test('takes title and first sentence for what leads to the page', () => {
      expect(render('# `A` & b\n\nIt says *something*. And more.')).toMatchObject({
        title: 'A & b',
        description: 'It says something.',
      });
    });
  });

  describe('examples', () => {
    test('call the service that publishes them', () => {
      expect(published('start.html')).toContain(`curl ${ADDRESS}/api/trpc/game.list`);
      expect(published('start.html')).not.toContain('localhost');
    });

    test('of the sandbox call the reader’s own machine', () => {
      expect(published('sandbox.html')).toContain('curl http://localhost:3000/sandbox');
    });

    test('are in the Markdown too, whose links lead to the service', () => {
      const text = published('start.md');
      expect(text).toContain(`curl ${ADDRESS}/api/trpc/game.list`);
      expect(text).toContain(`(${ADDRESS}/guides/keys)`);
      expect(text).toContain(`(${ADDRESS}/docs/)`);
      expect(text).not.toMatch(/localhost/);
    });
  });

  describe('what language models read', () => {
    const full = published('llms-full.txt');
    const short = published('llms.txt');

    test('/llms.txt has a title, a summary and sections of links, as llmstxt.org wants it', () => {
      const [title, , summary, , ...rest] = short.trimEnd().split('\n');
      expect(title).toBe('# <!-- name -->');
      expect(summary).toMatch(/^> \S/);
      const sections = rest.join('\n').split(/^## /m).slice(1);
      expect(sections.map((section) => section.split('\n', 1)[0])).toEqual(['Guides', 'Reference', 'Optional']);
      for (const section of sections) {
        const [, , ...links] = section.trimEnd().split('\n');
        for (const link of links) expect(link).toMatch(/^- \[[^\]]+\]\(https:\/\/address\.invalid\/\S+\): \S/);
      }
    });

    test('/llms.txt names each operation in a line, and shows one call whole', () => {
      const [before = ''] = short.split('\n## ');
      const named = [...before.matchAll(/^- `([\w.]+)`: .+ \((?:public|scope \w+:\w+)\)$/gm)].map(([, id]) => id);
      expect(named).toEqual(all.map(({ id }) => id));
      expect(before).toMatch(/```sh\ncurl https:\/\/address\.invalid\/api\/trpc\/game\.list /);
      const [, shown = ''] = /```json\n(.+)\n```/.exec(before) ?? [];
      const { example } = all.find(({ id }) => id === 'game.list') as (typeof all)[number];
      expect(JSON.parse(shown)).toEqual({ result: { data: { json: example.output } } });
      expect(short.length).toBeLessThan(9500);
    });

    test('/llms-full.txt tells of each operation its input, output, errors of its own, and a call', () => {
      for (const { id, reasons } of all) {
        const [, text = ''] = full.split(`\n### ${id}\n`);
        const [about = ''] = text.split('\n### ');
        expect(about).toMatch(
          /- Input: `.+`[^]*- Output: `.+`[^]*curl (?:-N )?https:\/\/address\.invalid\/api\/trpc\//,
        );
        for (const reason of reasons) expect(full).toContain(reason);
      }
    });

    test('it names every type that it refers to, and no other address', () => {
      const operations = full.slice(full.indexOf('\n## Operations\n'));
      const types = [...operations.matchAll(/^- `(\w+)`: `/gm)].map(([, name]) => name);
      const used = [...operations.matchAll(/^- (?:(?:Input|Output): |`\w+`: )`(.+)`/gm)].flatMap(([, text = '']) =>
        [...text.replaceAll(/"[^"]*"|\/\^.*?\$\//g, '').matchAll(/\b[A-Z]\w+/g)].map(([name]) => name),
      );
      expect(new Set(types)).toEqual(new Set(used));
      expect(operations).not.toContain('localhost');
    });

    test('it is small enough to be read whole', () => {
      const text = publishedText('llms-full.txt', readConfig({})).replaceAll(ADDRESS, 'http://localhost:3000');
      expect(text.length).toBeLessThan(125_000);
    });
  });
});
