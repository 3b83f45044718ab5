import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { MAX_BATCH_CALLS, type Procedure, procedures } from '../../../contract/index.ts';
import { sandboxKeys } from '../../../src/sandbox/sandbox.ts';
import { keyOfWord } from '../../../src/auth/format.ts';
import type { Random } from '../../../src/sandbox/seed/random.ts';
import { changed, changedString, hostileString, mangledText, meta, stringify } from './json.ts';

// Requests made from the contract, valid ones and such as are wrong in what they say. All are well-formed HTTP.

/** A request. Its body goes with a length or in chunks, as the writer sees fit. */
export interface Request {
  method: string;
  /** What stands between method and version. */
  target: string;
  headers: [name: string, value: string][];
  body: Buffer;
}

const API = '/api/trpc/';
const MIB = 1024 * 1024;

/** Of a header: several of them and a target still fit in a head. */
const LONGEST_VALUE = 2000;

const allScopes = sandboxKeys[0]?.key ?? '';
const unknownKey = keyOfWord('unknown');

/** Whom a request is from: mostly somebody who may do everything. */
const authorization = (random: Random): string | undefined => {
  const draw = random.fraction();
  if (draw < 0.62) return `Bearer ${allScopes}`;
  if (draw < 0.8) return undefined;
  if (draw < 0.9) return `Bearer ${random.pick(sandboxKeys).key}`;
  if (draw < 0.92) return `Bearer ${unknownKey}`;
  const mangled = changedString(
    random,
    random.pick([`Bearer ${allScopes}`, 'Basic dXNlcjpwdw==', 'Bearer', 'Bearer ']),
  );
  return mangled
    .replaceAll(/[^\t -~\u0080-\u00FF]/g, '')
    .trim()
    .slice(0, LONGEST_VALUE);
};

/** Words to search for: of the demo's records, and such as no index expects. */
const searches = ['伝説', 'ほし', 'ドラゴン', 'dragons', 'lighthouse', 'e', '星 丘'];
const searchOf = (random: Random): string => (random.chance(0.5) ? random.pick(searches) : hostileString(random));

/** Cursors: what callers make of them. `real` is one that the service gave. */
const cursor = (random: Random, real: string): string => {
  const junk = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return random.pick<() => string>([
    () => real,
    () => changedString(random, real),
    () => real.slice(0, random.between(0, real.length)),
    () => junk(changed(random, JSON.parse(Buffer.from(real, 'base64url').toString()))),
    () => junk(random.pick([null, [], {}, [[[]]], ['x'.repeat(12), 1, 'x'], { length: 4 }])),
    () => hostileString(random),
  ])();
};

/** An input as the procedure's example has it, with other words in it. */
const validInput = (random: Random, { name, example: { input } }: Procedure, realCursor: string): unknown => {
  const base = input as Record<string, unknown>;
  if (name === 'list') {
    return {
      limit: random.between(1, 5),
      page: random.between(1, 3),
      ...(random.chance(0.5) && { search: searchOf(random) }),
      ...(random.chance(0.3) && { tagSlugs: [random.pick(['dragons', 'rain', '长篇', hostileString(random)])] }),
      ...(random.chance(0.3) && { sortBy: random.pick(['latest', 'views', 'likes', 'oldest']) }),
      ...(random.chance(0.2) && { cursor: cursor(random, realCursor) }),
    };
  }
  if (name === 'search') return { ...base, query: searchOf(random) };
  if ('title' in base && random.chance(0.8)) return { ...base, title: changedString(random, String(base['title'])) };
  return base;
};

const inputOf = (random: Random, procedure: Procedure, realCursor: string): unknown => {
  let input = validInput(random, procedure, realCursor);
  const changes = random.pick([0, 0, 1, 1, 1, 2, 3]);
  for (let n = 0; n < changes; n += 1) input = changed(random, input);
  return input;
};

const envelope = (random: Random, input: unknown): unknown => {
  const draw = random.fraction();
  if (draw < 0.85) return { json: input };
  if (draw < 0.95) return { json: input, meta: meta(random) };
  return changed(random, { json: input });
};

const packers = {
  gzip: (body: Buffer) => gzipSync(body),
  deflate: (body: Buffer) => deflateSync(body),
  br: (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  compress: (body: Buffer) => deflateRawSync(body),
  identity: (body: Buffer) => Buffer.from(body),
};

const bombs = new Map<string, Buffer>();
/** Much more than any body may be, in few bytes. */
const bomb = (encoding: 'gzip' | 'deflate'): Buffer => {
  const made = bombs.get(encoding) ?? packers[encoding](Buffer.alloc(64 * MIB, ' '));
  bombs.set(encoding, made);
  return made;
};

/** The body, compressed, and how that is told: well or badly. */
const packed = (random: Random, body: Buffer): { body: Buffer; encoding: string } => {
  const encoding = random.pick(['gzip', 'deflate', 'br', 'compress', 'identity'] as const);
  if ((encoding === 'gzip' || encoding === 'deflate') && random.chance(0.03)) return { body: bomb(encoding), encoding };
  const good = packers[random.chance(0.9) ? encoding : 'gzip'](body);
  const cut = random.chance(0.2) ? good.subarray(0, random.between(0, good.length)) : good;
  if (random.chance(0.1) && cut.length > 0) cut[random.between(0, cut.length - 1)] = random.between(0, 255);
  return {
    body: cut,
    encoding: random.chance(0.9) ? encoding : changedString(random, encoding).replace(/[^ -~]/g, ''),
  };
};

const query = (random: Random, value: unknown): string => {
  const text = stringify(value);
  const wellFormed = encodeURIComponent(text.toWellFormed());
  if (random.chance(0.85)) return `input=${wellFormed}`;
  const at = random.between(0, wellFormed.length);
  return random.pick([
    `input=${wellFormed.slice(0, at)}%${wellFormed.slice(at)}`,
    `input=${wellFormed.slice(0, at)}%ff%00${wellFormed.slice(at)}`,
    `input=${wellFormed}&input=${wellFormed}`,
    `input[]=${wellFormed}`,
    `input=${wellFormed.slice(0, at)}`,
    `input=${text.replaceAll(/[^!-~]|#/g, '+')}`,
    `input`,
    `&&=&__proto__=1&input=${wellFormed}`,
  ]);
};

const POST_TYPE = 'application/json';
/** What fits in a request line beside all headers. */
const LONGEST_TARGET = 8000;

const post = (target: string, body: Buffer): Request => ({
  method: 'POST',
  target,
  headers: [['Content-Type', POST_TYPE]],
  body,
});

const get = (target: string): Request => ({
  method: 'GET',
  target: target.slice(0, LONGEST_TARGET),
  headers: [],
  body: Buffer.alloc(0),
});

const bodyOf = (random: Random, value: unknown): Buffer => {
  const text = stringify(value);
  return random.chance(0.06) ? mangledText(random, text) : Buffer.from(text);
};

const single = (random: Random, realCursor: string): Request => {
  const procedure = random.pick(procedures);
  const sent = envelope(random, inputOf(random, procedure, realCursor));
  const byGet = random.chance(procedure.effect === 'read' ? 0.4 : 0.05);
  return byGet ? get(`${API}${procedure.id}?${query(random, sent)}`) : post(API + procedure.id, bodyOf(random, sent));
};

const batch = (random: Random, realCursor: string): Request => {
  const length = random.chance(0.06)
    ? random.pick([MAX_BATCH_CALLS, MAX_BATCH_CALLS + 1])
    : random.pick([1, 2, 2, 3, 4]);
  const calls = Array.from({ length }, () => random.pick(procedures));
  const inputs = calls.map((procedure) => envelope(random, inputOf(random, procedure, realCursor)));
  const ids = calls.map(({ id }) =>
    random.chance(0.97) ? id : random.pick(['', 'game.steal', '__proto__', 'toString']),
  );
  const path = API + ids.join(random.pick([',', ',', '%2C', '%2c']));
  const all = random.chance(0.9) ? { ...inputs } : changed(random, { ...inputs });
  const made = random.chance(0.3)
    ? get(`${path}?batch=1&${query(random, all)}`)
    : post(`${path}?batch=1`, bodyOf(random, all));
  if (random.chance(0.25)) made.headers.push(['trpc-accept', 'application/jsonl']);
  return made;
};

const pages = [
  '/',
  '/docs',
  '/docs/',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/assets/swagger/swagger-ui.css',
  '/favicon.ico',
  API,
];

const anyRequest = (random: Random, realCursor: string): Request => {
  const draw = random.fraction();
  if (draw < 0.78) return single(random, realCursor);
  if (draw < 0.98) return batch(random, realCursor);
  return get(random.pick(pages));
};

const otherTarget = (random: Random, target: string): string => {
  const at = random.between(1, target.length);
  const text = random.pick([
    target.toUpperCase(),
    `${target}/`,
    target.replace('/', '//'),
    target.replace('.', '%2e'),
    target.replace('/trpc', '/trpc/../trpc'),
    target.replace('/trpc', '/./trpc'),
    target.replace('/api/', '/api%2F'),
    `${target}?batch=1`,
    `${target}?batch=1&batch=1`,
    `${target}?input=%7B%7D`,
    `${target}&batch=true&input[json]=1`,
    `${API}${random.pick(['__proto__', 'constructor', 'game', 'game.', '.list', 'game.list,', ',', ',,,,', '%', '%00'])}`,
    `/docs/${random.pick(['..%2f..%2fpackage.json', '%2e%2e/', 'none.css%00', '....//', '%ff'])}`,
    target.slice(0, at) +
      random.pick(['%', '%zz', '%00', ';', '"', '<', '{', '|', '^', '`', '\\', '..']) +
      target.slice(at),
    `/${'a/'.repeat(1500)}`,
    `/?${'a&'.repeat(1500)}`,
  ]);
  return text.slice(0, LONGEST_TARGET);
};

const mediaTypes = [
  'application/json; charset=utf-8',
  'application/json;charset=utf-16',
  'application/json;charset="',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  `application/json; ${'a=b; '.repeat(300)}`,
  `application/json; a="${'\\"'.repeat(500)}`,
  ',',
  '',
];

/** A value of a header as bytes beyond ASCII may be in it. */
const headerText = (random: Random): string =>
  hostileString(random)
    .replaceAll(/[^\t -~\u0080-\u00FF]/g, '')
    .trim()
    .slice(0, LONGEST_VALUE);

const setHeader = ({ headers }: Request, name: string, value: string): void => {
  const at = headers.findIndex(([other]) => other.toLowerCase() === name.toLowerCase());
  if (at === -1) headers.push([name, value]);
  else headers[at] = [name, value];
};

/** What else a request may be told. Each leaves it one that must be answered. */
const twists: readonly ((random: Random, request: Request) => void)[] = [
  (random, request) => setHeader(request, 'Content-Type', random.pick(mediaTypes)),
  (random, request) => {
    const { body, encoding } = packed(random, request.body);
    request.body = body;
    setHeader(request, 'Content-Encoding', encoding);
  },
  (random, request) => {
    request.method = random.pick(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH']);
  },
  (random, request) => {
    request.target = otherTarget(random, request.target);
  },
  (random, request) => setHeader(request, 'Origin', headerText(random)),
  (random, request) => setHeader(request, 'Accept', random.pick(['*/*', 'text/html', 'x', headerText(random)])),
  (random, request) =>
    setHeader(request, 'Accept-Encoding', random.pick(['gzip, br', 'identity;q=0', headerText(random)])),
  (random, request) => setHeader(request, 'trpc-accept', random.pick(['application/jsonl', 'x', headerText(random)])),
  (random, request) => setHeader(request, 'If-None-Match', random.pick(['*', '""', 'W/"x"', '"', headerText(random)])),
  (random, request) => setHeader(request, 'If-Modified-Since', random.pick(['0', 'Tue, 99 Foo', headerText(random)])),
  (random, request) => setHeader(request, 'Range', random.pick(['bytes=0-0', 'bytes=-1', 'bytes=9-1,2-', 'x=1'])),
  (random, request) => setHeader(request, 'Cookie', headerText(random)),
  (random, request) => setHeader(request, 'X-Forwarded-For', random.pick(['::1', '1.2.3.4, x', headerText(random)])),
  (_, request) => setHeader(request, 'Expect', '100-continue'),
  (random, request) => {
    for (let n = random.between(2, 60); n > 0; n -= 1)
      request.headers.push([`X-Any-${n}`, headerText(random).slice(0, 40)]);
  },
  // A body where none is due, or one larger than any may be.
  (random, request) => {
    request.body = random.chance(0.97)
      ? Buffer.from('{"json":{}}')
      : Buffer.alloc(random.pick([1, 2, 5]) * MIB + 1, ' ');
  },
];

/** A request that must be answered. `realCursor` is one that the service gave. */
export const aRequest = (random: Random, realCursor: string): Request => {
  const request = anyRequest(random, realCursor);
  const credential = authorization(random);
  if (credential !== undefined) request.headers.push(['Authorization', credential]);
  if (random.chance(0.25)) random.pick(twists)(random, request);
  return request;
};
