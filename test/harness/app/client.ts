import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { clearTimeout, setTimeout } from '../../../src/base/runtime.ts';
import type { ProcedureId } from './app.ts';

/** How a call ended. */
export type Ending =
  | {
      kind: 'answered';
      status: number;
      retryAfter: string | undefined;
      headers: IncomingHttpHeaders;
      text: string;
    }
  /** The connection failed before an answer began, or within it; or none was complete in time. */
  | { kind: 'refused' | 'broken' | 'half' | 'late'; code: string };

/** A caller on one kept-alive connection, which sees what becomes of it. */
export interface Client {
  get(path: string): Promise<Ending>;
  call(id: ProcedureId, input: unknown, headers?: Record<string, string>): Promise<Ending>;
  /** Calls several procedures in one batch. */
  batch(calls: readonly [ProcedureId, unknown][], headers?: Record<string, string>): Promise<Ending>;
  close(): void;
}

interface Options {
  /** How long it waits for an answer; without end, if not given. */
  patienceMs?: number;
  /** Opens its connection (default: to the address). */
  connect?: () => Duplex;
}

const TOO_LATE = 'TOO_LATE';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

const kindOf = (code: string, otherwise: 'broken' | 'half') => {
  if (code === TOO_LATE) return 'late';
  return code === 'ECONNREFUSED' ? 'refused' : otherwise;
};

/** A client of the service at `base`, with a key or without. */
export const openClient = (base: string, key?: string, { patienceMs, connect }: Options = {}): Client => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  if (connect) agent.createConnection = connect;

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body = '',
    headers: Record<string, string> = {},
  ): Promise<Ending> => {
    const sent = request(base + path, {
      method,
      agent,
      headers: {
        ...(body !== '' && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
    // It may fail within its answer, of which the reader of the answer is told.
    sent.on('error', () => undefined);
    const giveUp = (): void => void sent.destroy(Object.assign(new Error('no answer in time'), { code: TOO_LATE }));
    const late = patienceMs === undefined ? undefined : setTimeout(giveUp, patienceMs);
    sent.end(body);
    let response: IncomingMessage | undefined;
    try {
      [response] = (await once(sent, 'response')) as [IncomingMessage];
      const answer = await text(response);
      const { statusCode = 0, headers: given } = response;
      return { kind: 'answered', status: statusCode, retryAfter: given['retry-after'], headers: given, text: answer };
    } catch (error) {
      const code = codeOf(error);
      return { kind: kindOf(code, response ? 'half' : 'broken'), code };
    } finally {
      clearTimeout(late);
    }
  };

  return {
    get: (path) => send('GET', path),
    call: (id, input, headers) => send('POST', `/api/trpc/${id}`, JSON.stringify({ json: input }), headers),
    batch: (calls, headers) => {
      const inputs = Object.fromEntries(calls.map(([, input], index) => [index, { json: input }]));
      return send('POST', `/api/trpc/${calls.map(([id]) => id).join(',')}?batch=1`, JSON.stringify(inputs), headers);
    },
    close: () => agent.destroy(),
  };
};

/** The reason of a refusal, or `ok`. */
export const reasonIn = (ending: Ending): string => {
  if (ending.kind !== 'answered') return `${ending.kind} ${ending.code}`;
  if (ending.status === 200) return 'ok';
  // Of something in between.
  if (!ending.headers['content-type']?.startsWith('application/json')) return `status ${ending.status}`;
  return (JSON.parse(ending.text) as { error: { json: { data: { reason: string } } } }).error.json.data.reason;
};
