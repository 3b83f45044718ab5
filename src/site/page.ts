import type { Brand } from '../config/config.ts';
import { assetFolder } from './assets.ts';
import { logoName, logoType } from './brand/logo.ts';
import { escapeHtml } from './html.ts';
import { version } from '../base/version.ts';

/** The pages that the bar links to, by their paths from the root of the service. */
const BAR = [
  ['guides/', 'Guides'],
  ['docs/', 'Reference'],
  ['errors', 'Errors'],
] as const;

interface SitePage {
  /** Its path from the root: `/errors`. */
  path: string;
  title: string;
  /** One sentence, for search engines and previews of links. */
  description: string;
  /** HTML, without `<main>`. */
  main: string;
  /** More style sheets and scripts, by their paths in the folder of assets. */
  styles?: readonly string[];
  scripts?: readonly string[];
}

/** The relative path from a page to the root of the service, which may be below a proxy's path: `./`, `../`. */
export const rootFrom = (path: string): string => '../'.repeat(path.split('/').length - 2) || './';

/** The bar at the head of all pages, for the page at `path`. */
const barOf = (brand: Brand, path: string): string => {
  const root = rootFrom(path);
  const links = BAR.map(([target, label]) => {
    const isHere = path === `/${target}` || (target.endsWith('/') && path.startsWith(`/${target}`));
    return `<a href="${root}${target}"${isHere ? ' aria-current="page"' : ''}>${label}</a>`;
  });
  return `<header class="bar">
<a class="bar-home" href="${root}"><img src="${root}${assetFolder(brand)}/${logoName(brand)}" alt="" width="28" height="28"><span>${escapeHtml(brand.name)}</span></a>
<nav class="bar-links" aria-label="Documentation">
${links.join('\n')}
</nav>
<form class="bar-search" role="search" data-root="${root}" hidden>
<input type="search" aria-label="Search guides, operations and errors" placeholder="Search" autocomplete="off" spellcheck="false">
<div class="found" hidden><p role="status"></p><ul></ul></div>
</form>
</header>`;
};

/** The first target of the keyboard: a link past the bar to the element with the id `main`. */
const SKIP = '<a class="skip" href="#main">Skip to content</a>';

/** The foot of all pages. */
const footOf = ({ contact, terms, source }: Brand, path: string): string => {
  const root = rootFrom(path);
  const links = [
    ['Contact', contact],
    ['Terms', terms],
    ['Source', source],
    ['Status', `${root}readyz`],
    ['openapi.json', `${root}openapi.json`],
  ].flatMap(([label, href]) => (href === undefined ? [] : [`<a href="${escapeHtml(href)}">${label}</a>`]));
  return `<footer class="foot">
<span>Version ${version}</span>
${links.join('\n')}
</footer>`;
};

/** The content of the head of all pages. */
const headOf = ({ path, title, description, styles = [], scripts = [] }: SitePage, brand: Brand): string => {
  const root = rootFrom(path);
  const { name } = brand;
  const folder = root + assetFolder(brand);
  const fullTitle = escapeHtml(title === name ? name : `${title} · ${name}`);
  return [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${fullTitle}</title>`,
    `<meta name="description" content="${escapeHtml(description)}">`,
    `<link rel="icon" href="${root}favicon.ico" type="${logoType(brand)}">`,
    ...['brand.css', 'bar.css', 'site.css', ...styles].map(
      (file) => `<link rel="stylesheet" href="${folder}/${file}">`,
    ),
    `<script type="module" src="${folder}/search.js"></script>`,
    ...['site.js', ...scripts].map((file) => `<script src="${folder}/${file}" defer></script>`),
  ].join('\n');
};

/** A whole page: head, bar, content, foot. */
export const htmlPage = (page: SitePage, brand: Brand): string => `<!doctype html>
<html lang="en">
<head>
${headOf(page, brand)}
</head>
<body>
${SKIP}
${barOf(brand, page.path)}
<main id="main" tabindex="-1">
${page.main}
</main>
${footOf(brand, page.path)}
</body>
</html>
`;
