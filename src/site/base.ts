import type { Request, RequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import type { Config } from '../config/config.ts';

/** A host that needs no quoting, in a page or in a shell. */
const PLAIN_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/**
 * The address of the service for this caller, without a trailing slash: the configured public one, or else the target
 * of the request, as reported by trusted proxies. Undefined if the request does not say.
 */
export const baseOf = (request: Request, { publicUrl }: Config): string | undefined => {
  if (publicUrl !== undefined) return publicUrl;
  const host = request.host as string | undefined;
  if (host === undefined || !PLAIN_HOST.test(host)) return undefined;
  return `${request.protocol === 'https' ? 'https' : 'http'}://${host}`;
};

/** Callers can name any host. */
const MAX_ADDRESSES = 4;

/**
 * A handler for each address under which callers reach the service, made at the first request for it. It keeps the
 * handlers of the last few addresses.
 */
export const byAddress = (config: Config, make: (base: string | undefined) => RequestHandler): RequestHandler => {
  const made = new LRUCache<string, RequestHandler>({ max: MAX_ADDRESSES });
  return (request, response, next) => {
    const base = baseOf(request, config);
    const key = base ?? '';
    const handle = made.get(key) ?? make(base);
    made.set(key, handle);
    return handle(request, response, next);
  };
};
