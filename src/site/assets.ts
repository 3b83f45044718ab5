import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname } from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import { contentSecurityPolicy } from 'helmet';
import type { Brand } from '../config/config.ts';
import { readOnly } from '../http/middleware/preconditions.ts';
import { logoName, logoOf } from './brand/logo.ts';
import { paletteCss } from './brand/palette.ts';
import { assetOf, IMMUTABLE, lazily, revalidated } from './serve.ts';
import { swaggerFiles, swaggerFingerprint } from './swagger-files.ts';

const require = createRequire(import.meta.url);

/** Our files, by their paths below the folder; the status page has `admin.css` of its own. */
const names = readdirSync(dirname(require.resolve('#assets/site.css')), { recursive: true, encoding: 'utf8' })
  .filter((name) => extname(name) !== '' && name !== 'admin.css')
  .toSorted();

/** Files that `npm run openapi` makes: the index of the search and the library that reads it. */
const GENERATED = ['minisearch.js', 'search.json'];

const read = (name: string): Buffer =>
  GENERATED.includes(name) ? readFileSync(require.resolve(`#openapi/guides/${name}`)) : assetOf(name);

const folders = new WeakMap<Brand, string>();

/** The folder of the files that pages load, from the root of the service. Its name changes with their contents. */
export const assetFolder = (brand: Brand): string => {
  const known = folders.get(brand);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(swaggerFingerprint);
  for (const name of [...names, ...GENERATED]) hash.update(name).update(read(name));
  hash.update(paletteCss(brand.color)).update(logoOf(brand).bytes);
  const folder = `assets/${hash.digest('base64url').slice(0, 16)}`;
  folders.set(brand, folder);
  return folder;
};

/** An SVG is also a document: when opened by itself, the operator's may have styles and pictures, but runs nothing. */
const picturePolicy: RequestHandler = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    styleSrc: ["'unsafe-inline'"],
    imgSrc: ['data:'],
    frameAncestors: ["'none'"],
    sandbox: [],
  },
});

const immutable: RequestHandler = (_request, response, next) => {
  response.locals['cacheControl'] = IMMUTABLE;
  next();
};

/**
 * `/assets/`: the files that pages load. Caches keep those of the current folder for good. Pages of another version of
 * the service, as during an upgrade, get the same files from their folders, to ask for again.
 */
export const assets = (brand: Brand): Router => {
  const files = express.Router({ caseSensitive: true, strict: true });
  for (const name of [...names, ...GENERATED]) {
    files.all(
      `/${name}`,
      readOnly,
      lazily(() => revalidated(extname(name), read(name))),
    );
  }
  const { type, bytes } = logoOf(brand);
  const logo = revalidated(type, bytes);
  files.all(`/${logoName(brand)}`, readOnly, picturePolicy, logo);
  files.all('/brand.css', readOnly, revalidated('css', paletteCss(brand.color)));
  files.use('/swagger', swaggerFiles());

  const router = express.Router({ caseSensitive: true, strict: true });
  router.all('/favicon.ico', readOnly, picturePolicy, logo);
  router.use(`/${assetFolder(brand)}`, immutable, files);
  router.use('/assets/:version', files);
  // Without a version, as in bookmarks and scripts.
  router.use('/assets', files);
  return router;
};
