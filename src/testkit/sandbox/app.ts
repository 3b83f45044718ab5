import type { Express } from 'express';
import { createApp, transports } from '../../app/app.ts';
import type { Context } from '../../app/context.ts';
import { BodyReader } from '../../http/message/body.ts';
import { errorDocs } from '../../http/message/failures.ts';
import { sandbox } from './middleware.ts';
import type { Workspaces } from './workspaces.ts';

/** The service as an Express app whose calls are answered in the spaces of a sandbox. */
export const createSandboxApp = (c: Context, workspaces: Workspaces): Express => {
  const bodies = new BodyReader();
  return createApp(
    c,
    sandbox(workspaces, (workspace) => transports(bodies, workspace), errorDocs(c.config)),
  );
};
