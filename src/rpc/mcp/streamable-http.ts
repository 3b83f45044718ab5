/** The protocol over HTTP, without sessions: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
import {
  createMcpHandler,
  isLegacyRequest,
  type McpRequestContext,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { RpcPipeline } from '../pipeline.ts';
import type { RpcContext } from '../context.ts';
import { serverFactory } from './server.ts';
import type { McpSession } from './session.ts';

/** What comes by POST. */
export interface HttpMessage {
  /** The headers of the request, the names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, parsed. */
  body: unknown;
}

/** What is answered to it. */
export interface HttpAnswer {
  status: number;
  /** Empty for nothing. */
  text: string;
}

/** The SDK looks at the URL of no request. */
const ANYWHERE = 'http://localhost/mcp';

/** A request as the SDK takes it: with the headers of the protocol, and willing to take any answer, as ours are all JSON. */
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

/** Whose request it is, as the SDK hands it on to where servers are made. */
const sessionOf = ({ authInfo }: McpRequestContext): McpSession => authInfo?.extra?.['session'] as McpSession;

const answerLegacy = async (request: Request, body: unknown, server: Server): Promise<Response> => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody: body });
};

/**
 * Answers messages, each by a server of its own. Those of the revisions from 2026 on need no handshake; those before have
 * one, of which we keep nothing.
 */
export const streamableHttp = (calls: RpcPipeline, context: Pick<RpcContext, 'config' | 'log'>) => {
  const serverFor = serverFactory(calls, context);
  const onerror = (error: Error): void => context.log.debug({ err: error }, 'MCP');
  const { fetch: answerModern } = createMcpHandler((about) => serverFor(sessionOf(about)), {
    legacy: 'reject',
    // Their streams would have nothing to tell.
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
