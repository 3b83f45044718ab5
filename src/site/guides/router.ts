import express, { type RequestHandler, type Router } from 'express';
import type { Config } from '../../config/config.ts';
import { etagOf } from '../../http/message/reply.ts';
import { readOnly } from '../../http/middleware/preconditions.ts';
import { baseOf } from '../base.ts';
import { escapeHtml } from '../html.ts';
import { assetOf, pagePolicy, revalidated } from '../serve.ts';
import { guides } from './catalogue.ts';
import { EXAMPLE_ADDRESS } from './links.ts';
import { llmsFullText, llmsText } from './llms.ts';
import { guideMarkdown, guidePage, indexPage } from './pages.ts';

/** Stands for the address of the service in what is made once. */
const ADDRESS = 'https://address.invalid';

const MARKDOWN = 'text/markdown; charset=utf-8';
const PLAIN = 'text/plain; charset=utf-8';

/** `/guides/`, its pages and their Markdown, and what language models read: `/llms.txt`, `/llms-full.txt`. */
export const guidesRouter = (config: Config): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  /** Serves a text that names addresses of the service. The first request makes it. */
  const serve = (path: string, type: string, make: (address: string) => string, ...before: RequestHandler[]): void => {
    let text: string | undefined;
    router.all(path, readOnly, ...before, (request, response) => {
      text ??= make(ADDRESS);
      const address = baseOf(request, config) ?? EXAMPLE_ADDRESS;
      const body = text.replaceAll(ADDRESS, () => (type === 'html' ? escapeHtml(address) : address));
      response
        .set({ ETag: etagOf(body), 'Cache-Control': 'no-cache' })
        .type(type)
        .send(body);
    });
  };
  router.all('/assets/guides.css', readOnly, revalidated('css', assetOf('guides.css')));
  serve('/guides/', 'html', () => indexPage(config), pagePolicy());
  for (const guide of guides) {
    serve(`/guides/${guide.name}`, 'html', (address) => guidePage(guide, config, address), pagePolicy());
    serve(`/guides/${guide.name}.md`, MARKDOWN, (address) => guideMarkdown(guide, config, address));
  }
  serve('/llms.txt', PLAIN, (address) => llmsText(config, address));
  serve('/llms-full.txt', PLAIN, (address) => llmsFullText(config, address));
  return router;
};
