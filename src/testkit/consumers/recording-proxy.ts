import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type RequestOptions, type ServerResponse } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { operations, withoutKeys } from '../../../contract/index.ts';
import { inputPartsOf, markParts } from '../../consumers/use/parts.ts';
import { valueAt } from '../conformance/values.ts';
import type { ConsumerContract, Need } from '../../../contract/consumer-contract.ts';

/** Names the test that sends a request, percent-encoded. It is not passed on. */
const TEST_HEADER = 'test-name';
const CALLS = /^\/api\/trpc\/([\w.,]+)$/;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The envelopes of the calls of a request, with their operations. */
const callsOf = (url: URL, body: string): { id: string; envelope: unknown }[] => {
  const [, ids] = CALLS.exec(url.pathname) ?? [];
  if (ids === undefined) return [];
  const sent = parsed(body === '' ? (url.searchParams.get('input') ?? '') : body);
  if (!url.searchParams.has('batch')) return [{ id: ids, envelope: sent }];
  return ids.split(',').map((id, index) => ({ id, envelope: valueAt(sent, [String(index)]) }));
};

/** The reasons of the failures among the answers to a number of calls, by the places of these. */
const reasonsOf = (answer: string, calls: number): (string | undefined)[] => {
  const all = parsed(answer);
  const answers = Array.isArray(all) ? (all as unknown[]) : Array.from({ length: calls }, () => all);
  return answers.map((one) => {
    const reason = valueAt(one, ['error', 'json', 'data', 'reason']);
    return typeof reason === 'string' ? reason : undefined;
  });
};

/** The parts of a call's input, by the contract; undefined for an operation that it does not have. */
const partsOfCall = (id: string, envelope: unknown): string[] | undefined => {
  const operation = operations.find((one) => one.id === id);
  if (!operation) return undefined;
  const { names, root } = inputPartsOf(operation.route);
  const seen = new Uint8Array(names.length);
  markParts(root, valueAt(envelope, ['json']), seen);
  return names.filter((_, number) => seen[number] === 1);
};

const keyOf = ({ test, operation, sends }: Pick<Need, 'operation' | 'sends'> & { test?: string | undefined }): string =>
  JSON.stringify([test, operation, sends]);

/** Collects the needs of calls. Calls of one test that send the same members are one need. */
export class NeedRecorder {
  readonly #needs = new Map<string, Need>();

  /** Adds a call, and the reason if it failed. */
  add(test: string | undefined, id: string, envelope: unknown, reason: string | undefined): void {
    const sends = partsOfCall(id, envelope);
    if (!sends) return;
    const key = keyOf({ test, operation: id, sends });
    const { reasons } = this.#needs.get(key) ?? { reasons: [] };
    this.#needs.set(key, {
      operation: id,
      ...(test !== undefined && { test }),
      sends,
      reasons: [...new Set([...reasons, ...(reason === undefined ? [] : [reason])])].toSorted(),
    });
  }

  /** The needs in a fixed order, with what an earlier contract says of outputs. */
  needs(earlier: readonly Need[] = []): Need[] {
    const known = new Map(earlier.map((need) => [keyOf(need), need]));
    return [...this.#needs]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { operation, test, sends, reasons }]) => {
        const { reads, requires, decodes } = known.get(key) ?? {};
        return {
          operation,
          ...(test !== undefined && { test }),
          sends,
          ...(reads && { reads }),
          ...(requires && { requires }),
          ...(decodes && { decodes }),
          reasons,
        };
      });
  }
}

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

/** Passes a request on, and notes what its calls sent and how they failed. */
const pass = async (
  to: URL,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  recorder: NeedRecorder,
): Promise<void> => {
  const url = new URL(incoming.url ?? '/', to);
  const body = await buffer(incoming);
  const { [TEST_HEADER]: named, ...headers } = incoming.headers;
  for (const name of HOP_BY_HOP) delete headers[name];
  const options: RequestOptions = { method: incoming.method, headers: { ...headers, 'content-length': body.length } };
  const path = new URL(`${to.pathname.replace(/\/+$/, '')}${url.pathname}${url.search}`, to);
  const sent = (to.protocol === 'https:' ? requestSecurely : request)(path, options);
  sent.end(body);
  outgoing.on('close', () => sent.destroy());
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  for (const [name, value] of Object.entries(reply.headers)) {
    if (!HOP_BY_HOP.includes(name) && value !== undefined) outgoing.setHeader(name, value);
  }
  outgoing.writeHead(reply.statusCode ?? 502);
  const isJson = reply.headers['content-type']?.startsWith('application/json') ?? false;
  const chunks: Buffer[] = [];
  for await (const chunk of reply) {
    if (isJson) chunks.push(chunk as Buffer);
    outgoing.write(chunk);
  }
  const calls = callsOf(url, body.toString());
  const reasons = reasonsOf(Buffer.concat(chunks).toString(), calls.length);
  const test = typeof named === 'string' ? withoutKeys(decodeURIComponent(named)) : undefined;
  for (const [index, { id, envelope }] of calls.entries()) recorder.add(test, id, envelope, reasons[index]);
  outgoing.end();
};

/** A proxy that is running. */
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

/** The contract of a consumer, from what its tests sent. */
export const contractOf = (
  { consumer, contract }: Pick<ConsumerContract, 'consumer' | 'contract'>,
  recorder: NeedRecorder,
  earlier?: ConsumerContract,
): ConsumerContract => ({ consumer, contract, needs: recorder.needs(earlier?.needs) });
