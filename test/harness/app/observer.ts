import { appendFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { contract } from '../../../contract/index.ts';
import { checkReply, reasonOf } from './published.ts';

const API = '/api/trpc/';
/** The status of a batch whose calls ended differently; each of them has one of its own. */
const statusOfCall = (body: unknown): number =>
  (body as { error?: { json: { data: { httpStatus: number } } } }).error?.json.data.httpStatus ?? 200;

const noted = new Set<string>();

/** Notes for coverage-reporter.mjs, which names the folder, that an operation of the document was seen to answer so. */
const note = (procedure: string, status: number, reason = 'ok'): void => {
  const line = `${procedure} ${status} ${reason}\n`;
  const { SEEN_REPLIES } = process.env;
  if (SEEN_REPLIES === undefined || noted.has(line)) return;
  noted.add(line);
  appendFileSync(join(SEEN_REPLIES, globalThis.TEST_ENGINE.name), line);
};

const check = (
  request: IncomingMessage,
  { statusCode: status }: ServerResponse,
  headers: OutgoingHttpHeaders,
  text: string,
): void => {
  const caching = String(headers['cache-control']);
  if (request.method === 'POST' && !caching.includes('no-store')) throw new Error(`Cache-Control is ${caching}`);
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  const type = String(headers['content-type']);
  if (!pathname.startsWith(API) || text === '' || !type.startsWith('application/json')) return;
  const procedure = pathname === contract.event.tail.path ? 'event.list' : pathname.slice(API.length);
  const body: unknown = JSON.parse(text);
  if (searchParams.get('batch') !== '1') {
    checkReply(procedure, { status, headers, body });
    // A tail fails as the list does.
    if (request.method === 'POST') note(procedure, status, reasonOf(body));
  } else if (Array.isArray(body)) {
    const procedures = procedure.replaceAll(/%2c/gi, ',').split(',');
    for (const [index, one] of body.entries()) {
      checkReply(procedures[index] ?? '', { status: statusOfCall(one), headers, body: one });
    }
  }
};

/** The headers that `writeHead` was given, in whichever form, beside those set before. */
const headersOf = (response: ServerResponse, given: unknown): OutgoingHttpHeaders => {
  const list = Array.isArray(given) ? (given as string[]) : Object.entries(given as object).flat();
  const names = list.filter((_, index) => index % 2 === 0);
  return {
    ...response.getHeaders(),
    ...Object.fromEntries(names.map((name, index) => [name.toLowerCase(), list[2 * index + 1]])),
  };
};

/** The app under observation: whatever it answers to calls of procedures is held against the published document, and no cache may keep a reply to POST. */
export interface Observed {
  listener: RequestListener;
  /** @throws Error that names each reply since the last call that was not as the document says */
  expectAsPublished(): void;
}

/** Puts an app under observation. Replies in JSON lines, which the document leaves out, are passed over. */
export const observe = (app: RequestListener): Observed => {
  let faults: string[] = [];
  return {
    listener: (request, response) => {
      const { url = '' } = request;
      let headers: OutgoingHttpHeaders = {};
      const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
      response.writeHead = (...args: unknown[]) => {
        headers = headersOf(response, args.at(-1));
        return writeHead(...args);
      };
      const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
      response.end = (...args: unknown[]) => {
        const [chunk] = args;
        const text = typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk.toString() : '';
        try {
          check(request, response, { ...response.getHeaders(), ...headers }, text);
        } catch (error) {
          faults.push(`${request.method} ${url}: ${(error as Error).message}`);
        }
        return end(...args);
      };
      app(request, response);
    },
    expectAsPublished: () => {
      const found = faults;
      faults = [];
      if (found.length > 0) throw new Error(found.join('\n'));
    },
  };
};
