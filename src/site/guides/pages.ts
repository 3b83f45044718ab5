import express, { type RequestHandler, type Router } from 'express';
import type { Config } from '../../config/config.ts';
import { etagOf } from '../../http/message/reply.ts';
import { readOnly } from '../../http/middleware/preconditions.ts';
import { baseOf } from '../base.ts';
import { EXAMPLE_ADDRESS } from '../documents.ts';
import { escapeHtml } from '../html.ts';
import { htmlPage } from '../page.ts';
import type { Publication } from '../publication.ts';
import { pagePolicy } from '../serve.ts';
import { ADDRESS, type Guide, guides, publishedText } from './guides.ts';

const STYLES = ['guides.css'];

/** The readers of guides: what they do, in words, and the beginning of their list. */
const READERS = [
  {
    reader: 'integrator',
    title: 'Use the API',
    lead: 'New here? <a href="start">Start</a> takes five minutes. Every example runs as it stands.',
  },
  { reader: 'ci', title: 'Test your client', lead: 'For the tests of a client, on your machine and in CI.' },
  {
    reader: 'operator',
    title: 'Run the service',
    lead: 'For the people who run this service, or one of their own.',
  },
] as const;

/** The guides for the same reader. */
const guidesFor = (reader: Guide['reader']): Guide[] => guides.filter((guide) => guide.reader === reader);

/** A list of guides in groups, each below a heading of a given depth; `item` makes a line. */
const grouped = (listed: readonly Guide[], heading: string, item: (guide: Guide) => string): string =>
  [...new Set(listed.map((guide) => guide.group))]
    .map((group) => {
      const lines = listed.filter((guide) => guide.group === group);
      return `<${heading}>${group}</${heading}>\n<ul>\n${lines.map(item).join('\n')}\n</ul>`;
    })
    .join('\n');

/** The guides for the reader of this one, below links to those for other readers. */
const sideList = (current: Guide): string => {
  const readers = READERS.map(({ reader, title }) => {
    const mark = reader === current.reader ? ' aria-current="true"' : '';
    return `<a href="${guidesFor(reader)[0]?.name}"${mark}>${title}</a>`;
  });
  const list = grouped(
    guidesFor(current.reader),
    'h2',
    (guide) =>
      `<li><a href="${guide.name}"${guide === current ? ' aria-current="page"' : ''}>${escapeHtml(guide.title)}</a></li>`,
  );
  return `<p class="readers">${readers.join('\n')}</p>\n${list}`;
};

/** With more headings than this, the table of contents lists only the first level. */
const MANY_HEADINGS = 14;

const contentsOf = ({ headings }: Guide): string | undefined => {
  const depth = headings.filter((heading) => heading.depth <= 3).length > MANY_HEADINGS ? 2 : 3;
  const items = headings
    .filter((heading) => heading.depth <= depth)
    .map(
      ({ id, html, depth: own }) =>
        `<li${own === 3 ? ' class="deeper"' : ''}><a href="#${encodeURIComponent(id)}">${html.replaceAll(/<\/?a\b[^>]*>/g, '')}</a></li>`,
    );
  return items.length < 2 ? undefined : `<ul>\n${items.join('\n')}\n</ul>`;
};

const step = (rel: 'prev' | 'next', label: string, guide: Guide | undefined): string =>
  guide === undefined
    ? ''
    : `<a rel="${rel}" href="${guide.name}"><small>${label}</small> ${escapeHtml(guide.title)}</a>`;

/** The page of a guide. */
const guidePage = (guide: Guide, publication: Publication): string => {
  const all = guidesFor(guide.reader);
  const index = all.indexOf(guide);
  const { name, title, description } = guide;
  const contents = contentsOf(guide);
  return htmlPage(
    {
      path: `/guides/${name}`,
      title,
      description,
      styles: STYLES,
      main: `<div class="columns">
<nav class="side" aria-label="Guides">
${sideList(guide)}
</nav>
<article class="prose">
<h1>${escapeHtml(title)}</h1>
${contents === undefined ? '' : `<details class="contents"><summary>On this page</summary>\n${contents}\n</details>`}
${publishedText(`${name}.html`, publication)}
<nav class="steps" aria-label="Previous and next guide">${step('prev', 'Previous', all[index - 1])}${step('next', 'Next', all[index + 1])}</nav>
</article>
${contents === undefined ? '' : `<nav class="toc" aria-label="On this page">\n${contents}\n</nav>`}
</div>`,
    },
    publication.brand,
  );
};

const indexOf = ({ reader, title: heading, lead }: (typeof READERS)[number]): string => `<h2>${heading}</h2>
<p>${lead}</p>
${grouped(
  guidesFor(reader),
  'h3',
  ({ name, title, description }) =>
    `<li><a href="${name}">${escapeHtml(title)}</a> <span>${escapeHtml(description)}</span></li>`,
)}`;

/** The list of all guides, by their readers. */
const indexPage = ({ brand }: Publication): string =>
  htmlPage(
    {
      path: '/guides/',
      title: 'Guides',
      description: 'How to use this service, topic by topic, with examples that run as they stand.',
      styles: STYLES,
      main: `<div class="prose guide-index">
<h1>Guides</h1>
${READERS.map(indexOf).join('\n')}
</div>`,
    },
    brand,
  );

const MARKDOWN = 'text/markdown; charset=utf-8';
const PLAIN = 'text/plain; charset=utf-8';

/** `/guides/`, its pages and their Markdown, and the files for language models: `/llms.txt`, `/llms-full.txt`. */
export const guidesRouter = (config: Config): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  /** Serves a text made at the first request. */
  const serve = (path: string, type: string, make: () => string, ...before: RequestHandler[]): void => {
    let text: string | undefined;
    router.all(path, readOnly, ...before, (request, response) => {
      text ??= make();
      const address = baseOf(request, config) ?? EXAMPLE_ADDRESS;
      const body = text.replaceAll(ADDRESS, () => (type === 'html' ? escapeHtml(address) : address));
      response
        .set({ ETag: etagOf(body), 'Cache-Control': 'no-cache' })
        .type(type)
        .send(body);
    });
  };
  serve('/guides/', 'html', () => indexPage(config), pagePolicy());
  for (const guide of guides) {
    serve(`/guides/${guide.name}`, 'html', () => guidePage(guide, config), pagePolicy());
    serve(`/guides/${guide.name}.md`, MARKDOWN, () => publishedText(`${guide.name}.md`, config));
  }
  for (const name of ['llms.txt', 'llms-full.txt']) serve(`/${name}`, PLAIN, () => publishedText(name, config));
  return router;
};
