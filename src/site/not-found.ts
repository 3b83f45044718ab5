import type { RequestHandler } from 'express';
import type { Config } from '../config/config.ts';
import { API_PREFIX } from '../http/middleware/preconditions.ts';
import { PLACES, unknownPath } from '../base/suggestions/paths.ts';
import { escapeHtml } from './html.ts';
import { htmlPage, rootFrom } from './page.ts';
import { pagePolicy } from './serve.ts';

/** A hint whose code spans with names of pages are links to them. */
const hintHtml = (hint: string, root: string): string =>
  hint
    .split('`')
    .map((part, index) => {
      if (index % 2 === 0) return escapeHtml(part);
      const code = `<code>${escapeHtml(part)}</code>`;
      return part in PLACES ? `<a href="${root}${part.slice(1)}">${code}</a>` : code;
    })
    .join('');

const mainOf = (path: string): string => {
  const root = rootFrom(path);
  const hint = unknownPath(path);
  return `<h1>Page not found</h1>
<p class="lead">Nothing is at this address.</p>
${hint === undefined ? '' : `<p>${hintHtml(hint, root)}</p>\n`}<ul>
<li><a href="${root}">Start page</a></li>
<li><a href="${root}guides/">Guides</a></li>
<li><a href="${root}docs/">Reference</a></li>
</ul>`;
};

/** Answers browsers with a page if nothing exists at a path. Programs, and all paths below `/api/`, get the error. */
export const notFoundPage = ({ brand }: Pick<Config, 'brand'>): RequestHandler => {
  const setPolicy = pagePolicy();
  return (request, response, next) => {
    const { path, method } = request;
    if (!['GET', 'HEAD'].includes(method) || path.startsWith(API_PREFIX) || path === API_PREFIX.slice(0, -1)) {
      next();
      return;
    }
    response.vary('Accept');
    if (request.accepts(['json', 'html']) !== 'html') {
      next();
      return;
    }
    response.locals.state.reason = 'ROUTE_NOT_FOUND';
    setPolicy(request, response, () => {
      const page = { path, title: 'Page not found', description: 'Nothing is at this address.', main: mainOf(path) };
      response.status(404).set('Cache-Control', 'no-cache').type('html').send(htmlPage(page, brand));
    });
  };
};
