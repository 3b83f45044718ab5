/**
 * @engines sqlite
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from '@jest/globals';
import {
  type ErrorResponse,
  errorOf,
  type Issue,
  MAX_EXCERPT,
  procedures,
  type Reason,
} from '../../../contract/index.ts';
import { PLACES } from '../../../src/base/suggestions/paths.ts';
import { startApp } from '../../harness/app/app.ts';
import { sendRaw } from '../../harness/http/raw-http.ts';

// What people get wrong in their first hour, and what each is told, word for word: enough to put it right without a look
// into the documentation. Of a key nothing is repeated. mistakes.jsonl has a mistake on each line.

interface Mistake {
  about: string;
  mistake: string;
  /** Method and path. */
  sent: string;
  /** Beside `Content-Type: application/json`, which a body has; an empty value leaves a header out. */
  headers?: Record<string, string>;
  body?: string;
  encoding?: BufferEncoding;
  /** The status and the reason. */
  answer: string;
  /** Each with its path before it, in any order. */
  issues?: string[];
  /** The catalogue's, unless there is one for this. */
  hint?: string;
}

const app = await startApp();
afterAll(() => app.stop());

const { key } = await app.aUser();
const namesOf = (router: string): string =>
  procedures.flatMap((one) => (one.router === router ? [`\`${one.name}\``] : [])).join(', ');

/** What stands for a text that differs from run to run, or by the contract. */
const TEXTS: Readonly<Record<string, string>> = {
  '<key>': key,
  '<12 characters of key>': key.slice(0, 12),
  '<30 characters of key>': key.slice(0, 30),
  '<key with a typing error>': `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`,
  '<key in Base64>': Buffer.from(`${key}:`).toString('base64'),
  '<procedures of game>': namesOf('game'),
};
const filled = (text: string): string =>
  Object.entries(TEXTS).reduce((whole, [name, value]) => whole.replaceAll(name, value), text);
const mistakes = readFileSync('test/base/suggestions/mistakes.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(filled(line)) as Mistake);

/** Sends a mistake. */
const send = ({ sent, headers = {}, body, encoding = 'utf8' }: Mistake) => {
  const [method, path] = sent.split(' ') as [string, string];
  const all = { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers };
  const own = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return sendRaw(app.url, path, { method, headers: own, body: Buffer.from(body ?? '', encoding) });
};

const textOf = ({ path, message }: Issue): string => `${path} ${message}`.trim();

test.each(mistakes)('$about: $mistake', async (one) => {
  const { answer, issues, hint } = one;
  const reply = await send(one);
  const { data } = (reply.body as ErrorResponse).error.json;
  expect(`${reply.status} ${data.reason}`).toBe(answer);
  expect({ issues: data.issues?.map(textOf).toSorted(), hint: data.hint }).toEqual({
    issues: issues?.toSorted(),
    hint: hint ?? errorOf(data.reason as Reason).hint,
  });
  const text = JSON.stringify(reply.body);
  for (let at = 4; at + 6 <= key.length; at += 1) expect(text).not.toContain(key.slice(at, at + 6));
});

test.each(Object.keys(PLACES))('what is suggested is there: %s', async (path) => {
  expect((await sendRaw(app.url, path, { method: 'GET' })).status).not.toBe(404);
});

test('there are 45 mistakes at least, each told in a few lines', () => {
  expect(mistakes.length).toBeGreaterThanOrEqual(45);
  for (const { hint = '', issues = [] } of mistakes) {
    for (const text of [hint, ...issues]) expect(text.length).toBeLessThan(300 + MAX_EXCERPT);
  }
});
