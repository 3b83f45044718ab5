import type { Express, Request, RequestHandler, Response } from 'express';
import type { Workspaces } from './workspaces.ts';
import type { Context } from '../../app/context.ts';
import { AppError } from '../../base/errors.ts';
import { type ErrorDocs, errorDocs } from '../../http/message/failures.ts';
import { assertMethod } from '../../http/middleware/preconditions.ts';
import { setCommonHeaders } from '../../http/message/reply.ts';
import { delay, failBefore, failLater, faultOf, faultPlanOf, forms } from './fault-injection.ts';
import { createApp, transports } from '../../app/app.ts';
import { BodyReader } from '../../http/message/body.ts';

/** The service as an Express app whose calls are answered in the spaces of a sandbox. */
export const createSandboxApp = (c: Context, workspaces: Workspaces): Express => {
  const bodies = new BodyReader();
  return createApp(
    c,
    sandbox(workspaces, (workspace) => transports(bodies, workspace), errorDocs(c.config)),
  );
};

const SPACE = 'X-Sandbox-Space';
const SPACE_NAME = /^[\w.:-]{1,64}$/;
const SPACE_FORM = '1 to 64 letters, digits and _ . : -';

const spaceOf = (request: Request): string | undefined => {
  const name = request.get(SPACE);
  if (name === undefined || SPACE_NAME.test(name)) return name;
  throw new AppError('BAD_HTTP_REQUEST', { hint: `${SPACE} takes ${SPACE_FORM}.` });
};

/** Resolves when a request is over. */
const over = (response: Response): Promise<void> =>
  new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', resolve);
  });

/**
 * Answers in the space that a request names, by what `serve` makes for that space, and lets the request see how it fares
 * when the service is slow or fails. Besides, `GET /sandbox` tells what there is, and `POST /sandbox/reset` puts a space
 * back.
 */
export const sandbox = (
  workspaces: Workspaces,
  serve: (context: Context) => RequestHandler,
  docs: ErrorDocs,
): RequestHandler => {
  const services = new WeakMap<Context, RequestHandler>();
  const serviceOf = (context: Context): RequestHandler => {
    const known = services.get(context);
    if (known) return known;
    const made = serve(context);
    services.set(context, made);
    return made;
  };

  const answer: RequestHandler = async (request, response, next) => {
    const name = spaceOf(request);
    const demand = faultPlanOf(request);
    await delay(response, demand.delayMs);
    if (response.destroyed) return;
    // A request that waits or fails before anything is done needs no space, unless its attempts are counted there.
    const { faults, name: counted } = demand;
    const attempt =
      counted === undefined ? 1 : await workspaces.within(name, async (workspace) => workspace.countAttempt(counted));
    const fault = faultOf(faults, attempt);
    if (fault?.place === 'before' && !(await failBefore(request, response, fault, docs))) return;
    await workspaces.within(name, async ({ context }) => {
      if (fault && fault.place !== 'before') failLater(request, response, fault, docs);
      const ended = over(response);
      await serviceOf(context)(request, response, next);
      await ended;
    });
  };

  return async (request, response, next) => {
    switch (request.path) {
      case '/sandbox':
        assertMethod(request, response, ['GET', 'HEAD']);
        setCommonHeaders(response);
        response
          .set('Cache-Control', 'no-store')
          .json({ ...(await workspaces.catalogue()), headers: { ...forms, [SPACE]: SPACE_FORM } });
        return;
      case '/sandbox/reset':
        assertMethod(request, response, ['POST']);
        workspaces.reset(spaceOf(request));
        setCommonHeaders(response);
        response.status(204).end();
        return;
      default:
        await answer(request, response, next);
    }
  };
};
