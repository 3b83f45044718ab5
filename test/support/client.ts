import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ProcedureId } from './app.ts';

/** How a call ended. */
export type Ending =
  | { kind: 'answered'; status: number; retryAfter: string | undefined; headers: IncomingHttpHeaders; text: string }
  /** The connection failed before an answer began, or within it. */
  | { kind: 'refused' | 'broken' | 'half'; code: string };

/** A caller on one kept-alive connection, which sees what becomes of it. */
export interface Client {
  get(path: string): Promise<Ending>;
  call(id: ProcedureId, input: unknown, headers?: Record<string, string>): Promise<Ending>;
  close(): void;
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

/** A client of the service at `base`, with a key or without. */
export const openClient = (base: string, key?: string): Client => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body = '',
    more: Record<string, string> = {},
  ): Promise<Ending> => {
    const sent = request(base + path, {
      method,
      agent,
      headers: {
        ...(body !== '' && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...more,
      },
    });
    sent.end(body);
    let response: IncomingMessage;
    try {
      [response] = (await once(sent, 'response')) as [IncomingMessage];
    } catch (error) {
      const code = codeOf(error);
      return { kind: code === 'ECONNREFUSED' ? 'refused' : 'broken', code };
    }
    try {
      const { statusCode = 0, headers } = response;
      const retryAfter = headers['retry-after'];
      return { kind: 'answered', status: statusCode, retryAfter, headers, text: await text(response) };
    } catch (error) {
      return { kind: 'half', code: codeOf(error) };
    }
  };

  return {
    get: (path) => send('GET', path),
    call: (id, input, headers) => send('POST', `/api/trpc/${id}`, JSON.stringify({ json: input }), headers),
    close: () => agent.destroy(),
  };
};
