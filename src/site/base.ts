import type { Request } from 'express';
import type { Config } from '../config/config.ts';

/** A host that needs no quoting, in a page as in a shell. */
const PLAIN_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/**
 * The address of the service for this caller, without a trailing slash: the public one where it is configured, else the one
 * that the request was sent to, as far as trusted proxies tell. Undefined if the request does not say.
 */
export const baseOf = (request: Request, { publicUrl }: Config): string | undefined => {
  if (publicUrl !== undefined) return publicUrl;
  const host = request.host as string | undefined;
  if (host === undefined || !PLAIN_HOST.test(host)) return undefined;
  return `${request.protocol === 'https' ? 'https' : 'http'}://${host}`;
};
