import express, { type RequestHandler, type Router } from 'express';
import type { Config } from '../config/config.ts';
import { readOnly } from '../http/middleware/preconditions.ts';
import { assets } from './assets.ts';
import { byAddress } from './base.ts';
import { documentAt, documentPaths, withAddress } from './documents.ts';
import { errorPages } from './errors/page.ts';
import { guidesRouter } from './guides/pages.ts';
import { landing } from './landing.ts';
import { notFoundPage } from './not-found.ts';
import { rootFrom } from './page.ts';
import { lazily, leadToFolder, revalidated } from './serve.ts';
import { sandboxPage } from './sandbox-page.ts';
import { sdkFiles } from './sdks.ts';
import { swaggerPage } from './swagger/page.ts';
import { yamlOf } from './yaml.ts';
import { build, version } from '../base/version.ts';

const DAY_MS = 86_400_000;
/** Days until `security.txt` expires; less than a year, as RFC 9116 recommends. */
const VALID_DAYS = 90;

/** `security.txt` (RFC 9116). It names the day on which to read it again. */
const securityText = (contact: string, publicUrl: string | undefined, now: Date): string => {
  const expires = new Date(now.getTime() + VALID_DAYS * DAY_MS).toISOString().slice(0, 10);
  return [
    `Contact: ${contact}`,
    `Expires: ${expires}T00:00:00Z`,
    'Preferred-Languages: en',
    ...(publicUrl === undefined ? [] : [`Canonical: ${publicUrl}/.well-known/security.txt`]),
    '',
  ].join('\n');
};

/** `/version`, and `/.well-known/security.txt` if a security contact is configured. */
const wellKnown = ({ brand, publicUrl, securityContact }: Config, now: () => Date): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all('/version', readOnly, revalidated('json', JSON.stringify({ name: brand.name, version, build })));
  if (securityContact !== undefined) {
    router.all('/.well-known/security.txt', readOnly, (_request, response) => {
      response.type('text/plain').send(securityText(securityContact, publicUrl, now()));
    });
  }
  return router;
};

/** The pages with paths of folders. */
const FOLDERS = ['/docs/', '/guides/'];

/** The former paths of a reference that is now part of `/docs/`. */
const OLD_REFERENCE = ['/reference', '/reference/'];

/** The pages and published files of the service, by path. */
export const site = ({ config, now }: { config: Config; now: () => Date }): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const atAddress = (type: string, text: string): RequestHandler =>
    byAddress(config, (base = `http://localhost:${config.port}`) => revalidated(type, withAddress(text, base)));
  for (const path of documentPaths) {
    const asJson = () => atAddress('json', documentAt(path, config));
    router.all(path, readOnly, lazily(asJson));
    const asYaml = async () =>
      atAddress('application/yaml', await yamlOf(JSON.parse(documentAt(path, config)) as object));
    router.all(path.replace(/json$/, 'yaml'), readOnly, lazily(asYaml));
  }
  router.use(landing(config));
  for (const folder of FOLDERS) leadToFolder(router, folder);
  router.all(OLD_REFERENCE, readOnly, (request, response) => {
    response.redirect(301, `${rootFrom(request.path)}docs/`);
  });
  router.use(assets(config.brand));
  router.use(errorPages(config));
  router.use(guidesRouter(config));
  router.use(swaggerPage(config));
  if (config.sandbox) router.all('/sandbox', sandboxPage(config.brand));
  router.use(wellKnown(config, now));
  if (config.sdksDir !== undefined) router.use(sdkFiles(config.sdksDir, config.brand));
  router.use(notFoundPage(config));
  return router;
};
