import type { Publication } from '../publication.ts';
import { type Guide, guides } from './catalogue.ts';
import { exampleText, operationLines, operationsText } from './operations.ts';
import { guideMarkdown, renderedGuides } from './pages.ts';

// For language models and programs that use them: https://llmstxt.org.

const SUMMARY =
  'An HTTP API for games, image posts and users. Every call is `POST /api/trpc/<operation>` with the body ' +
  '`{"json": {…parameters}}`; a success answers 200 with `result.data.json`, a failure `error.json` with a stable `data.reason`. ' +
  'Public operations need no key, the others `Authorization: Bearer <API_KEY>`.';

const line = (title: string, url: string, words: string): string => `- [${title}](${url}): ${words}`;

/** `/llms.txt`: what there is to read, for a service at `address`. */
export const llmsText = (publication: Publication, address: string): string => {
  const lines = (isWanted: (guide: Guide) => boolean): string =>
    renderedGuides(publication)
      .filter(({ guide }) => isWanted(guide))
      .map(({ guide, rendered }) => line(rendered.title, `${address}/guides/${guide.name}.md`, rendered.description))
      .join('\n');
  return `${[
    `# ${publication.brand.name}`,
    `> ${SUMMARY}`,
    `[${address}/llms-full.txt](${address}/llms-full.txt) holds the guides and all operations in one file.`,
    'The operations:',
    operationLines(),
    exampleText(address),
    '## Guides',
    lines(({ isForClients }) => isForClients),
    '## Reference',
    [
      line('OpenAPI 3.1', `${address}/openapi.json`, 'every operation, schema, error and example'),
      line('OpenAPI 3.0', `${address}/openapi-3.0.json`, 'the same, for older generators'),
      line('Errors', `${address}/errors.json`, 'every `data.reason`: status, cause, how to fix it, whether to retry'),
      line('Reference', `${address}/docs/`, 'the operations as a page, with code samples in six languages'),
      line('MCP', `${address}/mcp`, 'the operations as tools of the Model Context Protocol, by streamable HTTP'),
    ].join('\n'),
    '## Optional',
    lines(({ isForClients }) => !isForClients),
  ].join('\n\n')}\n`;
};

/** Headings a step deeper, outside of code. */
const deeper = (markdown: string): string =>
  markdown
    .split(/(^```[^]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : part.replaceAll(/^(?=#+ )/gm, '#')))
    .join('');

/** `/llms-full.txt`: what it takes to write a client of a service at `address`, in one file. */
export const llmsFullText = (publication: Publication, address: string): string =>
  `${[
    `# ${publication.brand.name}`,
    `> ${SUMMARY}`,
    ...guides
      .filter(({ isForClients }) => isForClients)
      .map((guide) => deeper(guideMarkdown(guide, publication, address)).trim()),
    '## Operations',
    operationsText(address),
  ].join('\n\n')}\n`;
