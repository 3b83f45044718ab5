import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { connect } from 'node:net';

// HTTP as it is told: nothing is added, nothing put right.

export interface RawRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Without an announced length. */
  chunked?: boolean;
}

export interface RawReply {
  status: number;
  headers: IncomingHttpHeaders;
  /** Parsed where it is JSON, else the text. */
  body: unknown;
}

const replyOf = (status: number, headers: IncomingHttpHeaders, text: string): RawReply => {
  const isJson = headers['content-type']?.startsWith('application/json') && text !== '';
  return { status, headers, body: isJson ? JSON.parse(text) : text };
};

/** Sends a request on a connection of its own; `path` goes out as it stands. */
export const sendRaw = (
  server: string,
  path: string,
  { method = 'POST', headers = {}, body = '', chunked = false }: RawRequest = {},
): Promise<RawReply> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server);
    const framing = chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': Buffer.byteLength(body) };
    const options = { hostname, port, path, method, agent: false, headers: { ...framing, ...headers } };
    const request = httpRequest(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        resolve(replyOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString()));
      });
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(body);
  });

/** Writes a text to a connection and returns what comes back until the server closes it. */
export const writeRaw = (server: string, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server);
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (received += chunk));
    socket.once('close', () => resolve(received));
    socket.once('error', reject);
  });

/** The one reply that a text of HTTP holds, its body unchunked. */
export const parseReply = (text: string): RawReply => {
  const end = text.indexOf('\r\n\r\n');
  const [line = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = lines.map((header): [string, string] => {
    const colon = header.indexOf(':');
    return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
  });
  return replyOf(Number(line.split(' ')[1]), Object.fromEntries(headers), text.slice(end + 4));
};
