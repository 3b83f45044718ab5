import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { installLine, isServed, packages, type PackageSettings } from '../../base/packages.ts';
import { escapeHtml } from '../html.ts';
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

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

const plainText = (html: string): string =>
  html.replaceAll(/<[^>]*>/g, '').replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);

/**
 * A guide with the lines that install packages for this service. The texts have those of a service that serves all of
 * them, with the variable of the shell or `ADDRESS`.
 */
const withInstallLines = (text: string, isHtml: boolean, settings: PackageSettings): string => {
  const lines = new Map(
    packages.flatMap(([language, one]) => {
      const bare = one.served.replace(/"\$\w+?_URL(.+)"/, (_, path: string) => ADDRESS + path);
      const line = installLine(settings, language, one);
      return line === one.served ? [] : [one.served, bare].map((served): [string, string] => [served, line]);
    }),
  );
  if (lines.size === 0) return text;
  return text.replaceAll(/^( *)(.*\/sdks\/.*)$/gm, (whole, indent: string, line: string) => {
    const found = lines.get(isHtml ? plainText(line) : line);
    return found === undefined ? whole : indent + (isHtml ? escapeHtml(found) : found);
  });
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
  const installing = withInstallLines(text, isHtml, publication);
  return isHtml ? htmlWithContact(installing, publication) : markdownWithContact(installing, publication);
};
