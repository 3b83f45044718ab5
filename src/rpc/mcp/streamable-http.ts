/** The protocol over HTTP, without sessions: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
import type { IncomingHttpHeaders } from 'node:http';
import {
  createMcpHandler,
  isLegacyRequest,
  type JSONRPCMessage,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Calls } from '../call.ts';
import type { RpcContext } from '../context.ts';
import { serverFactory, withArguments } from './server.ts';
import type { BeginRequest } from './tool-calls.ts';

/** The SDK ignores the URL. */
const ANYWHERE = 'http://localhost/mcp';

/** A request for the SDK: with the headers of the protocol, and accepting any answer, since all are JSON. */
const requestOf = (headers: IncomingHttpHeaders): Request => {
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

/**
 * Answers each message by a server of its own. Protocol revisions from 2026 on need no handshake; earlier ones have
 * one, of which nothing is stored. `message` is the parsed body of a POST.
 */
export const streamableHttp = (calls: Calls, context: Pick<RpcContext, 'config' | 'log'>) => {
  const serverFor = serverFactory(calls, context);
  const onerror = (error: Error): void => context.log.debug({ err: error }, 'MCP');

  return async (headers: IncomingHttpHeaders, message: object, begin: BeginRequest): Promise<Response> => {
    const request = requestOf(headers);
    const parsedBody = withArguments(message as JSONRPCMessage);
    if (!(await isLegacyRequest(request, parsedBody))) {
      // No client can subscribe to anything.
      const options = { legacy: 'reject', maxSubscriptions: 0, onerror } as const;
      const { fetch: answer } = createMcpHandler(() => serverFor(begin), options);
      return answer(request, { parsedBody });
    }
    const server = serverFor(begin);
    try {
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      return await transport.handleRequest(request, { parsedBody });
    } finally {
      await server.close();
    }
  };
};
