import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import express, { type RequestHandler, type Response, type Router } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { etagOf } from '../http/message/reply.ts';
import { readOnly } from '../http/middleware/preconditions.ts';

const require = createRequire(import.meta.url);

/** A file of `src/site/assets`, by its path there. */
export const assetOf = (path: string): Buffer => readFileSync(require.resolve(`#assets/${path}`));

/** Below this size, compression saves no packet. */
const SMALL_BYTES = 1024;

/** The best level that takes a blink: on this much text, higher levels take seconds to save a tenth. */
const BROTLI_LEVEL = 5;

const compress = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};
type Coding = keyof typeof compress;

/** Images and fonts are already compressed. */
const isText = (type: string): boolean => !/^(png|jpe?g|gif|webp|ico|woff2?)$/.test(type.replace('.', ''));

/** For files whose addresses change with their contents. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';

/** The `Cache-Control` of a file: that of its folder, if this has one. */
export const cacheControlOf = ({ locals }: Response): string =>
  (locals['cacheControl'] as string | undefined) ?? 'no-cache';

/**
 * Serves a body that changes only with a release, with an `ETag`: a client that has it gets 304. Text is compressed at
 * the first request of a client that accepts it. `type` is Express's: `json`, `.css`.
 */
export const revalidated = (type: string, body: string | Buffer): RequestHandler => {
  const etag = etagOf(body);
  const bytes = Buffer.from(body);
  const isWorthIt = isText(type) && bytes.length >= SMALL_BYTES;
  const made = new Map<Coding, Promise<Buffer>>();
  return async (request, response) => {
    response.set({ ETag: etag, 'Cache-Control': cacheControlOf(response) }).type(type);
    if (isWorthIt) response.vary('Accept-Encoding');
    const coding = isWorthIt && (request.acceptsEncodings('br', 'gzip') as Coding | false);
    if (coding === false) {
      response.send(body);
      return;
    }
    // Each encoding has a validator of its own (RFC 9110, section 8.8.3.3).
    response.set({ ETag: etag.replace(/"$/, `-${coding}"`), 'Content-Encoding': coding });
    const compressed = made.get(coding) ?? compress[coding](bytes);
    made.set(coding, compressed);
    response.send(await compressed);
  };
};

/** A handler made at the first request, not at the start of the service. */
export const lazily = (make: () => RequestHandler | Promise<RequestHandler>): RequestHandler => {
  let made: RequestHandler | Promise<RequestHandler> | undefined;
  return async (request, response, next) => {
    const handle = await (made ??= make());
    return handle(request, response, next);
  };
};

/**
 * Serves files under names of our own, like `revalidated`, and no other files of their folders.
 * @param files names such as `/style.css`, and the path of each file on the disk
 */
export const assetFiles = (files: Readonly<Record<string, string>>): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [name, file] of Object.entries(files)) {
    router.all(
      name,
      readOnly,
      lazily(() => revalidated(extname(name), readFileSync(file))),
    );
  }
  return router;
};

/** The policy of pages: scripts, styles, images and requests of this service alone, and nothing inline. */
export const pagePolicy = (): RequestHandler =>
  contentSecurityPolicy({
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  });

/** Redirects from the name of a folder to the folder: `/docs` to `/docs/`. */
export const leadToFolder = (router: Router, folder: string): void => {
  router.all(folder.slice(0, -1), readOnly, (_request, response) => {
    response.redirect(folder.slice(1));
  });
};

/** Serves a page of our own, which changes only with a release, at a path. */
export const servePage = (router: Router, path: string, htmlOf: () => string): void => {
  const page = lazily(() => revalidated('html', htmlOf()));
  router.all(path, readOnly, pagePolicy(), page);
};
