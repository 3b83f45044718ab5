import type { Random } from '../../../src/sandbox/seed/random.ts';
import type { Request } from './corpus.ts';

// Requests as bytes: as they should go over the wire, and as they should not.

const END = '\r\n\r\n';

/** A request as it goes over the wire. The names of its headers are written as they stand. */
const written = ({ method, target, headers, body }: Request, framing: string, framed: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `${method} ${target} HTTP/1.1\r\n${[['Host', 'gateway.test'], ...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')}${framing}\r\n`,
      'latin1',
    ),
    body.length > 0 || framing !== '' ? framed : Buffer.alloc(0),
  ]);

/** A body in chunks of any length, with extensions and trailers, as RFC 9112 allows. */
const chunked = (random: Random, body: Buffer): Buffer => {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const length = Math.min(body.length - at, random.pick([1, 7, 100, 5000, body.length]));
    const extension = random.chance(0.1) ? ';a="b;c"' : '';
    const size = random.chance(0.2) ? length.toString(16).toUpperCase().padStart(6, '0') : length.toString(16);
    parts.push(Buffer.from(`${size}${extension}\r\n`), body.subarray(at, at + length), Buffer.from('\r\n'));
    at += length;
    // Few chunks of one byte: they are much work for little.
    if (parts.length > 60) {
      parts.push(Buffer.from(`${(body.length - at).toString(16)}\r\n`), body.subarray(at), Buffer.from('\r\n'));
      if (at === body.length) parts.splice(-3);
      break;
    }
  }
  parts.push(Buffer.from(random.chance(0.1) ? '0\r\nX-Trailer: 1\r\n\r\n' : '0\r\n\r\n'));
  return Buffer.concat(parts);
};

/** A request as it should go over the wire. */
export const wellFramed = (random: Random, request: Request): Buffer => {
  const { method, body } = request;
  if (random.chance(0.15)) return written(request, 'Transfer-Encoding: chunked\r\n', chunked(random, body));
  const isBare = body.length === 0 && method !== 'POST';
  return written(request, isBare ? '' : `Content-Length: ${body.length}\r\n`, body);
};

type Change = (random: Random, bytes: Buffer) => Buffer;

const randomBytes = (random: Random, length: number): Buffer =>
  Buffer.from(Uint32Array.from({ length: Math.ceil(length / 4) }, () => random.nextUint32()).buffer).subarray(
    0,
    length,
  );

/** Few bytes at a place, in place of others. */
const spliced = (bytes: Buffer, at: number, removed: number, inserted: Buffer | string): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(inserted as string, 'latin1'), bytes.subarray(at + removed)]);

/** A place in the bytes: mostly in the head, where more depends on each. */
const place = (random: Random, bytes: Buffer): number => {
  const headEnd = bytes.indexOf(END);
  return random.between(0, random.chance(0.7) && headEnd > 0 ? headEnd + 4 : bytes.length);
};

/** Changes the lines of the head; the body stays. */
const inHead =
  (change: (random: Random, lines: string[]) => string[]): Change =>
  (random, bytes) => {
    const end = bytes.indexOf(END);
    if (end === -1) return bytes;
    const lines = change(random, bytes.toString('latin1', 0, end).split('\r\n'));
    return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), bytes.subarray(end)]);
  };

const insertLine = (line: (random: Random) => string): Change =>
  inHead((random, lines) => lines.toSpliced(random.between(1, lines.length), 0, line(random)));

const withoutFraming = (lines: string[]): string[] =>
  lines.filter((line) => !/^(content-length|transfer-encoding):/i.test(line));

/** Says another length, or another coding, than the body has. */
const reframed = (framing: (length: number) => readonly string[]): Change => {
  return (random, bytes) => {
    const length = bytes.length - bytes.indexOf(END) - END.length;
    return inHead((_, lines) => [...withoutFraming(lines), ...framing(length)])(random, bytes);
  };
};

const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: smuggled.test\r\n\r\n';

const framings: readonly ((length: number) => readonly string[])[] = [
  (length) => [`Content-Length: ${Math.max(0, length - 5)}`],
  (length) => [`Content-Length: ${length + 1}`],
  (length) => [`Content-Length: ${length + 5000}`],
  () => ['Content-Length: 0'],
  () => ['Content-Length: -1'],
  (length) => [`Content-Length: +${length}`],
  (length) => [`Content-Length: 0x${length.toString(16)}`],
  (length) => [`Content-Length: ${length}, ${length}`],
  (length) => [`Content-Length: ${length}`, `Content-Length: ${length}`],
  (length) => [`Content-Length: ${length}`, 'Content-Length: 0'],
  (length) => [`Content-Length: ${length}e0`],
  (length) => [`Content-Length:${' '.repeat(500)}${length}`],
  () => ['Content-Length: 18446744073709551616'],
  () => ['Content-Length: 9007199254740993'],
  () => ['Content-Length: '],
  (length) => [`Content-Length: ${length}`, 'Transfer-Encoding: chunked'],
  (length) => ['Transfer-Encoding: chunked', `Content-Length: ${length}`],
  (length) => [`Content-Length: ${length}`, 'Transfer-Encoding: identity'],
  () => ['Transfer-Encoding: chunked'],
  () => ['Transfer-Encoding: identity'],
  () => ['Transfer-Encoding: chunked, identity'],
  () => ['Transfer-Encoding: gzip, chunked'],
  () => ['Transfer-Encoding: xchunked'],
  () => ['Transfer-Encoding : chunked'],
  () => ['Transfer-Encoding:\tchunked'],
  () => ['Transfer-Encoding: chunked', 'Transfer-Encoding: x'],
  () => ['X: y\nTransfer-Encoding: chunked'],
  () => ['X: y\rTransfer-Encoding: chunked'],
  () => [' Transfer-Encoding: chunked'],
  () => [],
];

/** Bodies that begin as chunks and go wrong. */
const chunks = [
  '5\r\nabc\r\n0\r\n\r\n',
  '2\r\n{}0\r\n\r\n',
  '2\n{}\n0\n\n',
  'g\r\n{}\r\n0\r\n\r\n',
  '-2\r\n{}\r\n0\r\n\r\n',
  '0x2\r\n{}\r\n0\r\n\r\n',
  'FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n',
  'FFFFFFFF\r\n{}',
  '2;\0\r\n{}\r\n0\r\n\r\n',
  `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  `0\r\n${'X: y\r\n'.repeat(3000)}\r\n`,
  '0\r\nX\r\n\r\n',
  '0\r\nX-Trailer: 1\r\nContent-Length: 5\r\n\r\n',
  '2\r\n{}\r\n0\r\n',
  '2\r\n{}\r\n',
  '0\r\n\r\nXYZ',
  `0\r\n\r\n${SMUGGLED}`,
];

const badChunks: Change = (random, bytes) => {
  const head = reframed(() => ['Transfer-Encoding: chunked'])(random, bytes);
  return Buffer.concat([head.subarray(0, head.indexOf(END) + END.length), Buffer.from(random.pick(chunks), 'latin1')]);
};

const requestLines = [
  'GET / HTTP/1.0',
  'GET /healthz HTTP/0.9',
  'GET /healthz',
  'GET  /healthz  HTTP/1.1',
  'GET\t/healthz\tHTTP/1.1',
  'get /healthz HTTP/1.1',
  'GET /healthz HTTP/1.2',
  'GET /healthz HTTP/2.0',
  'GET /healthz HTTP/1.10',
  'GET /healthz http/1.1',
  'GET /healthz ICE/1.0',
  'GET /healthz HTTP/1.1 ',
  'GET healthz HTTP/1.1',
  'GET /a#b HTTP/1.1',
  'GET /\u0080\u00ff HTTP/1.1',
  'GET /a\0b HTTP/1.1',
  'GET * HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'CONNECT gateway.test:80 HTTP/1.1',
  'CONNECT /api/trpc/game.list HTTP/1.1',
  'POST http://gateway.test/api/trpc/game.list HTTP/1.1',
  'GET http://gateway.test HTTP/1.1',
  'GET http://xn--a/ HTTP/1.1',
  'GET http://[ HTTP/1.1',
  'GET http://[::1]:x/ HTTP/1.1',
  'GET http://a:b@c:1:2/ HTTP/1.1',
  'GET http:///healthz HTTP/1.1',
  'GET https://%00/healthz HTTP/1.1',
  'GET ftp://x HTTP/1.1',
  'GET javascript://x/ HTTP/1.1',
  'GET //healthz HTTP/1.1',
  'GET /\\evil.test HTTP/1.1',
  'PRI * HTTP/2.0',
  'SOURCE / ICE/1.0',
  'BREW /pot HTCPCP/1.0',
  `GET /${'x'.repeat(20_000)} HTTP/1.1`,
  `${'X'.repeat(20_000)} / HTTP/1.1`,
];

const headerLines: readonly ((random: Random) => string)[] = [
  () => 'Host: other.test',
  () => 'Host:',
  () => 'Authorization: Bearer x',
  () => 'Content-Type: text/plain',
  () => 'Content-Encoding: gzip',
  () => 'Connection: upgrade\r\nUpgrade: websocket',
  () => 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
  () => 'Connection: close, keep-alive',
  () => 'Connection: keep-alive\r\nKeep-Alive: timeout=99999999999999999999',
  () => 'Expect: 200-maybe',
  () => 'X-Request-Id: one\r\nX-Request-Id: two',
  () => 'Colonless',
  () => ': nameless',
  () => ' folded: x',
  () => 'Spaced : x',
  () => 'X-Null: a\0b',
  () => 'X-Return: a\rb',
  () => 'X-Feed: a\nX-More: b',
  () => 'X-\u00ff: \u0080\u00ff',
  () => `X-Long: ${'x'.repeat(20_000)}`,
  () => `X-${'x'.repeat(20_000)}: long`,
  () => Array.from({ length: 1500 }, (_, n) => `X-${n}: y`).join('\r\n'),
  () => 'X: y\r\n'.repeat(3000).trimEnd(),
  (random) => randomBytes(random, 40).toString('latin1'),
];

const foreign = [
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n',
  'SSH-2.0-OpenSSH_9.2\r\n',
  '*1\r\n$4\r\nPING\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  '\r\n'.repeat(5000),
  '\0'.repeat(100),
  '\n\n',
  'G',
  '',
];

const changes: readonly Change[] = [
  // A bit, a byte, a few bytes.
  (random, bytes) => {
    const copy = Buffer.from(bytes);
    const at = place(random, bytes);
    if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.between(0, 7));
    return copy;
  },
  (random, bytes) => spliced(bytes, place(random, bytes), 0, randomBytes(random, random.between(1, 4))),
  (random, bytes) => spliced(bytes, place(random, bytes), random.between(1, 20), ''),
  (random, bytes) =>
    spliced(bytes, place(random, bytes), 1, random.pick(['\r', '\n', '\0', ' ', ':', '\r\n', '\r\n\r\n', '\t'])),
  (random, bytes) => {
    const at = place(random, bytes);
    return spliced(bytes, at, 0, bytes.subarray(at, at + random.between(1, 200)));
  },
  // Lines.
  inHead((random, lines) => lines.with(0, random.pick(requestLines))),
  inHead((random, lines) => lines.with(0, `${random.pick(requestLines).split(' ')[0] ?? ''} ${lines[0] ?? ''}`)),
  inHead((random, lines) => [...lines, random.pick(lines)]),
  inHead((random, lines) => lines.toSpliced(random.between(0, lines.length - 1), 1)),
  inHead((_, lines) => lines.filter((line) => !line.startsWith('Host:'))),
  inHead((_, [first = '', ...lines]) => [first, ...lines.toReversed()]),
  (random, bytes) =>
    Buffer.from(bytes.toString('latin1').replaceAll('\r\n', random.pick(['\n', '\r', '\n\r', '\r\r\n'])), 'latin1'),
  (random, bytes) => insertLine(random.pick(headerLines))(random, bytes),
  // Where the request ends.
  (random, bytes) => reframed(random.pick(framings))(random, bytes),
  (random, bytes) => reframed(random.pick(framings))(random, bytes),
  badChunks,
  (_, bytes) => Buffer.concat([bytes, Buffer.from(SMUGGLED)]),
  (random, bytes) => bytes.subarray(0, place(random, bytes)),
  // Something else altogether.
  (random) => randomBytes(random, random.pick([1, 10, 300, 3000])),
  (random, bytes) =>
    Buffer.concat([Buffer.from(random.pick(foreign), 'latin1'), bytes.subarray(0, random.pick([0, bytes.length]))]),
];

/** The bytes of a request, changed so that nobody can tell how many requests they are, if any. */
export const mangled = (random: Random, bytes: Buffer): Buffer => {
  let wild = bytes;
  for (let n = random.pick([1, 1, 1, 2, 3]); n > 0; n -= 1) wild = random.pick(changes)(random, wild);
  return wild;
};
