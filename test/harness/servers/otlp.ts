import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

// A collector of OpenTelemetry's, as far as traces go: it takes them by OTLP/HTTP and reads the protobuf by its definitions
// (opentelemetry-proto, 1.x), with nothing of those who wrote it.

/** A field of a message: its name, and what it is. A message is its fields, by their numbers. */
type Field = [name: string, type: 'text' | 'hex' | 'number' | 'time' | 'flag' | Message, isList?: true];
interface Message {
  [number: number]: Field;
}
type Read = Record<string, unknown>;

const VALUE: Message = { 1: ['text', 'text'], 2: ['flag', 'flag'], 3: ['number', 'number'] };
const ATTRIBUTE: Message = { 1: ['key', 'text'], 2: ['value', VALUE] };
const EVENT: Message = { 1: ['time', 'time'], 2: ['name', 'text'], 3: ['attributes', ATTRIBUTE, true] };
const STATUS: Message = { 2: ['message', 'text'], 3: ['code', 'number'] };
const SPAN: Message = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'number'],
  7: ['start', 'time'],
  8: ['end', 'time'],
  9: ['attributes', ATTRIBUTE, true],
  11: ['events', EVENT, true],
  15: ['status', STATUS],
};
const SCOPE_SPANS: Message = { 2: ['spans', SPAN, true] };
const RESOURCE: Message = { 1: ['attributes', ATTRIBUTE, true] };
const RESOURCE_SPANS: Message = { 1: ['resource', RESOURCE], 2: ['scopes', SCOPE_SPANS, true] };
const REQUEST: Message = { 1: ['resources', RESOURCE_SPANS, true] };

const varint = (bytes: Buffer, at: number): [value: bigint, next: number] => {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n, at += 1) {
    const byte = bytes[at];
    if (byte === undefined) throw new Error('the message ends within a number');
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at + 1];
  }
};

const valueOf = (type: Field[1], raw: bigint | Buffer): unknown => {
  if (typeof raw === 'bigint') return type === 'time' ? raw : type === 'flag' ? raw === 1n : Number(raw);
  if (typeof type === 'object') return read(type, raw);
  return type === 'hex' ? raw.toString('hex') : raw.toString();
};

/** A message of protobuf; fields that it is not told of are passed over. */
const read = (message: Message, bytes: Buffer): Read => {
  const found: Read = {};
  for (let at = 0; at < bytes.length;) {
    const [tag, begin] = varint(bytes, at);
    const wire = Number(tag & 7n);
    let raw: bigint | Buffer;
    if (wire === 0) [raw, at] = varint(bytes, begin);
    else if (wire === 1) [raw, at] = [bytes.readBigUInt64LE(begin), begin + 8];
    else if (wire === 5) [raw, at] = [BigInt(bytes.readUInt32LE(begin)), begin + 4];
    else {
      const [length, from] = varint(bytes, begin);
      at = from + Number(length);
      if (wire !== 2 || at > bytes.length) throw new Error('this is no protobuf');
      raw = bytes.subarray(from, at);
    }
    const field = message[Number(tag >> 3n)];
    if (!field) continue;
    const [name, type, isList] = field;
    const value = valueOf(type, raw);
    if (isList) ((found[name] ??= []) as unknown[]).push(value);
    else found[name] = value;
  }
  return found;
};

type Attributes = Record<string, string | number | boolean>;

const attributesOf = (list: unknown): Attributes =>
  Object.fromEntries(
    ((list ?? []) as { key: string; value: Read }[]).map(({ key, value }) => [key, Object.values(value)[0]]),
  ) as Attributes;

export interface Span {
  traceId: string;
  spanId: string;
  /** Empty for the first one of a trace. */
  parentId: string;
  traceState: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'other';
  /** In nanoseconds since 1970. */
  start: bigint;
  end: bigint;
  attributes: Attributes;
  events: string[];
  status: 'unset' | 'ok' | 'error';
  /** What it says besides, which is to be nothing. */
  statusMessage: string;
  resource: Attributes;
}

const KINDS = ['other', 'internal', 'server', 'client'] as const;
const STATUSES = ['unset', 'ok', 'error'] as const;

const spanOf = (span: Read, resource: Attributes): Span => {
  const { code = 0, message = '' } = (span['status'] ?? {}) as { code?: number; message?: string };
  return {
    ...(span as unknown as Pick<Span, 'traceId' | 'spanId' | 'name' | 'start' | 'end'>),
    parentId: (span['parentId'] ?? '') as string,
    traceState: (span['traceState'] ?? '') as string,
    kind: KINDS[span['kind'] as number] ?? 'other',
    attributes: attributesOf(span['attributes']),
    events: ((span['events'] ?? []) as { name: string }[]).map(({ name }) => name),
    status: STATUSES[code] ?? 'unset',
    statusMessage: message,
    resource,
  };
};

const spansOf = (body: Buffer): Span[] => {
  const { resources = [] } = read(REQUEST, body) as { resources?: Read[] };
  return resources.flatMap(({ resource, scopes }) => {
    const about = attributesOf((resource as Read)['attributes']);
    return (scopes as { spans: Read[] }[]).flatMap(({ spans }) => spans.map((span) => spanOf(span, about)));
  });
};

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  spans: Span[];
  /** The bodies as they came, unpacked. */
  bodies: Buffer[];
  /** The headers of the requests. */
  headers: Record<string, unknown>[];
  close(): Promise<void>;
}

/** Starts a collector. One that is `silent` takes what is sent, and never answers. */
export const startCollector = async ({ isSilent = false } = {}): Promise<Collector> => {
  const [spans, bodies, headers]: [Span[], Buffer[], Record<string, unknown>[]] = [[], [], []];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    headers.push(request.headers);
    bodies.push(body);
    if (isSilent) return;
    const isRight =
      request.method === 'POST' &&
      request.url === '/v1/traces' &&
      request.headers['content-type'] === 'application/x-protobuf';
    if (isRight) spans.push(...spansOf(body));
    // An answer that has taken all is an empty message.
    response.writeHead(isRight ? 200 : 400, { 'Content-Type': 'application/x-protobuf' }).end();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    headers,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
