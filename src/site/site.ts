import { extname } from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import type { Config } from '../config/config.ts';
import { readOnly } from '../http/middleware/preconditions.ts';
import { byAddress } from './base.ts';
import { brandFiles } from './brand/brand.ts';
import { documents, withAddress } from './documents.ts';
import { errorPages } from './errors/errors.ts';
import { guidesRouter } from './guides/router.ts';
import { landing } from './landing.ts';
import { notFoundPage } from './not-found.ts';
import { rootFrom } from './page.ts';
import { assetOf, lazily, leadToFolder, revalidated } from './serve.ts';
import { sdkFiles } from './sdks.ts';
import { swaggerPage } from './swagger/page.ts';
import { wellKnown } from './well-known.ts';
import { yamlOf } from './yaml.ts';

/** The assets that pages share. */
const ASSETS = ['address.js', 'bar.css', 'site.css', 'site.js'];

/** The pages that are folders. */
const FOLDERS = ['/docs/', '/guides/'];

/** Where a reference was that is now part of `/docs/`. */
const OLD_REFERENCE = ['/reference', '/reference/'];

/** The pages and published files of the service, by path. */
export const site = ({ config, now }: { config: Config; now: () => Date }): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const atAddress = (type: string, text: string): RequestHandler =>
    byAddress(config, (base = `http://localhost:${config.port}`) => revalidated(type, withAddress(text, base)));
  for (const [path, json] of documents(config)) {
    router.all(path, readOnly, atAddress('json', json));
    const asYaml = async () => atAddress('application/yaml', await yamlOf(JSON.parse(json) as object));
    router.all(path.replace(/json$/, 'yaml'), readOnly, lazily(asYaml));
  }
  router.use(landing(config));
  for (const folder of FOLDERS) leadToFolder(router, folder);
  router.all(OLD_REFERENCE, readOnly, (request, response) => {
    response.redirect(301, `${rootFrom(request.path)}docs/`);
  });
  for (const name of ASSETS) router.all(`/assets/${name}`, readOnly, revalidated(extname(name), assetOf(name)));
  router.use(brandFiles(config.brand));
  router.use(errorPages(config));
  router.use(guidesRouter(config));
  router.use('/docs/', readOnly, swaggerPage(config));
  router.use(wellKnown(config, now));
  if (config.sdksDir !== undefined) router.use(sdkFiles(config.sdksDir, config.brand));
  router.use(notFoundPage(config));
  return router;
};
