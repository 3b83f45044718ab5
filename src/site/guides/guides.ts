import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isServed, packages } from '../../base/packages.ts';
import { escapeHtml } from '../html.ts';
import { withInstallLines } from './install-lines.ts';
import { htmlWithContact, kindOf, markdownUrl, markdownWithContact, type Publication } from '../publication.ts';

const require = createRequire(import.meta.url);

/** A guide. `npm run openapi` makes its page and its Markdown from a file in docs/, in `openapi/guides/`. */
export interface Guide {
  /** Its name under `/guides/`. */
  name: string;
  group: string;
  reader: 'integrator' | 'ci' | 'operator';
  title: string;
  /** The first sentence, as plain text. */
  description: string;
  headings: { depth: number; id: string; html: string }[];
}

/** The guides, in their reading order. */
export const guides = require('#openapi/guides/index.json') as readonly Guide[];

/** The placeholder for the address of the service in published texts. */
export const ADDRESS = 'https://address.invalid';

const NAME = '<!-- name -->';
/** `<!-- where own sandbox -->` and its end enclose a passage that only services of these kinds publish. */
export const PASSAGE = /<!-- where ([\w -]+) -->\n+([^]*?)<!-- \/where -->\n+/g;
/** A link to the source. */
const SOURCE_LINKS = {
  html: /<a href="https:\/\/source\.invalid">([^]+?)<\/a>/g,
  markdown: /\[([^\]]+)\]\(https:\/\/source\.invalid\)/g,
};

/** A text of `openapi/guides/`, as a service publishes it, but with `ADDRESS` in place of its address. */
export const publishedText = (file: string, publication: Publication): string => {
  const { brand } = publication;
  const hasSdks = packages.some(([, one]) => isServed(publication, one));
  const kinds: string[] = [kindOf(publication), hasSdks ? 'sdks' : 'no-sdks'];
  const isHtml = file.endsWith('.html');
  const link = (words: string, url: string): string =>
    isHtml ? `<a href="${escapeHtml(markdownUrl(url))}">${words}</a>` : `[${words}](${markdownUrl(url)})`;
  const text = readFileSync(require.resolve(`#openapi/guides/${file}`), 'utf8')
    .replace(NAME, () => brand.name)
    .replaceAll(PASSAGE, (_, names: string, passage: string) =>
      names.split(' ').some((name) => kinds.includes(name)) ? passage : '',
    )
    .replaceAll(isHtml ? SOURCE_LINKS.html : SOURCE_LINKS.markdown, (_, words: string) =>
      brand.source === undefined ? words : link(words, brand.source),
    );
  const installing = withInstallLines(text, isHtml, publication, ADDRESS);
  return isHtml ? htmlWithContact(installing, publication) : markdownWithContact(installing, publication);
};
