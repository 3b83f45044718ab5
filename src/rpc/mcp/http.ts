import type { Request, RequestHandler, Response } from 'express';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';
import type { Calls } from '../call.ts';
import { parseJson } from '../payload.ts';
import type { RpcContext } from '../procedures.ts';
import type { BodyReader } from '../../http/message/body.ts';
import { asJsonRpc, errorDocs, failureOf, sendFailure } from '../../http/message/failures.ts';
import { assertJson, assertMethod } from '../../http/middleware/preconditions.ts';
import { sendJson, setCommonHeaders } from '../../http/message/reply.ts';
import type { RequestState } from '../../http/message/request-state.ts';
import { bodyLimitFor, idOf } from './tools.ts';
import type { McpRequest } from './tool-calls.ts';

/** The other methods are for sessions and streams, which this transport lacks. */
const METHODS = ['POST'];

/** Refusals that only this protocol demands, and that have no reason in the API. */
const refusals = {
  host: {
    status: 403,
    error: {
      code: -32003,
      message: 'The header `Host` must name localhost, or the host of PUBLIC_URL, which the operator sets.',
    },
  },
  origin: {
    status: 403,
    error: {
      code: -32003,
      message: 'Scripts of this origin may not call: the operator has not listed it in CORS_ORIGINS.',
    },
  },
  list: {
    status: 400,
    error: { code: -32600, message: 'Send one message in a request, not a list of them.' },
  },
} as const;

/** An address that reaches only this machine. */
const LOOPBACK_ADDRESS = /^(?:(?:::ffff:)?127\.|::1$)/;
/** A name that resolves to this machine everywhere. */
const LOOPBACK_NAME = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The host name in a URL; empty for none. */
const hostnameIn = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');

/** A message before validation. */
interface Loose {
  id?: unknown;
  method?: unknown;
  params?: { name?: unknown } | null;
}

/** The id of the answer; null if the message has none. */
const messageIdOf = ({ id }: Loose): string | number | null =>
  typeof id === 'string' || typeof id === 'number' ? id : null;

/** The procedure that a message calls, if any. */
const procedureOf = ({ method, params }: Loose): string | undefined =>
  method === 'tools/call' && typeof params?.name === 'string' ? idOf(params.name) : undefined;

const refuse = (response: Response, { status, error }: (typeof refusals)[keyof typeof refusals]): void =>
  sendJson(response, status, JSON.stringify({ jsonrpc: '2.0', id: null, error }));

/**
 * The Model Context Protocol over HTTP. Each POST carries one message, and is answered in JSON. The transport is
 * stateless, so that any worker may answer.
 */
export const mcpTransport = (calls: Calls, bodies: BodyReader, context: RpcContext): RequestHandler => {
  const { config, protection, log } = context;
  const { overload } = protection;
  const failureContext = { log, docs: errorDocs(config) };
  /** Loaded on demand: the SDK loads slowly, and many services do not need it. */
  const load = async () => (await import('./server.ts')).streamableHttp(calls, context);
  let loading: ReturnType<typeof load> | undefined;

  const publicUrl = config.publicUrl === undefined ? undefined : new URL(config.publicUrl);

  /**
   * Returns the header that identifies a page without the right to call, as the protocol demands. A page of any site
   * can make its name resolve to this machine (DNS rebinding). Behind a proxy, the proxy must check the name.
   */
  const suspicious = ({ headers: { host, origin }, socket }: Request): 'host' | 'origin' | undefined => {
    const isDirect = config.trustProxy === 0 && LOOPBACK_ADDRESS.test(socket.localAddress ?? '');
    const name = hostnameIn(`http://${host}`);
    if (isDirect && !LOOPBACK_NAME.test(name) && name !== publicUrl?.hostname) return 'host';
    if (origin === undefined || config.corsOrigins.includes(origin) || origin === publicUrl?.origin) return undefined;
    if (LOOPBACK_NAME.test(name) && origin === `http://${host}`) return undefined;
    const isAny = config.corsOrigins.includes('*') && (!isDirect || LOOPBACK_NAME.test(hostnameIn(origin)));
    return isAny ? undefined : 'origin';
  };

  const requestOf = (state: RequestState, { socket }: Request): McpRequest => ({
    state,
    onFailure: (reason) => {
      state.reason = reason;
      return reason === 'OVERLOADED' ? overload.retries.turn(socket, refusalCost.late) : undefined;
    },
  });

  return async (request, response) => {
    const { state } = response.locals;
    let message: Loose = {};
    calls.showRateLimits(state);
    try {
      const refused = suspicious(request);
      if (refused !== undefined) return refuse(response, refusals[refused]);
      assertMethod(request, response, METHODS);
      assertJson(request, response);
      state.expectCalls(request, response, config);
      const caller = await calls.identify(state);
      const text = await bodies.read(request, bodyLimitFor(caller?.key.scopes ?? []));
      state.deadline.restart();
      const body = parseJson(text);
      const isList = Array.isArray(body);
      if (!isList) message = Object(body);
      const procedure = procedureOf(message);
      if (procedure === undefined) await calls.charge(state);
      else state.procedure = procedure;
      if (isList) return refuse(response, refusals.list);
      const exchange = await (loading ??= load());
      const answer = await exchange(request.headers, message, () => requestOf(state, request));
      const answered = await answer.text();
      if (answered !== '') return sendJson(response, answer.status, answered);
      setCommonHeaders(response);
      response.status(answer.status).end();
    } catch (error) {
      const { requestId, traceId } = state;
      const failure = failureOf(error, { procedure: undefined, requestId, traceId }, failureContext);
      sendFailure(response, failure, (body) => asJsonRpc(body, messageIdOf(message)));
    }
  };
};
