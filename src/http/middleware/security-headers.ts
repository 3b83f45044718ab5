import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import cors from 'cors';
import type { Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { idempotencyReplayed } from '../../../contract/index.ts';
import { type HeaderList, setCommonHeaders } from '../message/reply.ts';

const PREFLIGHT_MAX_AGE_S = 86_400;

/** Response headers that scripts of other origins may read. */
const EXPOSED = [
  'Accept-Encoding',
  'ETag',
  idempotencyReplayed.name,
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Should-Retry',
];

/** The headers that middleware sets on the reply to a GET from this origin. */
const headersSetBy = (middleware: readonly RequestHandler[], origin: string | undefined): HeaderList => {
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  if (origin !== undefined) request.headers.origin = origin;
  const response = new ServerResponse(request);
  for (const one of middleware) void one(request as Request, response as Response, () => undefined);
  return response.getHeaderNames().flatMap((name) => [name, String(response.getHeader(name))]);
};

const preflightOf = (origins: readonly string[]): RequestHandler =>
  cors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_MAX_AGE_S,
  });

/** The origin of a request. */
interface RequestOrigin {
  /** Its `Origin`. */
  origin: string | undefined;
  /** Whether it came by TLS, as far as trusted proxies tell: HSTS is for such requests only. */
  isSecure: boolean;
}

/**
 * The security headers of replies that are not pages, and those of CORS, by the `Origin` of the request: keys are not
 * cookies, so any origin may call. helmet and cors determine them once for each allowed origin, not for every request.
 */
export const securityHeaders = (origins: readonly string[]): ((way?: RequestOrigin) => HeaderList) => {
  const headersBy = ({ isSecure }: Pick<RequestOrigin, 'isSecure'>): ((origin: string) => HeaderList) => {
    const middleware = [
      helmet({
        contentSecurityPolicy: {
          useDefaults: false,
          directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
        },
        crossOriginResourcePolicy: { policy: 'cross-origin' },
        ...(!isSecure && { strictTransportSecurity: false }),
      }),
      preflightOf(origins),
    ];
    const headersOfOthers = headersSetBy(middleware, undefined);
    const named = origins.includes('*') ? [] : origins;
    const headersOf = new Map(named.map((origin) => [origin, headersSetBy(middleware, origin)]));
    return (origin) => headersOf.get(origin) ?? headersOfOthers;
  };
  const [plain, secure] = [headersBy({ isSecure: false }), headersBy({ isSecure: true })];
  return ({ origin = '', isSecure } = { origin: '', isSecure: false }) => (isSecure ? secure : plain)(origin);
};

/** Sets the headers of `securityHeaders` for the reply, and answers preflights. */
export const security = (origins: readonly string[]): RequestHandler => {
  const headersOf = securityHeaders(origins);
  const preflight = preflightOf(origins);
  return (request, response, next) => {
    response.locals.headers = headersOf({ origin: request.headers.origin, isSecure: request.secure });
    if (request.method !== 'OPTIONS') {
      next();
      return;
    }
    setCommonHeaders(response);
    preflight(request, response, next);
  };
};
