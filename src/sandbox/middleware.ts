import type { Express, Request, RequestHandler, Response } from 'express';
import { holdsKey } from '../../contract/index.ts';
import type { Workspaces } from './workspaces.ts';
import type { Context } from '../app/context.ts';
import { AppError } from '../base/errors.ts';
import { type ErrorDocs, errorDocs } from '../http/message/failures.ts';
import { assertMethod } from '../http/middleware/preconditions.ts';
import { setCommonHeaders } from '../http/message/reply.ts';
import {
  asksForFaults,
  delay,
  failBefore,
  failLater,
  faultOf,
  faultPlanOf,
  forms,
  nameFault,
} from './fault-injection.ts';
import { createApp, transports } from '../app/app.ts';
import { callOf, type DrawnFault, PreviewedBodies, watchReply } from './seeded-faults.ts';

/** The service as an Express app whose calls are answered in the spaces of a sandbox. */
export const createSandboxApp = (c: Context, workspaces: Workspaces): Express => {
  const bodies = new PreviewedBodies();
  const options = { docs: errorDocs(c.config), seed: c.config.sandboxSeed ?? null, bodies };
  return createApp(
    c,
    sandbox(workspaces, (workspace) => transports(bodies, workspace), options),
  );
};

interface SandboxOptions {
  docs: ErrorDocs;
  /** The seed of the random faults, null for none. */
  seed: number | null;
  bodies: PreviewedBodies;
}

const SPACE = 'X-Sandbox-Space';
const SPACE_NAME = /^[\w.:-]{1,64}$/;
const SPACE_FORM = '1 to 64 letters, digits and _ . : -, and no API key';

const spaceOf = (request: Request): string | undefined => {
  const name = request.get(SPACE);
  if (name === undefined || (SPACE_NAME.test(name) && !holdsKey(name))) return name;
  throw new AppError('BAD_HTTP_REQUEST', { hint: `${SPACE} takes ${SPACE_FORM}.` });
};

/** Resolves when a request is over. */
const over = (response: Response): Promise<void> =>
  new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', resolve);
  });

/**
 * Answers a request in the space that it names, with the service that `serve` makes for that space, and injects the
 * faults that it asks for. `GET /sandbox` returns the contents, `GET /sandbox/faults` the faults that the seed has
 * caused in a space, and `POST /sandbox/reset` resets a space.
 */
export const sandbox = (
  workspaces: Workspaces,
  serve: (context: Context) => RequestHandler,
  { docs, seed, bodies }: SandboxOptions,
): RequestHandler => {
  const services = new WeakMap<Context, RequestHandler>();
  const serviceOf = (context: Context): RequestHandler => {
    const known = services.get(context);
    if (known) return known;
    const made = serve(context);
    services.set(context, made);
    return made;
  };

  /** The fault that the seed gives to a request, if it is a call that asks for none itself. */
  const drawFor = async (request: Request, space: string | undefined): Promise<DrawnFault | undefined> => {
    const call = seed === null || asksForFaults(request) ? undefined : await callOf(request, bodies);
    return call && workspaces.within(space, async ({ seeded }) => seeded?.meet(call));
  };

  const answer: RequestHandler = async (request, response, next) => {
    const name = spaceOf(request);
    const demand = faultPlanOf(request);
    await delay(response, demand.delayMs);
    if (response.destroyed) return;
    // A request that waits or fails before its execution needs no space, unless its attempts are counted there.
    const { faults, name: counted } = demand;
    const attempt =
      counted === undefined ? 1 : await workspaces.within(name, async (workspace) => workspace.countAttempt(counted));
    const drawn = await drawFor(request, name);
    const fault = faultOf(faults, attempt) ?? drawn?.fault;
    if (fault) nameFault(response, fault);
    if (fault?.place === 'before' && !(await failBefore(request, response, fault, docs))) return;
    await workspaces.within(name, async ({ context }) => {
      if (fault && fault.place !== 'before') failLater(request, response, fault, docs);
      if (drawn?.onReply) watchReply(response, drawn.onReply);
      const ended = over(response);
      await serviceOf(context)(request, response, next);
      await ended;
    });
  };

  /** Tells the contents: to programs as JSON; to browsers as a page, by the site. */
  const tell: RequestHandler = async (request, response, next) => {
    const contents = { ...(await workspaces.catalogue()), seed, headers: { ...forms, [SPACE]: SPACE_FORM } };
    response.set('Cache-Control', 'no-store').vary('Accept');
    if (request.accepts(['json', 'html']) === 'html') {
      response.locals['sandbox'] = contents;
      await answer(request, response, next);
      return;
    }
    setCommonHeaders(response);
    response.json(contents);
  };

  return async (request, response, next) => {
    switch (request.path) {
      case '/sandbox':
        assertMethod(request, response, ['GET', 'HEAD']);
        await tell(request, response, next);
        return;
      case '/sandbox/faults': {
        assertMethod(request, response, ['GET', 'HEAD']);
        const faults = await workspaces.within(spaceOf(request), async ({ seeded }) => seeded?.list() ?? []);
        setCommonHeaders(response);
        response.set('Cache-Control', 'no-store').json({ seed, faults });
        return;
      }
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
