import cors from 'cors';
import type { RequestHandler } from 'express';
import { idempotencyReplayed } from '../../../contract/index.ts';
import { type HeaderList, setCommonHeaders } from '../message/reply.ts';

const PREFLIGHT_MAX_AGE_S = 86_400;

/** The response headers that scripts of other origins may read. */
const EXPOSED = [
  'Accept-Encoding',
  'Deprecation',
  'ETag',
  idempotencyReplayed.name,
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Should-Retry',
];

const preflightOf = (origins: readonly string[]): RequestHandler =>
  cors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_MAX_AGE_S,
  });

/** The origin of a request. */
interface RequestOrigin {
  /** Its header `Origin`. */
  origin: string | undefined;
  /** Whether the request used TLS, according to trusted proxies: HSTS is only for such requests. */
  isSecure: boolean;
}

/** HSTS: https://www.rfc-editor.org/rfc/rfc6797. */
const TRANSPORT_SECURITY = ['strict-transport-security', 'max-age=31536000; includeSubDomains'];

/** helmet's default headers, with a policy for documents without content that all origins may read. */
const securityOf = (isSecure: boolean): HeaderList => [
  'content-security-policy',
  "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy',
  'same-origin',
  'cross-origin-resource-policy',
  'cross-origin',
  'origin-agent-cluster',
  '?1',
  'referrer-policy',
  'no-referrer',
  ...(isSecure ? TRANSPORT_SECURITY : []),
  'x-content-type-options',
  'nosniff',
  'x-dns-prefetch-control',
  'off',
  'x-download-options',
  'noopen',
  'x-frame-options',
  'SAMEORIGIN',
  'x-permitted-cross-domain-policies',
  'none',
  'x-xss-protection',
  '0',
];

/**
 * The CORS headers for a page of `origin`: https://fetch.spec.whatwg.org/#http-responses. With a list of origins,
 * replies vary by `Origin`.
 */
const sharingOf = (origin: string, allowed: readonly string[]): HeaderList => [
  ...(allowed.includes('*') || allowed.includes(origin)
    ? ['access-control-allow-origin', allowed.includes('*') ? '*' : origin]
    : []),
  ...(allowed.includes('*') ? [] : ['vary', 'Origin']),
  'access-control-expose-headers',
  EXPOSED.join(','),
];

/**
 * The security and CORS headers of replies that are not pages, by the `Origin` of the request. Keys are not cookies, so
 * any origin may call. They are literal tables, made once for each allowed origin: helmet and cors would set them one
 * by one on every reply.
 */
export const securityHeaders = (origins: readonly string[]): ((way?: RequestOrigin) => HeaderList) => {
  const headersBy = (isSecure: boolean): ((origin: string) => HeaderList) => {
    const headersFor = (origin: string): HeaderList => [...securityOf(isSecure), ...sharingOf(origin, origins)];
    const headersOfOthers = headersFor('');
    const headersOf = new Map(origins.map((origin) => [origin, headersFor(origin)]));
    return (origin) => headersOf.get(origin) ?? headersOfOthers;
  };
  const [plain, secure] = [headersBy(false), headersBy(true)];
  return ({ origin = '', isSecure } = { origin: '', isSecure: false }) => (isSecure ? secure : plain)(origin);
};

/** Sets the headers of `securityHeaders` for the reply, and answers preflights. */
export const security = (origins: readonly string[]): RequestHandler => {
  const headersOf = securityHeaders(origins);
  const preflight = preflightOf(origins);
  return (request, response, next) => {
    response.locals.state.headers = headersOf({ origin: request.headers.origin, isSecure: request.secure });
    if (request.method !== 'OPTIONS') {
      next();
      return;
    }
    setCommonHeaders(response);
    preflight(request, response, next);
  };
};
