import type { FetchReply } from '../options.js';
import { UsageError } from '../usage-error.js';

/** No reply of the service is nearly as large. */
const MAX_BYTES = 64 * 1024 * 1024;

const MAX_LEVELS = 100;

/** Half of a surrogate pair, which `JSON.stringify` alone writes as an escape. */
const HALF = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/;

/** The body of a request. @throws UsageError if the input is no object, or can't be written as JSON */
export const requestBody = (operation: string, input: object | null): string => {
  if (typeof (input ?? {}) !== 'object' || Array.isArray(input))
    throw new UsageError(`${operation}: an input is an object`);
  let body: string;
  try {
    body = JSON.stringify({ json: input ?? {} });
  } catch (cause) {
    throw new UsageError(`${operation}: the input can't be written as JSON: ${(cause as Error).message}`, { cause });
  }
  if (HALF.test(body)) throw new UsageError(`${operation}: the input has a text with half of a surrogate pair`);
  return body;
};

/** A body, as far as it was read. */
export interface Body {
  /** The body as text. */
  readonly body: string;
  /** Whether it is larger than what is read, and cut off there. */
  readonly isTooLarge: boolean;
}

/** A reader of the body; undefined if a `fetch` of the caller's has no stream. */
export const readerOf = ({ body }: FetchReply): ReadableStreamDefaultReader<Uint8Array> | undefined =>
  body && typeof body === 'object' && 'getReader' in body
    ? (body as ReadableStream<Uint8Array>).getReader()
    : undefined;

/** Reads a body, up to a limit if it comes as a stream. */
export const readBody = async (response: FetchReply): Promise<Body> => {
  const reader = readerOf(response);
  if (!reader) return { body: await response.text(), isTooLarge: false };
  const decoder = new TextDecoder();
  let body = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { body: body + decoder.decode(), isTooLarge: false };
    bytes += value.byteLength;
    body += decoder.decode(value, { stream: true });
    if (bytes <= MAX_BYTES) continue;
    reader.cancel().catch(() => {});
    return { body, isTooLarge: true };
  }
};

/** How deep the brackets of a JSON text are nested, and whether it ends within one or within a string. */
const bracketsOf = (text: string): { levels: number; isOpen: boolean } => {
  let [level, levels, inString] = [0, 0, false];
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (inString && char === '\\') index += 1;
    else if (char === '"') inString = !inString;
    else if (inString) continue;
    else if (char === '{' || char === '[') level += 1;
    else if (char === '}' || char === ']') level -= 1;
    levels = Math.max(levels, level);
  }
  return { levels, isOpen: inString || level > 0 };
};

/** What is wrong with JSON that lacks its end. */
export const CUT_OFF = ' whose JSON is cut off';

/** What is wrong with a text that should be JSON; undefined if it is `readable`, and not nested too deeply. */
export const faultOfJson = (text: string, readable: boolean): string | undefined => {
  if (text.trim() === '') return ' with an empty body';
  const { levels, isOpen } = bracketsOf(text);
  if (levels > MAX_LEVELS) return ' whose JSON is nested too deeply';
  if (readable) return undefined;
  return isOpen ? CUT_OFF : ' whose JSON is not valid';
};
