import cors from 'cors';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

const PREFLIGHT_MAX_AGE_S = 86_400;

/** Response headers that scripts of other origins may read. */
const EXPOSED = ['ETag', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id'];

/** Security headers for replies that are no pages, and CORS: keys are no cookies, so any origin may call. */
export const security = (origins: readonly string[]): RequestHandler[] => [
  helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
  }),
  cors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_MAX_AGE_S,
  }),
];
