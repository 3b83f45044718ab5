import express, { type Express } from 'express';
import { Calls } from './call/calls.ts';
import { servedProcedures } from './call/procedures.ts';
import type { Context } from './context.ts';
import { AppError } from './errors.ts';
import { api } from './trpc/api.ts';
import { docs } from './site/docs.ts';
import { errorHandler } from './http/errors.ts';
import { wellFormed } from './http/guard.ts';
import { health } from './http/health.ts';
import { withCommonHeaders } from './http/reply.ts';
import { requestLog } from './http/request-log.ts';
import { sandboxFaults } from './http/sandbox.ts';
import { security } from './http/security.ts';
import { tsRestFrame } from './trpc/ts-rest.ts';

/** The service as an Express app: what happens to a request, from top to bottom. It does not listen. */
export const createApp = (c: Context): Express => {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.set('trust proxy', c.config.trustProxy);

  app.use(requestLog(c.log));
  app.use(security(c.config.corsOrigins));
  app.use(wellFormed);
  if (c.config.sandbox) app.use(sandboxFaults);
  const procedures = servedProcedures(c);
  app.use(api(new Calls(c, procedures, tsRestFrame(procedures)), c));
  app.use(withCommonHeaders);
  app.use(health(c));
  app.use(docs(c.config));
  app.use(() => {
    throw new AppError('ROUTE_NOT_FOUND');
  });
  app.use(errorHandler(c.log));
  return app;
};
