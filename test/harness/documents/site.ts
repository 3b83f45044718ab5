import type { Page } from 'playwright-core';

/** What a page of the site refers to, and what it offers to be referred to. */
export interface SitePage {
  /** From the root: `/guides/start`. */
  path: string;
  /** The values of all `href` and `src` as absolute addresses, by the kind of element. */
  links: { element: string; address: string }[];
  /** The fragments that lead to a place on it. */
  anchors: string[];
}

/** What is behind an address of the site. */
interface Answer {
  status: number;
  page: SitePage | undefined;
}

/** Reads the HTML in a browser's own parser, without running anything or asking for anything. */
const parse = (html: string, address: string): string => `(() => {
  const page = new DOMParser().parseFromString(${JSON.stringify(html)}, 'text/html');
  const base = page.head.appendChild(page.createElement('base'));
  base.href = ${JSON.stringify(address)};
  const links = [...page.querySelectorAll('[href], [src], [action]')].filter((one) => one !== base).map((one) => ({
    element: one.localName,
    address: new URL(one.getAttribute('href') ?? one.getAttribute('src') ?? one.getAttribute('action'), base.href).href,
  }));
  const anchors = [...page.querySelectorAll('[id], a[name]')].map((one) => one.id || one.name);
  return { links, anchors };
})()`;

const withoutFragment = (address: string): string => address.replace(/#.*$/, '');

/** The whole site as one finds it from its root by following links; the keys are addresses without fragments. */
export const crawl = async (origin: string, parser: Page): Promise<Map<string, Answer>> => {
  const found = new Map<string, Answer>();
  const due = [`${origin}/`];
  for (let address = due.pop(); address !== undefined; address = due.pop()) {
    if (found.has(address)) continue;
    const response = await fetch(address, { headers: { Accept: 'text/html,*/*;q=0.8' } });
    const text = await response.text();
    const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
    const page: SitePage | undefined = isPage
      ? {
          path: address.slice(origin.length),
          ...(await parser.evaluate<Omit<SitePage, 'path'>>(parse(text, response.url))),
        }
      : undefined;
    found.set(address, { status: response.status, page });
    due.push(
      ...(page?.links ?? []).map((link) => withoutFragment(link.address)).filter((one) => one.startsWith(`${origin}/`)),
    );
  }
  return found;
};

/** The places on other pages of the site that a page leads to. */
export const placesOf = ({ links }: SitePage, origin: string): { address: string; fragment: string }[] =>
  links.flatMap(({ address }) => {
    if (!address.startsWith(`${origin}/`)) return [];
    const fragment = decodeURIComponent(new URL(address).hash.slice(1));
    return [{ address: withoutFragment(address), fragment }];
  });

/** Resolves when the page has taken note of another color scheme, and no color fades into another any more. */
export const settled = (page: Page): Promise<unknown> =>
  page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))).then(() =>
    Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))`);
