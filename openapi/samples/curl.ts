import type { StreamRoute } from '../../contract/index.ts';
import type { Call } from './call.ts';
import { layOut, type Part } from './layout.ts';
import { KEY_VARIABLE, SAMPLE_URL } from './names.ts';

const STYLE = { width: 80, indent: '  ' };

const jsonOf = (value: unknown): Part => {
  if (Array.isArray(value)) return { open: '[', entries: value.map(jsonOf), close: ']', end: '' };
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, member]) => [`${JSON.stringify(name)}: `, jsonOf(member)]);
  return { open: '{', entries, close: '}', end: '' };
};

/** A text in single quotes, as a POSIX shell reads it. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The body of a call as JSON on several lines, each after a margin. */
export const bodyOf = (json: unknown, margin: string): string => layOut(jsonOf({ json }), STYLE, margin);

/** The call by curl, for a POSIX shell. */
export const curlSample = ({ path, needsKey, json }: Pick<Call, 'path' | 'needsKey' | 'json'>): string => {
  const body = layOut([`-d '`, jsonOf({ json }), `'`], STYLE, '  ').slice(`  -d '`.length, -1);
  return [
    `curl ${SAMPLE_URL}${path}`,
    ...(needsKey ? [`-H "Authorization: Bearer $${KEY_VARIABLE}"`] : []),
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(body)}`,
  ].join(' \\\n  ');
};

/** The same for a stream, whose messages are shown as they come. */
export const curlStreamSample = ({ path, metadata: { access, example } }: StreamRoute): string =>
  curlSample({ path, needsKey: access !== 'public', json: example.input }).replace('curl ', 'curl -N ');
