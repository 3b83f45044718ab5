import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { withoutKeys } from '../../../../contract/index.ts';
import { clearTimeout, currentTime, setTimeout } from '../../../base/runtime.ts';
import { version } from '../../../base/version.ts';
import { ForbiddenTarget, parseTarget, resolveTarget, type WebhookPolicy } from './guard.ts';
import type { Address, LookUp } from './names.ts';
import { createHmac } from 'node:crypto';
import { secretBytes } from '../secrets.ts';

const signatureBy = (secret: string, content: string): string =>
  `v1,${createHmac('sha256', secretBytes(secret)).update(content).digest('base64')}`;

/** The headers that authenticate a message: its id, its time, and a signature by each secret. */
export const signedHeaders = (
  id: string,
  now: Date,
  body: string,
  secrets: readonly string[],
): Record<string, string> => {
  const timestamp = Math.floor(now.getTime() / 1000);
  const content = `${id}.${timestamp}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signatureBy(secret, content)).join(' '),
  };
};

const TIMEOUT_MS = 10_000;
/** The maximum number of bytes read from an answer, whose content is hardly used. */
const ANSWER_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 200;
/** How long an address may take to connect before the next one is tried. */
const CONNECT_MS = 2500;

/** A message to an endpoint. */
export interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** How an endpoint answered. */
export interface Answer {
  /** Undefined where there was no answer. */
  status: number | undefined;
  /** The beginning of the answer, or the reason why it is missing. */
  text: string;
  /** The whole answer, as far as it was read. */
  body: string;
  /** Why the answer does not count, in words that follow "It answered 200 with". */
  flaw?: string | undefined;
  /** The seconds of `Retry-After`. */
  retryAfter: number | undefined;
  /** Whether nothing was sent, since the target is forbidden. */
  isNotSent?: true;
  /** Why the answer is missing, with names and addresses: only for the operator's log. */
  fault?: unknown;
}

const shortened = (text: string): string =>
  Array.from(withoutKeys(text.replaceAll(/\p{Cc}+/gu, ' ').trim()))
    .slice(0, KEPT_CHARACTERS)
    .join('');

const noAnswer = (text: string, fault: unknown): Answer => ({
  status: undefined,
  text,
  body: '',
  retryAfter: undefined,
  fault,
});

const secondsOf = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - currentTime()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
};

const read = async (response: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks);
};

/** Decompresses the received part of a compressed answer that was cut off. */
const INFLATING = { maxOutputLength: ANSWER_BYTES, finishFlush: constants.Z_SYNC_FLUSH };

/** Some servers send deflate without the zlib header; the low bits of the first byte tell. */
const inflateAny: typeof inflateSync = (bytes, options) =>
  ((bytes as Buffer)[0]! & 0x0f) === 8 ? inflateSync(bytes, options) : inflateRawSync(bytes, options);

const plainly = (bytes: Buffer): Buffer => bytes;
const DECODERS: ReadonlyMap<string, (bytes: Buffer, options: typeof INFLATING) => Buffer> = new Map([
  ['', plainly],
  ['identity', plainly],
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateAny],
]);
const LONG = `more than ${ANSWER_BYTES / 1024} KiB`;

/** The text of an answer, without a byte order mark. Brotli is not supported: its decoder takes 16 MiB. */
const textIn = (bytes: Buffer, encoding: string): Pick<Answer, 'body' | 'flaw'> => {
  const inflate = DECODERS.get(encoding.trim().toLowerCase());
  if (!inflate) return { body: '', flaw: 'a Content-Encoding other than gzip and deflate' };
  try {
    const plain = bytes.length === 0 ? bytes : inflate(bytes, INFLATING);
    const body = new TextDecoder().decode(plain.subarray(0, ANSWER_BYTES));
    return { body, ...(Math.max(bytes.length, plain.length) > ANSWER_BYTES && { flaw: LONG }) };
  } catch (error) {
    const isLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    return { body: '', flaw: isLong ? LONG : 'a body that is not compressed as its Content-Encoding says' };
  }
};

const answerIn = async (response: IncomingMessage): Promise<Answer> => {
  const { statusCode: status, headers } = response;
  const { body, flaw } = textIn(await read(response), headers['content-encoding'] ?? '');
  const text = body === '' && flaw !== undefined ? `It answered with ${flaw}.` : shortened(body);
  return { status, text, body, flaw, retryAfter: secondsOf(headers['retry-after']) };
};

class ClosedConnection extends Error {}

/** The answer to a request, once it is sent. The connection closes with it. */
const answerTo = (request: ClientRequest, body: string): Promise<Answer> =>
  new Promise<Answer>((settle, reject) => {
    request.once('response', (response) => {
      // From here on, only the response tells how it ends: anything after a complete response is ignored.
      void answerIn(response).then(settle, reject);
      request.off('error', reject).off('close', closed).on('error', ignored);
    });
    // Node reports status 101 only by this event.
    request.once('upgrade', ({ statusCode: status }, socket) => {
      socket.on('error', ignored).destroy();
      settle({ ...noAnswer('It asked for another protocol.', undefined), status });
    });
    const closed = (): void => reject(new ClosedConnection());
    request.on('error', reject).once('close', closed);
    request.end(body);
  }).finally(() => request.destroy());

const ignored = (): void => undefined;

/**
 * Sends a message by POST to exactly the checked addresses, one after another until one connects. It follows no
 * redirects, sends no cookies, takes at most 10 s including the name lookup, and reads at most 64 KiB of the answer.
 * Never rejects.
 */
export const send = async (
  { url: text, headers, body }: Message,
  policy: WebhookPolicy,
  lookUp?: LookUp,
  timeoutMs = TIMEOUT_MS,
): Promise<Answer> => {
  const deadline = new AbortController();
  const isLate = new Promise<never>((_, reject) => {
    deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason as Error), { once: true });
  });
  const timer = setTimeout(() => deadline.abort(), timeoutMs).unref();
  const exchange = async (): Promise<Answer> => {
    const url = parseTarget(text, policy);
    const addresses = await resolveTarget(url, policy, deadline.signal, lookUp);
    deadline.signal.throwIfAborted();
    // With `autoSelectFamily`, Node asks for all addresses.
    const checked = ((_host: string, _options: object, done: (error: null, all: Address[]) => void) =>
      done(null, addresses)) as LookupFunction;
    const connecting = { lookup: checked, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: CONNECT_MS };
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      ...connecting,
      method: 'POST',
      agent: false,
      signal: deadline.signal,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        'User-Agent': `content-gateway/${version}`,
        ...headers,
      },
    });
    return answerTo(request, body);
  };
  try {
    return await Promise.race([exchange(), isLate]);
  } catch (error) {
    if (deadline.signal.aborted) return noAnswer(`It did not answer within ${timeoutMs / 1000} seconds.`, error);
    if (error instanceof ForbiddenTarget) {
      return { ...noAnswer(`It may not be called: ${error.message}.`, error.cause ?? error), isNotSent: true };
    }
    // System error messages contain addresses.
    const { code } = error as NodeJS.ErrnoException;
    const why = error instanceof ClosedConnection ? 'it was closed' : (code ?? 'it broke');
    return noAnswer(`The connection failed: ${why}.`, error);
  } finally {
    clearTimeout(timer);
  }
};

/** Whether an endpoint accepted a message. */
export const isTaken = ({ status }: Answer): boolean => status !== undefined && status >= 200 && status < 300;
