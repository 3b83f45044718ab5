import express, { type Express, type RequestHandler } from 'express';
import { unknownPath } from '../base/suggestions/paths.ts';
import { Calls } from '../rpc/call.ts';
import { servedProcedures } from '../rpc/procedures.ts';
import type { Context } from './context.ts';
import { invitationRequests } from './invitations.ts';
import { AppError } from '../base/errors.ts';
import { trpcTransport } from '../rpc/trpc/api.ts';
import { mcpTransport } from '../rpc/mcp/http.ts';
import { MCP_PATH, wellFormed } from '../http/middleware/preconditions.ts';
import { lazily } from '../site/serve.ts';
import { BodyReader } from '../http/message/body.ts';
import { errorDocs, errorHandler } from '../http/message/failures.ts';
import { health } from '../http/middleware/health.ts';
import { withCommonHeaders } from '../http/message/reply.ts';
import { security } from '../http/middleware/security-headers.ts';
import { requestLog } from '../http/middleware/request-log.ts';

/** The calls of the procedures, for any transport. */
export const callsOf = (c: Context): Calls => new Calls(c, servedProcedures(c.routers));

/** Answers calls of the procedures for any transport. `bodies` bounds the total size of all request bodies. */
export const transports = (bodies: BodyReader, c: Context): RequestHandler => {
  const calls = callsOf(c);
  const [viaTrpc, viaMcp] = [
    trpcTransport(calls, bodies, c, { tails: c.tails, places: c.tailPlaces, stopping: c.lifecycle.stopping.signal }),
    mcpTransport(calls, bodies, c),
  ];
  return (request, response, next) => (request.path === MCP_PATH ? viaMcp : viaTrpc)(request, response, next);
};

/**
 * The service as an Express app: its middleware, from top to bottom. It does not listen. `calls` answers calls of the
 * procedures.
 */
export const createApp = (c: Context, calls = transports(new BodyReader(), c)): Express => {
  const app = express();
  const docs = errorDocs(c.config);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.set('trust proxy', c.config.trustProxy);

  app.use(requestLog(c.log, c.config, c.observer, c.requests));
  app.use(security(c.config.corsOrigins));
  app.use(wellFormed);
  app.use(calls);
  app.use(withCommonHeaders);
  app.use(
    health({
      db: c.db,
      log: c.log,
      now: c.now,
      isReadOnly: () => c.protection.maintenance.isOn(),
      stopping: c.lifecycle.stopping.signal,
    }),
  );
  // The keys of a sandbox are public.
  if (!c.config.sandbox) app.use(invitationRequests(c));
  // Most instances only answer calls: the first request for a page loads the pages and their libraries.
  app.use(lazily(async () => (await import('../site/site.ts')).site(c)));
  app.use(({ path }) => {
    const hint = unknownPath(path);
    throw new AppError('ROUTE_NOT_FOUND', { ...(hint !== undefined && { hint }) });
  });
  app.use(errorHandler({ log: c.log, docs }));
  return app;
};
