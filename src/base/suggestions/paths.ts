import { aliasesOf, nearest, plain } from './nearest.ts';
import { meantProcedures } from './procedures.ts';

/** Longer paths are not compared. */
const MAX_PATH = 200;

/** Paths of the service, and the words by which people look for them. */
export const PLACES = aliasesOf('paths');

/** Prefixes of procedure names in paths that people try. */
const BEFORE = /^(?:api|trpc|rpc|rest|v\d+)$/i;

const placeOf = (path: string, parts: readonly string[]): string | undefined => {
  const same = Object.keys(PLACES).find((place) => plain(place) === plain(path) || place === `${path}/`);
  if (same !== undefined) return same;
  const found = [path, parts.join('/')].flatMap((tried) =>
    Object.keys(PLACES).filter((place) => PLACES[place]?.includes(plain(tried)) || plain(place) === plain(tried)),
  );
  return found[0] ?? nearest(path, Object.keys(PLACES));
};

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

/** The hint for an unknown path; undefined for the usual hint. */
export const unknownPath = (path: string): string | undefined => {
  if (path.length > MAX_PATH) return undefined;
  const all = decoded(path)
    .split('/')
    .filter((part) => part !== '');
  const first = all.findIndex((part) => !BEFORE.test(part));
  const parts = first === -1 ? [] : all.slice(first);
  const isApi = all.length > parts.length;
  if (parts.length === 0) {
    return isApi
      ? 'Procedures are called by `POST /api/trpc/<router>.<procedure>`, for example `/api/trpc/game.list`; `/docs/` lists them all.'
      : undefined;
  }
  if (parts[0] === 'sandbox') {
    return 'This service is not a sandbox. `/guides/sandbox` says how to start one.';
  }
  const place = placeOf(path, parts);
  if (place !== undefined) return `Did you mean \`${place}\`?`;
  const near = meantProcedures(parts.join('.'), (id) => `/api/trpc/${id}`);
  return near === undefined ? undefined : `${near} Procedures are called by \`POST /api/trpc/<router>.<procedure>\`.`;
};
