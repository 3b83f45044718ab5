import { type Guide, guides, sourceOf } from './guide-catalogue.ts';
import { ADDRESS, EXAMPLE_ADDRESS, targetOf } from './guide-links.ts';
import { type Rendered, renderMarkdown } from './markdown.ts';
import { searchFiles } from './search-index.ts';
import { exampleText, operationLines, operationsText } from './operations-text.ts';

// The guides as the service publishes them. These files hold placeholders for facts that only the service knows:
// `ADDRESS` for its address, `SOURCE` for that of its source, `<!-- name -->` for its name, and passages between marks
// for its kind.

/** A guide, and its page. */
interface GuidePage {
  guide: Guide;
  rendered: Rendered;
}

/** A text with examples that call the service. */
const atService = (text: string, { isLocal }: Guide): string =>
  isLocal ? text : text.replaceAll(EXAMPLE_ADDRESS, ADDRESS);

const pageOf = (guide: Guide): GuidePage => {
  const rendered = renderMarkdown(sourceOf(guide), (href) => targetOf(href, guide), '../');
  return { guide, rendered: { ...rendered, html: atService(rendered.html, guide) } };
};

/** The Markdown of a guide, with links to paths on the service. */
const markdownOf = (guide: Guide): string => {
  const text = sourceOf(guide).replaceAll(/\]\(([^)\s]+)\)/g, (whole, href: string) => {
    const target = targetOf(href, guide);
    if (target.kind === 'file') return `](${target.path})`;
    if (target.kind === 'outside') return `](${target.url})`;
    return target.path.startsWith('#') ? whole : `](${ADDRESS}/${target.path})`;
  });
  return atService(text, guide);
};

const NAME = '<!-- name -->';

// For language models and programs that use them: https://llmstxt.org.

const SUMMARY =
  'An HTTP API for games, image posts and users. Every call is `POST /api/trpc/<operation>` with the body ' +
  '`{"json": {…parameters}}`; a success answers 200 with `result.data.json`, a failure `error.json` with a stable `data.reason`. ' +
  'Public operations need no key, the others `Authorization: Bearer <API_KEY>`.';

const line = (title: string, url: string, words: string): string => `- [${title}](${url}): ${words}`;

/** `/llms.txt`: the list of texts to read. */
const llmsText = (pages: readonly GuidePage[]): string => {
  const lines = (isWanted: (guide: Guide) => boolean): string =>
    pages
      .filter(({ guide }) => isWanted(guide))
      .map(({ guide, rendered }) => line(rendered.title, `${ADDRESS}/guides/${guide.name}.md`, rendered.description))
      .join('\n');
  return `${[
    `# ${NAME}`,
    `> ${SUMMARY}`,
    `[${ADDRESS}/llms-full.txt](${ADDRESS}/llms-full.txt) holds the guides and all operations in one file.`,
    'The operations:',
    operationLines(),
    exampleText(),
    '## Guides',
    lines(({ isForClients }) => isForClients),
    '## Reference',
    [
      line('OpenAPI 3.1', `${ADDRESS}/openapi.json`, 'every operation, schema, error and example'),
      line('OpenAPI 3.0', `${ADDRESS}/openapi-3.0.json`, 'the same, for older generators'),
      line('Errors', `${ADDRESS}/errors.json`, 'every `data.reason`: status, cause, how to fix it, whether to retry'),
      line('Reference', `${ADDRESS}/docs/`, 'the operations as a page, with code samples in nine languages'),
      line('MCP', `${ADDRESS}/mcp`, 'the operations as tools of the Model Context Protocol, by streamable HTTP'),
    ].join('\n'),
    '## Optional',
    lines(({ isForClients }) => !isForClients),
  ].join('\n\n')}\n`;
};

/** Headings a level deeper, except in code. */
const deeper = (markdown: string): string =>
  markdown
    .split(/(^```[^]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : part.replaceAll(/^(?=#+ )/gm, '#')))
    .join('');

/** `/llms-full.txt`: all that a client's author needs, in one file. */
const llmsFullText = (): string =>
  `${[
    `# ${NAME}`,
    `> ${SUMMARY}`,
    ...guides.filter(({ isForClients }) => isForClients).map((guide) => deeper(markdownOf(guide)).trim()),
    '## Operations',
    operationsText(),
  ].join('\n\n')}\n`;

/** The published files, by their paths from the root of the repository, in which this runs. */
export const guideFiles = (): [path: string, text: string][] => {
  const pages = guides.map(pageOf);
  const index = pages.map(({ guide: { name, group, reader }, rendered: { title, description, headings } }) => ({
    name,
    group,
    reader,
    title,
    description,
    headings,
  }));
  const files: [name: string, text: string][] = [
    ['index.json', `${JSON.stringify(index, null, 2)}\n`],
    ...pages.map(({ guide, rendered }): [string, string] => [`${guide.name}.html`, rendered.html]),
    ...guides.map((guide): [string, string] => [`${guide.name}.md`, markdownOf(guide)]),
    ['llms.txt', llmsText(pages)],
    ['llms-full.txt', llmsFullText()],
    ...searchFiles(pages.map(({ guide: { name }, rendered: { title, html } }) => ({ name, title, html }))),
  ];
  return files.map(([name, text]) => [`openapi/guides/${name}`, text]);
};
