import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import express, { type RequestHandler, type Router } from 'express';
import { contentSecurityPolicy } from 'helmet';
import swaggerUi from 'swagger-ui-express';
import { escapeUnseen } from '../../contract/text.ts';
import type { Config } from '../config.ts';
import { etagOf } from '../http/etag.ts';
import { readOnly } from '../http/guard.ts';

const require = createRequire(import.meta.url);

/** The published documents, by the path that serves them. */
const documents = {
  '/openapi.json': require('#openapi/openapi.json') as object,
  '/openapi-3.0.json': require('#openapi/openapi-3.0.json') as object,
};

const page = {
  customSiteTitle: 'Content Gateway API',
  swaggerUrl: '../openapi.json',
  customJs: './key-storage.js',
  swaggerOptions: {
    // Without the bar that asks for the address of another document.
    layout: 'BaseLayout',
    // In the storage of the tab: see `KEY_STORAGE`.
    persistAuthorization: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    displayOperationId: true,
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 4,
    // No validator of others gets to see the address of the document.
    validatorUrl: null,
  },
};

/**
 * Swagger UI keeps the key in the local storage, for ever and for whoever uses the browser next. Given that of the session in
 * its place, it forgets the key with the tab. Also removes what earlier versions left behind.
 */
const KEY_STORAGE = `localStorage.removeItem('authorized');
Object.defineProperty(window, 'localStorage', { value: sessionStorage });
`;

const ROOT = '<div id="swagger-ui"></div>';
const NOTE = `<p style="font-family:sans-serif;max-width:1460px;margin:20px auto 0;padding:0 20px">A key given to Authorize is kept
in this tab alone, across reloads, and forgotten when the tab is closed.</p>
`;

/** What the page asks for; the package holds more, a demo of another API among it. */
const PAGE_FILES = [
  '/swagger-ui.css',
  '/swagger-ui-bundle.js',
  '/swagger-ui-standalone-preset.js',
  '/swagger-ui-init.js',
  '/favicon-16x16.png',
  '/favicon-32x32.png',
];

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64');

/** The sources of a CSP that allow the inline styles of this page and no others. */
const styleHashes = (html: string): string[] =>
  [...html.matchAll(/<style>([^]*?)<\/style>|style="([^"]*)"/g)].map(
    ([, element, attribute]) => `'sha256-${sha256(element ?? attribute ?? '')}'`,
  );

/** `/docs/`: Swagger UI with its files from the npm package, and a CSP that lets it reach nothing but this service. */
const docsPage = (): Router => {
  const html = swaggerUi.generateHTML(undefined, page).replace(ROOT, NOTE + ROOT);
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(
    readOnly,
    contentSecurityPolicy({
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-hashes'", ...styleHashes(html)],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
    }),
  );
  router.get('/', (_request, response) => {
    response.set('Cache-Control', 'no-cache').type('html').send(html);
  });
  router.get('/key-storage.js', (_request, response) => {
    response.set('Cache-Control', 'no-cache').type('js').send(KEY_STORAGE);
  });
  router.get(PAGE_FILES, swaggerUi.serveFiles(undefined, page));
  return router;
};

/** Answers with a text that changes only with a release; a caller who has it already gets 304. */
const revalidated = (type: string, text: string): RequestHandler => {
  const etag = etagOf(text);
  return (_request, response) => {
    response.set({ ETag: etag, 'Cache-Control': 'no-cache' }).type(type).send(text);
  };
};

/** The documentation: `/docs/`, `/openapi.json`, `/openapi-3.0.json`, and `/` and `/docs`, which lead there. */
export const docs = ({ publicUrl }: Config): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [path, document] of Object.entries(documents)) {
    const served = publicUrl === undefined ? document : { ...document, servers: [{ url: publicUrl }] };
    router.all(path, readOnly, revalidated('json', escapeUnseen(JSON.stringify(served))));
  }
  router.all(['/', '/docs'], readOnly, (_request, response) => {
    response.redirect('docs/');
  });
  router.use('/docs/', docsPage());
  return router;
};
