import { open, readdir, realpath, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { installLine, isServed, packages } from '../base/packages.ts';
import type { Brand, Config } from '../config/config.ts';
import { assertMethod } from '../http/middleware/preconditions.ts';
import { baseOf } from './base.ts';
import { codeBlock, escapeHtml } from './html.ts';
import { htmlPage } from './page.ts';
import { leadToFolder, pagePolicy } from './serve.ts';

const PATH = '/sdks/';

/** The names of the languages on the page. */
const NAMES: Readonly<Record<string, string>> = {
  typescript: 'TypeScript',
  python: 'Python',
  go: 'Go',
  java: 'Java',
  rust: 'Rust',
  types: 'Types for ts-rest and tRPC',
};
const HOW_TO_MAKE =
  'Not all packages are here. In a clone of the repository, `npm run sdk` makes them, and the service started there serves them.';
const UP = '<li><a href="../">../</a></li>';

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

/** A heading and a line for each package that can be installed, and what to do about the others. */
const installText = (config: Config, base: string): string => {
  const known = packages.filter(([language, one]) => isServed(config, one) || config.sdkPackages[language]);
  const lines = known.map(([language, one]) => {
    const line = installLine(config, language, one).replace(/\$\w+?_URL/, () => base);
    return `<h2>${NAMES[language]}</h2>\n${codeBlock(escapeHtml(line))}`;
  });
  const rest = known.length === packages.length ? '' : `<p>${escapeHtml(HOW_TO_MAKE)}</p>`;
  return `<p>The <a href="../guides/sdks">guide to the SDKs</a> has a quick start for each language.</p>
${[...lines, rest].join('\n')}`;
};

const listPage = (path: string, title: string, before: string, items: readonly string[], brand: Brand): string =>
  htmlPage(
    {
      path,
      title,
      description: 'Packages of the SDKs, to install from here.',
      main: `<h1>${escapeHtml(title)}</h1>
${before}${items.length === 0 ? '' : `<ul>\n${items.join('\n')}\n</ul>`}`,
    },
    brand,
  );

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

/** Lists the folders at `root`, and serves their files. A folder without entries counts as missing, except the root. */
const filesAt = (root: string, config: Config): RequestHandler => {
  const setPolicy = pagePolicy();
  const pageOf = (request: Request, place: readonly string[], items: readonly string[]): string => {
    const title = ['SDKs', ...place].join('/');
    const isRoot = place.length === 0;
    const base = baseOf(request, config) ?? `http://localhost:${config.port}`;
    const before = isRoot ? installText(config, base) : '';
    return listPage(request.path, title, before, isRoot ? items : [UP, ...items], config.brand);
  };
  return async (request, response, next) => {
    const names = request.path.startsWith(PATH) ? namesOf(request.path) : [];
    const endsInSlash = names.at(-1) === '';
    const place = endsInSlash ? names.slice(0, -1) : names;
    const entry = names.length === 0 ? undefined : await entryAt(root, place);
    const isRoot = names.length === 1 && endsInSlash;
    const items = entry?.isFolder ? await itemsOf(root, place) : isRoot ? [] : undefined;
    if (!isRoot && (!entry || (endsInSlash && !items) || items?.length === 0)) {
      next();
      return;
    }
    assertMethod(request, response, ['GET', 'HEAD']);
    if (!items && entry) await sendFile(join(root, entry.path), request, response);
    else if (endsInSlash) {
      setPolicy(request, response, () => {
        response
          .set('Cache-Control', 'no-cache')
          .type('html')
          .send(pageOf(request, place, items ?? []));
      });
    } else response.redirect(`${encodeURIComponent(place.at(-1) as string)}/`);
  };
};

/** `/sdks/`: how to install the packages of the SDKs, and those in a folder. */
export const sdkFiles = (root: string, config: Config): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  leadToFolder(router, PATH);
  router.use(filesAt(root, config));
  return router;
};
