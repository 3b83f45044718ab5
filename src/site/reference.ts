import { extname } from 'node:path';
import express, { type Router } from 'express';
import type { Brand } from '../config/config.ts';
import { readOnly } from '../http/middleware/preconditions.ts';
import { logoType } from './brand/logo.ts';
import { escapeHtml } from './html.ts';
import { barOf, barStyles } from './page.ts';
import { assetOf, lazily, pagePolicy, revalidated } from './serve.ts';

/**
 * The SHA-256 of nothing. Redoc adds empty style elements and fills them rule by rule, which no policy forbids; the empty
 * elements themselves need leave.
 */
const EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";

const PATH = '/reference/';
const ASSETS = ['reachable.js', 'reference.css', 'scheme.js', 'start.js'];

const DESCRIPTION = 'Every operation of the API: what it takes, what it answers, and how to call it in your language.';

/** Redoc brings its own look of text and tables, with which that of our other pages would mix. */
const SHEETS = [...barStyles, 'reference/reference.css'];

const htmlOf = (brand: Brand): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Reference · ${escapeHtml(brand.name)}</title>
<meta name="description" content="${DESCRIPTION}">
<link rel="icon" href="../favicon.ico" type="${logoType(brand)}">
${SHEETS.map((href) => `<link rel="stylesheet" href="../${href}">`).join('\n')}
<link rel="modulepreload" href="redoc.js">
<link rel="preload" href="../openapi.json" as="fetch" crossorigin>
<script type="module" src="start.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${barOf(brand, PATH)}
<redoc id="main"><p class="loading">Loading the reference…</p></redoc>
<noscript><p class="loading">The reference needs JavaScript. The <a href="../openapi.json">OpenAPI document</a> and the
<a href="../guides/">guides</a> do without.</p></noscript>
</body>
</html>
`;

/** `/reference/`: all operations in three columns, by Redoc, whose file `npm run redoc` makes. */
export const referencePage = (brand: Brand): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all(PATH, readOnly, pagePolicy({ styles: [EMPTY_STYLE] }), revalidated('html', htmlOf(brand)));
  // Two megabytes, read at the first request.
  router.all(
    `${PATH}redoc.js`,
    readOnly,
    lazily(() => revalidated('js', assetOf('reference/redoc.js'))),
  );
  for (const name of ASSETS) {
    router.all(PATH + name, readOnly, revalidated(extname(name), assetOf(`reference/${name}`)));
  }
  return router;
};
