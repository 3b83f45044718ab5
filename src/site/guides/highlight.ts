import { createRequire } from 'node:module';
import { escapeHtml } from '../html.ts';

const require = createRequire(import.meta.url);

/** The part of highlight.js that is used. Its own types would bring those of browsers with them. */
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

/** Code as HTML, with spans for its colors, which `guides.css` defines; as plain text in a language that has none. */
export const highlighted = (code: string, language: string): string =>
  loaded().getLanguage(language) === undefined ? escapeHtml(code) : loaded().highlight(code, { language }).value;
