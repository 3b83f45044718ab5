import { procedures, streams } from '../../contract/index.ts';
import type { Route } from '../base/observer.ts';

/** Below it there are calls alone, and no pages. */
export const API_PREFIX = '/api/';
/** Where tRPC's clients call procedures: one, or several with commas between. */
export const API_PATH = '/api/trpc/';
/** Where the Model Context Protocol is spoken. */
export const MCP_PATH = '/mcp';
export const LIVENESS_PATH = '/healthz';
export const READINESS_PATH = '/readyz';

/** By the beginnings of their paths; the pages have the rest. */
const groups: readonly (readonly [prefix: string, route: Route])[] = [
  [API_PREFIX, { group: 'trpc', pattern: `${API_PATH}{procedures}` }],
  [MCP_PATH, { group: 'mcp', pattern: MCP_PATH }],
  [LIVENESS_PATH, { group: 'health' }],
  [READINESS_PATH, { group: 'health' }],
];
const pages: Route = { group: 'site' };

const procedureRoutes: ReadonlyMap<string, Route> = new Map([
  ...procedures.map(({ route: { path } }): [string, Route] => [path, { group: 'trpc', pattern: path }]),
  ...streams.map(({ route: { path } }): [string, Route] => [path, { group: 'stream', pattern: path }]),
]);

/** The path of a URL that begins with one. */
export const pathOf = (url: string): string => {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
};

/** The route that answers a request, by its URL. */
export const routeOf = (url: string): Route =>
  procedureRoutes.get(pathOf(url)) ?? groups.find(([prefix]) => url.startsWith(prefix))?.[1] ?? pages;

/** Whether a path is one of a health check, which does not wait behind other requests. */
export const isHealthCheck = (path: string): boolean => path === LIVENESS_PATH || path === READINESS_PATH;
