import { escapeHtml } from '../html.ts';
import { htmlPage, rootFrom } from '../page.ts';
import type { Publication } from '../publication.ts';
import { type Guide, guides, sourceOf } from './catalogue.ts';
import { EXAMPLE_ADDRESS, targetOf } from './links.ts';
import { type Heading, type Rendered, renderMarkdown } from './markdown.ts';

const STYLES = ['assets/guides.css'];
const pathOf = ({ name }: Guide): string => `/guides/${name}`;

interface PageEntry {
  guide: Guide;
  rendered: Rendered;
}

const rendered = new WeakMap<Publication, readonly PageEntry[]>();

/** All guides of a service, rendered at the first request for one. */
export const renderedGuides = (publication: Publication): readonly PageEntry[] => {
  const known = rendered.get(publication);
  if (known) return known;
  const made = guides.map((guide) => ({
    guide,
    rendered: renderMarkdown(sourceOf(guide, publication), (href) => targetOf(href, guide), rootFrom(pathOf(guide))),
  }));
  rendered.set(publication, made);
  return made;
};

/** The guides for callers, or for operators. */
const audienceOf = ({ isForOperators }: Pick<Guide, 'isForOperators'>, publication: Publication): PageEntry[] =>
  renderedGuides(publication).filter(({ guide }) => guide.isForOperators === isForOperators);

/** A list of guides, group by group below headings of a depth; `item` makes a line. */
const grouped = (listed: readonly PageEntry[], heading: string, item: (entry: PageEntry) => string): string =>
  [...new Set(listed.map(({ guide }) => guide.group))]
    .map((group) => {
      const lines = listed.filter(({ guide }) => guide.group === group);
      return `<${heading}>${group}</${heading}>\n<ul>\n${lines.map(item).join('\n')}\n</ul>`;
    })
    .join('\n');

const sideList = (current: Guide, publication: Publication): string =>
  grouped(
    audienceOf(current, publication),
    'h2',
    ({ guide, rendered: { title } }) =>
      `<li><a href="${guide.name}"${guide === current ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`,
  );

/** With more headings than this, the table of contents lists only the first level. */
const MANY_HEADINGS = 14;

const contentsOf = (headings: readonly Heading[]): string | undefined => {
  const depth = headings.filter((heading) => heading.depth <= 3).length > MANY_HEADINGS ? 2 : 3;
  const items = headings
    .filter((heading) => heading.depth <= depth)
    .map(
      ({ id, html, depth: own }) =>
        `<li${own === 3 ? ' class="deeper"' : ''}><a href="#${encodeURIComponent(id)}">${html.replaceAll(/<\/?a\b[^>]*>/g, '')}</a></li>`,
    );
  return items.length < 2 ? undefined : `<ul>\n${items.join('\n')}\n</ul>`;
};

const step = (rel: 'prev' | 'next', label: string, entry: PageEntry | undefined): string =>
  entry === undefined
    ? ''
    : `<a rel="${rel}" href="${entry.guide.name}"><small>${label}</small> ${escapeHtml(entry.rendered.title)}</a>`;

/** Examples, which call `address`. */
const at = (text: string, { isLocal }: Guide, address: string): string =>
  isLocal ? text : text.replaceAll(EXAMPLE_ADDRESS, () => address);

/** The page of a guide, for readers who reach the service at `address`. */
export const guidePage = (guide: Guide, publication: Publication, address: string): string => {
  const all = audienceOf(guide, publication);
  const index = all.findIndex((entry) => entry.guide === guide);
  const { title, description, html, headings } = (all[index] as PageEntry).rendered;
  const contents = contentsOf(headings);
  return htmlPage(
    {
      path: pathOf(guide),
      title,
      description,
      styles: STYLES,
      main: `<div class="columns">
<nav class="side" aria-label="Guides">
${sideList(guide, publication)}
</nav>
<article class="prose">
<h1>${escapeHtml(title)}</h1>
${contents === undefined ? '' : `<details class="contents"><summary>On this page</summary>\n${contents}\n</details>`}
${at(html, guide, escapeHtml(address))}
<nav class="steps" aria-label="Previous and next guide">${step('prev', 'Previous', all[index - 1])}${step('next', 'Next', all[index + 1])}</nav>
</article>
${contents === undefined ? '' : `<nav class="toc" aria-label="On this page">\n${contents}\n</nav>`}
</div>`,
    },
    publication.brand,
  );
};

const indexOf = (audience: Pick<Guide, 'isForOperators'>, publication: Publication): string =>
  grouped(
    audienceOf(audience, publication),
    'h3',
    ({ guide, rendered: { title, description } }) =>
      `<li><a href="${guide.name}">${escapeHtml(title)}</a> <span>${escapeHtml(description)}</span></li>`,
  );

/** The list of all guides: first those for callers. */
export const indexPage = (publication: Publication): string =>
  htmlPage(
    {
      path: '/guides/',
      title: 'Guides',
      description: 'How to use this service, topic by topic, with examples that run as they stand.',
      styles: STYLES,
      main: `<div class="prose guide-index">
<h1>Guides</h1>
<h2>Use the API</h2>
<p>New here? <a href="start">Start</a> takes five minutes. Every example runs as it stands.</p>
${indexOf({ isForOperators: false }, publication)}
<h2>Run the service</h2>
<p>For the people who run this service, or one of their own.</p>
${indexOf({ isForOperators: true }, publication)}
</div>`,
    },
    publication.brand,
  );

/** The Markdown of a guide, whose links lead to where things are on the service at `address`. */
export const guideMarkdown = (guide: Guide, publication: Publication, address: string): string => {
  const text = sourceOf(guide, publication).replaceAll(/\]\(([^)\s]+)\)/g, (whole, href: string) => {
    const target = targetOf(href, guide);
    if (target.kind === 'file') return `](${target.path})`;
    return target.kind === 'outside' || target.path.startsWith('#') ? whole : `](${address}/${target.path})`;
  });
  return at(text, guide, address);
};
