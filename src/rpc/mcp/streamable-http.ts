/** The protocol over HTTP, without sessions: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
import {
  createMcpHandler,
  isLegacyRequest,
  type McpRequestContext,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Calls } from '../call.ts';
import type { RpcContext } from '../context.ts';
import { serverFactory } from './server.ts';
import type { McpSession } from './session.ts';

/** The message of a POST. */
export interface HttpMessage {
  /** The headers of the request, the names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, parsed. */
  body: unknown;
}

/** The answer to a message. */
export interface HttpAnswer {
  status: number;
  /** Empty for nothing. */
  text: string;
}

/** The SDK ignores the URL. */
const ANYWHERE = 'http://localhost/mcp';

/** A request for the SDK: with the headers of the protocol, and accepting any answer, since all are JSON. */
const requestOf = ({ headers }: HttpMessage): Request => {
  const protocol = Object.entries(headers).filter(([name]) => name.startsWith('mcp-'));
  return new Request(ANYWHERE, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...Object.fromEntries(protocol.map(([name, value]) => [name, String(value)])),
    },
  });
};

/** The session of a request, as the SDK passes it to the server factory. */
const sessionOf = ({ authInfo }: McpRequestContext): McpSession => authInfo?.extra?.['session'] as McpSession;

const answerLegacy = async (request: Request, body: unknown, server: Server): Promise<Response> => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody: body });
};

/**
 * Answers each message by a server of its own. Protocol revisions from 2026 on need no handshake; earlier ones have
 * one, of which nothing is stored.
 */
export const streamableHttp = (calls: Calls, context: Pick<RpcContext, 'config' | 'log'>) => {
  const serverFor = serverFactory(calls, context);
  const onerror = (error: Error): void => context.log.debug({ err: error }, 'MCP');
  const { fetch: answerModern } = createMcpHandler((about) => serverFor(sessionOf(about)), {
    legacy: 'reject',
    // There is nothing to subscribe to.
    maxSubscriptions: 0,
    onerror,
  });

  return async (message: HttpMessage, session: McpSession): Promise<HttpAnswer> => {
    const { body } = message;
    const request = requestOf(message);
    if (!(await isLegacyRequest(request, body))) {
      const authInfo = { token: '', clientId: '', scopes: [], extra: { session } };
      const response = await answerModern(request, { parsedBody: body, authInfo });
      return { status: response.status, text: await response.text() };
    }
    const server = serverFor(session);
    try {
      const response = await answerLegacy(request, body, server);
      return { status: response.status, text: await response.text() };
    } finally {
      await server.close();
    }
  };
};
