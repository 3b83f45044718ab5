import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { isIPv4 } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { urlToHttpOptions } from 'node:url';
import { operations, withoutKeys, inputPartsOf, markParts } from '../../../contract/index.ts';
import { READ_LIMIT, redirectOf } from '../conformance/http/remote.ts';
import { widened } from './extremes.ts';
import { parsed } from '../conformance/http/client.ts';
import { valueAt } from '../conformance/values.ts';
import type { ConsumerContract, Need } from '../../../contract/consumer-contract.ts';

/** Names the test that sends a request, percent-encoded. The proxy does not pass it on. */
const TEST_HEADER = 'test-name';
/** The calls of a request: their operations, and its query. */
const CALLS = /^\/api\/trpc\/([\w.,]+)(?:\?(.*))?$/;

/** The envelopes of the calls of a request, with their operations. */
const callsOf = (target: string, body: string): { id: string; envelope: unknown }[] => {
  const [, ids, query] = CALLS.exec(target) ?? [];
  if (ids === undefined) return [];
  const parameters = new URLSearchParams(query);
  const sent = parsed(body === '' ? (parameters.get('input') ?? '') : body);
  if (!parameters.has('batch')) return [{ id: ids, envelope: sent }];
  return ids.split(',').map((id, index) => ({ id, envelope: valueAt(sent, [String(index)]) }));
};

/** The result of a call in a gateway's answer. */
interface Outcome {
  /** The reason of a failure. */
  reason?: string;
}

/** The results of a number of calls in a gateway's answer, by their places; undefined for any other answer. */
const outcomesOf = ({ statusCode, headers }: IncomingMessage, text: string, calls: number): (Outcome | undefined)[] => {
  const all = parsed(text);
  const answers = Array.isArray(all) ? (all as unknown[]) : Array.from({ length: calls }, () => all);
  return answers.map((one) => {
    const reason = valueAt(one, ['error', 'json', 'data', 'reason']);
    if (typeof reason === 'string') return { reason };
    const isStream = statusCode === 200 && headers['content-type']?.startsWith('text/event-stream');
    return isStream || valueAt(one, ['result', 'data', 'json']) !== undefined ? {} : undefined;
  });
};

/** The parts of a call's input, and a function to widen extremes by it; undefined for an unknown operation. */
const partsOfCall = (id: string, envelope: unknown) => {
  const operation = operations.find((one) => one.id === id);
  if (!operation) return undefined;
  const { route } = operation;
  const { names, root } = inputPartsOf(route);
  const seen = new Uint8Array(names.length);
  const input = valueAt(envelope, ['json']);
  markParts(root, input, seen);
  return {
    sends: names.filter((_, number) => seen[number] === 1),
    widen: (extremes: NonNullable<Need['extremes']>) => widened(extremes, route, names, input),
  };
};

const keyOf = ({ test, operation, sends }: Pick<Need, 'operation' | 'sends'> & { test?: string | undefined }): string =>
  JSON.stringify([test, operation, sends]);

/** Collects the needs of calls. Calls of one test with the same members become one need. */
export class NeedRecorder {
  readonly #needs = new Map<string, Need>();

  /** Adds a call, and the reason if it failed. */
  add(test: string | undefined, id: string, envelope: unknown, reason: string | undefined): void {
    const parts = partsOfCall(id, envelope);
    if (!parts) return;
    const { sends, widen } = parts;
    const key = keyOf({ test, operation: id, sends });
    const { reasons, extremes = {} } = this.#needs.get(key) ?? { reasons: [] };
    this.#needs.set(key, {
      operation: id,
      ...(test !== undefined && { test }),
      sends,
      extremes: widen(extremes),
      reasons: [...new Set([...reasons, ...(reason === undefined ? [] : [reason])])].toSorted(),
    });
  }

  /** The needs in a fixed order, with the outputs that an earlier contract names. */
  needs(earlier: readonly Need[] = []): Need[] {
    const known = new Map(earlier.map((need) => [keyOf(need), need]));
    return [...this.#needs]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { operation, test, sends, extremes = {}, reasons }]) => {
        const { reads, requires, decodes } = known.get(key) ?? {};
        return {
          operation,
          ...(test !== undefined && { test }),
          sends,
          ...(Object.keys(extremes).length > 0 && { extremes }),
          ...(reads && { reads }),
          ...(requires && { requires }),
          ...(decodes && { decodes }),
          reasons,
        };
      });
  }
}

/** Whether a request was meant for this machine: a page of another host could point its name at the proxy. */
const isForLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean => {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
};

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'host',
  'accept-encoding',
];

/**
 * Passes a request on, and records the inputs of its calls and their failures. The request determines only the part of
 * the address after the gateway's, and that as it is: resolving it could lead to another host.
 */
const pass = async (
  to: URL,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  recorder: NeedRecorder,
): Promise<void> => {
  const { url: target = '' } = incoming;
  if (!isForLoopback(incoming) || !target.startsWith('/')) {
    outgoing.writeHead(421).end('This proxy takes requests for 127.0.0.1 or localhost, with a path.\n');
    return;
  }
  const body = await buffer(incoming);
  const { [TEST_HEADER]: named, ...headers } = incoming.headers;
  for (const name of HOP_BY_HOP) delete headers[name];
  const sent = (to.protocol === 'https:' ? requestSecurely : request)({
    ...urlToHttpOptions(to),
    path: to.pathname.replace(/\/+$/, '') + target,
    method: incoming.method,
    headers: { ...headers, 'content-length': body.length },
  });
  sent.end(body);
  outgoing.on('close', () => sent.destroy());
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  const redirect = redirectOf(to.href, reply.statusCode ?? 0, reply.headers.location);
  // A page of the site may redirect, a call never does: its client would follow past this proxy.
  if (redirect !== undefined && CALLS.test(target)) throw new Error(redirect);
  for (const [name, value] of Object.entries(reply.headers)) {
    if (!HOP_BY_HOP.includes(name) && value !== undefined) outgoing.setHeader(name, value);
  }
  outgoing.writeHead(reply.statusCode ?? 502);
  const isJson = reply.headers['content-type']?.startsWith('application/json') ?? false;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (isJson && bytes <= READ_LIMIT) chunks.push(chunk);
    if (!outgoing.write(chunk)) await Promise.race([once(outgoing, 'drain'), once(outgoing, 'close')]);
  }
  const calls = callsOf(target, body.toString());
  const outcomes = outcomesOf(reply, Buffer.concat(chunks).toString(), calls.length);
  const test = typeof named === 'string' ? withoutKeys(decodeURIComponent(named)) : undefined;
  for (const [index, { id, envelope }] of calls.entries()) {
    const outcome = outcomes[index];
    if (outcome) recorder.add(test, id, envelope, outcome.reason);
  }
  outgoing.end();
};

/** A running proxy. */
export interface RecordingProxy {
  /** `http://127.0.0.1:<port>` */
  url: string;
  recorder: NeedRecorder;
  stop: () => Promise<void>;
}

/** Starts a proxy in front of the gateway at `to`, on a port of this machine; 0 takes a free one. */
export const startRecordingProxy = async (to: string, port: number): Promise<RecordingProxy> => {
  const recorder = new NeedRecorder();
  const server = createServer((incoming, outgoing) => {
    pass(new URL(to), incoming, outgoing, recorder).catch((error: unknown) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end(`The gateway at ${to} does not answer: ${(error as Error).message}\n`);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`,
    recorder,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

/** The contract of a consumer, from the calls of its tests. */
export const contractOf = (
  { consumer, contract }: Pick<ConsumerContract, 'consumer' | 'contract'>,
  recorder: NeedRecorder,
  earlier?: ConsumerContract,
): ConsumerContract => ({ consumer, contract, needs: recorder.needs(earlier?.needs) });
