import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { version } from '../../version.ts';
import { ForbiddenTarget, parseTarget, resolveTarget, type WebhookPolicy } from './guard.ts';

const TIMEOUT_MS = 10_000;
/** The bytes of an answer that are read; an endpoint has nothing to say. */
const ANSWER_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 200;

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
  /** The beginning of the answer, or why there was none. */
  text: string;
  /** The whole answer, as far as it was read. */
  body: string;
  /** The seconds of `Retry-After`. */
  retryAfter: number | undefined;
}

const shortened = (text: string): string =>
  Array.from(text.replaceAll(/\p{Cc}+/gu, ' ').trim())
    .slice(0, KEPT_CHARACTERS)
    .join('');

const noAnswer = (why: string): Answer => ({
  status: undefined,
  text: shortened(why),
  body: '',
  retryAfter: undefined,
});

const secondsOf = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
};

const read = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES).toString('utf8');
};

const answerIn = async (response: IncomingMessage): Promise<Answer> => {
  const { statusCode: status, headers } = response;
  const body = await read(response);
  return { status, text: shortened(body), body, retryAfter: secondsOf(headers['retry-after']) };
};

/** The result of `work`, unless it is not there when the signal aborts. */
const within = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    work.then(resolve, reject);
  });

/**
 * Sends a message by POST, to the very address that was checked. It follows no redirect, sends no cookie, and takes 10 s, with the
 * look-up of the name, and 64 KiB of an answer at most. Never rejects.
 */
export const send = async (
  { url: text, headers, body }: Message,
  policy: WebhookPolicy,
  resolve?: Parameters<typeof resolveTarget>[2],
): Promise<Answer> => {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const url = parseTarget(text, policy);
    const { address, family } = await within(deadline, resolveTarget(url, policy, resolve));
    const fixed = ((_host: string, options: { all?: boolean }, done: (...given: unknown[]) => void) => {
      if (options.all) done(null, [{ address, family }]);
      else done(null, address, family);
    }) as LookupFunction;
    return await new Promise<Answer>((settle, reject) => {
      const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        agent: false,
        lookup: fixed,
        signal: deadline,
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
          'User-Agent': `content-gateway/${version}`,
          ...headers,
        },
      });
      request.once('error', reject);
      request.once('response', (response) => {
        void answerIn(response)
          .then(settle, reject)
          .finally(() => request.destroy());
      });
      request.end(body);
    });
  } catch (error) {
    if (deadline.aborted) return noAnswer(`It did not answer within ${TIMEOUT_MS / 1000} seconds.`);
    if (error instanceof ForbiddenTarget) return noAnswer(`It may not be called: ${error.message}.`);
    const { code, message } = error as NodeJS.ErrnoException;
    return noAnswer(`The connection failed: ${code ?? message}.`);
  }
};

/** Whether an endpoint has taken a message. */
export const isTaken = ({ status }: Answer): boolean => status !== undefined && status >= 200 && status < 300;
