import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express, { Router } from 'express';
import swaggerUi from 'swagger-ui-express';
import { readOnly } from '../../http/middleware/preconditions.ts';
import { htmlPage, rootFrom } from '../page.ts';
import { keyHelp, type Publication } from '../publication.ts';
import { assetFiles, pagePolicy, revalidated } from '../serve.ts';
import { type Operation, operations } from '../../../contract/index.ts';
import { escapeHtml } from '../html.ts';

/** The badges of an operation: `deprecated`, and `public` or `scope content:write`. The page uses the same words. */
const badgesOf = ({ access, deprecated }: Operation): string =>
  [...(deprecated === undefined ? [] : ['deprecated']), access === 'public' ? access : `scope ${access}`]
    .map((text) => `<span class="op-badge">${text}</span>`)
    .join('');

const line = (operation: Operation): string => {
  const { id, router, route } = operation;
  return `<li class="opblock" data-operation="${id}">
<a class="opblock-summary" href="#/${router}/${id}"><span class="op-path">${id}</span>
<span class="op-text">${escapeHtml(route.summary)}</span>
${badgesOf(operation)}</a></li>`;
};

/** The operations in the order of the contract, as the page shows them until Swagger UI has loaded. */
const operationIndex = `<ol class="op-index">${operations.map(line).join('\n')}</ol>`;

const require = createRequire(import.meta.url);

/** The options of Swagger UI; its plugins are those of `assets/swagger/`. */
const options = {
  swaggerUrl: '../openapi.json',
  swaggerOptions: {
    layout: 'DocsLayout',
    filter: true,
    // In the storage of the tab: see `assets/swagger/key-storage.js`.
    persistAuthorization: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    requestSnippetsEnabled: true,
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 4,
    // The address of the document is not sent to other parties' validators.
    validatorUrl: null,
  },
};

/** The files that the page requests; the package has others, such as a demo of another API. */
const PACKAGE_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js'];

/** Our own folder; the page requests all of its files. */
const FOLDER = dirname(require.resolve('#assets/swagger/plugins.js'));

const files = Object.fromEntries([
  ...PACKAGE_FILES.map((name) => [`/${name}`, require.resolve(`swagger-ui-dist/${name}`)]),
  ...readdirSync(FOLDER).map((name) => [`/${name}`, join(FOLDER, name)]),
]) as Record<string, string>;

const PATH = '/docs/';

const mainOf = (publication: Publication): string => `<div class="docs-intro">
<h1>Reference</h1>
<p>Every operation of this service, with its schemas and code in six languages. Open one, change the example and send it from
here. Public operations need no key. For the others, give yours to <b>Authorize</b>: it is kept in this tab alone, across reloads, and forgotten when
the tab is closed. ${keyHelp(publication, rootFrom(PATH))}</p>
<noscript><p>Trying operations needs JavaScript. The <a href="../openapi.json">OpenAPI document</a> and the
<a href="../guides/">guides</a> do without.</p></noscript>
</div>
<div id="swagger-ui">
${operationIndex}
</div>
<script type="module" src="plugins.js"></script>`;

/** `/docs/`: Swagger UI with its files from the npm package, and a CSP that limits it to this service. */
export const swaggerPage = (publication: Publication): Router => {
  const html = htmlPage(
    {
      path: PATH,
      title: 'Reference',
      description: 'Every operation of the API, to read and to try in the browser.',
      main: mainOf(publication),
      styles: ['docs/swagger-ui.css', 'docs/docs.css'],
      scripts: ['docs/swagger-ui-bundle.js', 'docs/swagger-ui-init.js'],
    },
    publication.brand,
  );
  const [init] = swaggerUi.serveFiles(undefined, options);
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(pagePolicy());
  router.all('/', readOnly, revalidated('html', html));
  router.use(assetFiles(files));
  router.get('/swagger-ui-init.js', (_request, response, next) => {
    response.set('Cache-Control', 'no-cache');
    next();
  });
  if (init) router.get('/swagger-ui-init.js', init);
  return router;
};
