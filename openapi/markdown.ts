import { createRequire } from 'node:module';
import { Marked, type Tokens } from 'marked';
import { PASSAGE_MARK } from './guide-catalogue.ts';
import type { LinkTarget } from './guide-links.ts';

const require = createRequire(import.meta.url);

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

/** The used part of highlight.js. Its own types would require those of browsers. */
interface Highlighter {
  registerLanguage(name: string, language: unknown): void;
  getLanguage(name: string): unknown;
  highlight(code: string, options: { language: string }): { value: string };
}

/** The names of languages in the guides, and those of highlight.js. */
const LANGUAGES = {
  sh: 'bash',
  go: 'go',
  ini: 'ini',
  java: 'java',
  js: 'javascript',
  json: 'json',
  python: 'python',
  rust: 'rust',
  sql: 'sql',
  ts: 'typescript',
  yaml: 'yaml',
};

let highlighter: Highlighter | undefined;

/** The highlighter, loaded at the first use. */
const loaded = (): Highlighter => {
  if (highlighter) return highlighter;
  const core = require('highlight.js/lib/core') as Highlighter;
  for (const [name, module] of Object.entries(LANGUAGES)) {
    core.registerLanguage(name, require(`highlight.js/lib/languages/${module}`));
  }
  highlighter = core;
  return core;
};

/** Code as HTML, with spans for its colors, which `guides.css` defines; as plain text for other languages. */
const highlighted = (code: string, language: string): string =>
  loaded().getLanguage(language) === undefined ? escapeHtml(code) : loaded().highlight(code, { language }).value;

/** A heading of a page, as a target of links. */
export interface Heading {
  depth: number;
  id: string;
  html: string;
}

export interface Rendered {
  title: string;
  /** The first sentence, as plain text. */
  description: string;
  /** All HTML except the title. */
  html: string;
  headings: Heading[];
}

/** The anchor of a heading, by the rule of code hosts, so that links work there and here. */
const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

/** Makes each anchor unique. */
class Anchors {
  readonly #counts = new Map<string, number>();

  of(text: string): string {
    const anchor = anchorOf(text);
    const count = this.#counts.get(anchor) ?? 0;
    this.#counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  }
}

/** The words of inline tokens, without their markup. */
const plain = (tokens: readonly Tokens.Generic[]): string =>
  tokens
    .map((token) => (token['tokens'] ? plain(token['tokens'] as Tokens.Generic[]) : String(token['text'] ?? token.raw)))
    .join('');

/** `An example. And more.` becomes `An example.` */
const firstSentence = (text: string): string => /^[^]*?\.(?=\s|$)/.exec(text.replaceAll('\n', ' '))?.[0] ?? text;

/** Renders Markdown. It shows HTML as text, except marks of passages. `root` is the path to the service's root. */
export const renderMarkdown = (markdown: string, targetOf: (href: string) => LinkTarget, root: string): Rendered => {
  const anchors = new Anchors();
  const headings: Heading[] = [];
  let title = '';
  let description = '';
  const marked = new Marked({
    async: false,
    gfm: true,
    renderer: {
      html: ({ text }) => (PASSAGE_MARK.test(text) ? `${text.trim()}\n` : escapeHtml(text)),
      heading({ depth, tokens }) {
        const html = this.parser.parseInline(tokens);
        if (depth === 1) {
          title = plain(tokens);
          return '';
        }
        const id = anchors.of(plain(tokens));
        headings.push({ depth, id, html });
        return `<h${depth} id="${escapeHtml(id)}">${html}<a class="anchor" href="#${escapeHtml(encodeURIComponent(id))}" aria-label="Link to this section">#</a></h${depth}>\n`;
      },
      paragraph({ tokens }) {
        description ||= firstSentence(plain(tokens));
        return `<p>${this.parser.parseInline(tokens)}</p>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = targetOf(href);
        if (target.kind === 'file') {
          const path = `<code>${escapeHtml(target.path)}</code>`;
          return tokens.length === 1 && tokens[0]?.type === 'codespan' ? path : `${text} (${path})`;
        }
        const address = target.kind === 'outside' ? target.url : target.path;
        const isHere = target.kind === 'outside' || address.startsWith('#');
        return `<a href="${escapeHtml(isHere ? address : root + address)}">${text}</a>`;
      },
      // A block wider than the screen scrolls by itself, also by the keyboard.
      code: ({ text, lang = '' }) =>
        `<pre tabindex="0"><code${lang === '' ? '' : ` class="language-${escapeHtml(lang)}"`}>${highlighted(text, lang)}\n</code></pre>\n`,
      table({ header, rows }) {
        const cells = (row: readonly Tokens.TableCell[], name: 'td' | 'th'): string =>
          row
            .map(
              ({ tokens }) =>
                `<${name}${name === 'th' ? ' scope="col"' : ''}>${this.parser.parseInline(tokens)}</${name}>`,
            )
            .join('');
        const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>\n`).join('');
        return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>
<thead><tr>${cells(header, 'th')}</tr></thead>
<tbody>
${body}</tbody>
</table></div>
`;
      },
    },
  });
  const html = marked.parse(markdown) as string;
  return { title, description, html, headings };
};
