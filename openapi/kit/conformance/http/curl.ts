import { gzipSync } from 'node:zlib';
import { escapeUnseen } from '../../../../contract/text.ts';
import type { SentRequest } from '../exchange.ts';

/** Longer bodies are compressed, as are those that a terminal cannot show: a line, like patience, has a limit. */
const MAX_PLAIN_BODY = 2000;
/** The variable of the shell that holds the key. */
const KEY = '"$GATEWAY_KEY"';

/** A text as one word of a POSIX shell. */
export const quoted = (text: string): string =>
  /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The argument of `printf` that prints a header. Characters beyond ASCII are Latin-1, as `fetch` sends them. */
const printed = (text: string): string =>
  text
    .replaceAll(/[\\%]/g, (character) => character.repeat(2))
    .replaceAll(/[\u0080-\u00ff]/g, (character) => `\\${character.charCodeAt(0).toString(8)}`);

const header = (name: string, value: string, key: string | undefined): string => {
  const line = `${name}: ${value}`;
  if (key !== undefined && value.includes(key)) {
    const [before = '', ...after] = line.split(key);
    return [before, ...after].map((part) => (part === '' ? '' : quoted(part))).join(KEY);
  }
  return /^[\x20-\x7e]*$/.test(line) ? quoted(line) : `"$(printf ${quoted(printed(line))})"`;
};

/** The words of a command line for a body: the command before curl, and curl's options. */
const bodyOf = (body: string): { before: string; options: string[] } => {
  const isPlain = !/^@|\p{Cc}/u.test(body) && escapeUnseen(body) === body;
  if (isPlain && Buffer.byteLength(body) <= MAX_PLAIN_BODY) {
    return { before: '', options: ['--data-binary', quoted(body)] };
  }
  const packed = gzipSync(body, { level: 9 }).toString('base64');
  return { before: `printf %s ${packed} | base64 -d | gunzip -c | `, options: ['--data-binary', '@-'] };
};

/**
 * A line for a POSIX shell that sends a request again by curl: method, headers and body. It has `$GATEWAY_KEY` in place
 * of the key.
 */
export const curlOf = ({ method, url, headers, body }: SentRequest, key?: string): string => {
  const names = Object.entries(headers).flatMap(([name, value]) => ['-H', header(name, value, key)]);
  // A POST without a body states its length.
  const empty = method === 'POST' && body === undefined ? ['-H', "'Content-Length: 0'"] : [];
  const { before, options } = body === undefined ? { before: '', options: empty } : bodyOf(body);
  return `${before}${['curl', '-sS', '-i', '--path-as-is', '-g', '-X', method, quoted(url), ...names, ...options].join(' ')}`;
};
