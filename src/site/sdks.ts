import { open, readdir, realpath, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Brand } from '../config/config.ts';
import { assertMethod } from '../http/middleware/preconditions.ts';
import { escapeHtml } from './html.ts';
import { htmlPage } from './page.ts';
import { leadToFolder, pagePolicy } from './serve.ts';

const PATH = '/sdks/';

/** The media types of files in packages that Express does not know. */
const TYPES: Readonly<Record<string, string>> = {
  '.crate': 'application/gzip',
  '.info': 'application/json',
  '.md5': 'text/plain',
  '.mod': 'text/plain',
  '.pom': 'application/xml',
  '.sha1': 'text/plain',
  '.sha256': 'text/plain',
  '.sha512': 'text/plain',
  '.tgz': 'application/gzip',
  '.whl': 'application/zip',
};

/** A file or a folder. */
interface Entry {
  /** Its path from the root, without symbolic links. */
  path: string;
  isFolder: boolean;
  bytes: number;
}

/** The entry at a path below a folder; undefined if it is missing, hidden, or outside of the folder. */
const entryAt = async (root: string, names: readonly string[]): Promise<Entry | undefined> => {
  if (names.some((name) => name === '' || name.startsWith('.') || name.includes('\0'))) return undefined;
  try {
    const [base, real] = await Promise.all([realpath(root), realpath(join(root, ...names))]);
    const path = relative(base, real);
    // A link may point outside, or to a hidden file.
    if (path.split(sep).some((name) => name.startsWith('.'))) return undefined;
    const found = await stat(real);
    return found.isDirectory() || found.isFile()
      ? { path, isFolder: found.isDirectory(), bytes: found.size }
      : undefined;
  } catch {
    return undefined;
  }
};

/** The names of a path below `/sdks/`, none of a malformed one. The last name of a folder is empty. */
const namesOf = (path: string): string[] => {
  try {
    return decodeURIComponent(path.slice(PATH.length)).split('/');
  } catch {
    return [];
  }
};

/** A link to an entry of a folder, with its size. */
const item = (name: string, { isFolder, bytes }: Entry): string => {
  const [href, text] = [encodeURIComponent(name), escapeHtml(name)];
  return isFolder
    ? `<li><a href="${href}/">${text}/</a></li>`
    : `<li><a href="${href}">${text}</a> <span class="muted">${bytes.toLocaleString('en')} bytes</span></li>`;
};

/** The entries of a folder, as lines of a list. */
const itemsOf = async (root: string, names: readonly string[]): Promise<string[]> => {
  const listed = (await readdir(join(root, ...names))).toSorted((a, b) => (a < b ? -1 : 1));
  const entries = await Promise.all(listed.map(async (name) => [name, await entryAt(root, [...names, name])] as const));
  return entries.flatMap(([name, entry]) => (entry === undefined ? [] : [item(name, entry)]));
};

const listPage = (path: string, names: readonly string[], items: readonly string[], brand: Brand): string => {
  const title = ['SDKs', ...names].join('/');
  const up = names.length === 0 ? '' : '<li><a href="../">../</a></li>\n';
  return htmlPage(
    {
      path,
      title,
      description: 'Packages of the SDKs, to install from here.',
      main: `<h1>${escapeHtml(title)}</h1>
<ul>
${up}${items.join('\n')}
</ul>`,
    },
    brand,
  );
};

/** Sends a file piece by piece. A client that has it gets 304. */
const sendFile = async (path: string, request: Request, response: Response): Promise<void> => {
  const file = await open(path);
  try {
    const { size, mtimeMs } = await file.stat();
    const extension = extname(path);
    response
      .set({ ETag: `W/"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}"`, 'Cache-Control': 'no-cache' })
      .type(TYPES[extension] ?? extension);
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    response.set('Content-Length', String(size));
    if (request.method === 'HEAD') response.end();
    else await pipeline(file.createReadStream({ autoClose: false }), response);
  } catch (error) {
    // The client has disconnected.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  } finally {
    await file.close();
  }
};

/** Lists the folders at `root`, and serves their files. A folder without entries counts as missing. */
const filesAt = (root: string, brand: Brand): RequestHandler => {
  const setPolicy = pagePolicy();
  return async (request, response, next) => {
    const names = request.path.startsWith(PATH) ? namesOf(request.path) : [];
    const endsInSlash = names.at(-1) === '';
    const place = endsInSlash ? names.slice(0, -1) : names;
    const entry = names.length === 0 ? undefined : await entryAt(root, place);
    const items = entry?.isFolder ? await itemsOf(root, place) : undefined;
    if (!entry || (endsInSlash && !items) || items?.length === 0) {
      next();
      return;
    }
    assertMethod(request, response, ['GET', 'HEAD']);
    if (!items) await sendFile(join(root, entry.path), request, response);
    else if (endsInSlash) {
      setPolicy(request, response, () => {
        response
          .set('Cache-Control', 'no-cache')
          .type('html')
          .send(listPage(request.path, place, items, brand));
      });
    } else response.redirect(`${encodeURIComponent(place.at(-1) as string)}/`);
  };
};

/** `/sdks/`: the packages of the SDKs, in a folder of the operator's. */
export const sdkFiles = (root: string, brand: Brand): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  leadToFolder(router, PATH);
  router.use(filesAt(root, brand));
  return router;
};
