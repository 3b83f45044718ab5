import express, { type Router } from 'express';
import { assetFolder } from '../assets.ts';
import { htmlPage, rootFrom } from '../page.ts';
import { keyHelp, type Publication } from '../publication.ts';
import { servePage } from '../serve.ts';
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

const PATH = '/docs/';

const mainOf = (publication: Publication): string => `<div class="docs-intro">
<h1>Reference</h1>
<p>Every operation of this service, with its schemas and code in nine languages. Open one, change the example and send it from
here. Public operations need no key. For the others, give yours to <b>Authorize</b>: it is kept in this tab alone, across reloads, and forgotten when
the tab is closed. ${keyHelp(publication, rootFrom(PATH))}</p>
<noscript><p>Trying operations needs JavaScript. The <a href="../openapi.json">OpenAPI document</a> and the
<a href="../guides/">guides</a> do without.</p></noscript>
</div>
<div id="swagger-ui">
<div id="docs-root"></div>
<div id="docs-index">
<p class="docs-status" role="status"></p>
${operationIndex}
</div>
</div>
<script type="module" src="${rootFrom(PATH)}${assetFolder(publication.brand)}/swagger/start.js"></script>`;

/** `/docs/`: Swagger UI, with a CSP that limits it to this service. */
export const swaggerPage = (publication: Publication): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  servePage(router, PATH, () =>
    htmlPage(
      {
        path: PATH,
        title: 'Reference',
        description: 'Every operation of the API, to read and to try in the browser.',
        main: mainOf(publication),
        styles: ['swagger/docs.css'],
      },
      publication.brand,
    ),
  );
  return router;
};
