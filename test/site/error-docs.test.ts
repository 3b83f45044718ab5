/**
 * @engines sqlite
 * @tier fast
 */
import { EventEmitter, once } from 'node:events';
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  docsOf,
  type ErrorResponse,
  errorOf,
  operations as all,
  procedures,
  type Reason,
  reasons,
} from '../../contract/index.ts';
import type { Explanation } from '../../src/site/errors/explanations.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { occupy } from '../harness/app/overload.ts';
import { sendRaw, writeRaw } from '../harness/http/raw-http.ts';

// Every failure names the page that explains it, however it came about, and the page explains it.

const PUBLIC_URL = 'https://api.example.com/base';
/** Calls that cannot run at once are refused. */
const MAX_QUEUE_MS = '0';
const local = await startApp({ sandbox: true, settings: { MAX_QUEUE_MS } });
const published = await startApp({ sandbox: true, settings: { PUBLIC_URL, MAX_QUEUE_MS } });
describe('error pages', () => {
  afterAll(() => Promise.all([local.stop(), published.stop()]));

  const JSON_TYPE = { 'Content-Type': 'application/json' };

  type Data = ErrorResponse['error']['json']['data'];

  const dataOf = (body: unknown): Data => (body as ErrorResponse).error.json.data;

  const post = async (app: TestApp, path: string, more: Record<string, string> = {}, body = '{}'): Promise<unknown> =>
    (await sendRaw(app.url, path, { headers: { ...JSON_TYPE, ...more }, body })).body;

  /** Does `work` while nothing else of an operation can run, nor wait. */
  const crowded = async <T>({ context }: TestApp, id: string, work: () => Promise<T>): Promise<T> => {
    const over = new EventEmitter();
    const occupied = occupy(
      context,
      procedures.filter((one) => one.id === id),
      once(over, 'end'),
    );
    try {
      return await work();
    } finally {
      over.emit('end');
      await occupied;
    }
  };

  const byId = '{"json":{"id":"x"}}';
  /** The JSON that a text of HTTP ends with. */
  const jsonIn = (text: string): unknown =>
    JSON.parse(/\{[^]*\}/.exec(text.slice(text.indexOf('\r\n\r\n')))?.[0] ?? '');

  /** One failure of each way to the wire: what comes back. */
  const ways: [string, Reason, (app: TestApp) => Promise<unknown>][] = [
    ['a call', 'GAME_NOT_FOUND', (app) => post(app, '/api/trpc/game.getById', {}, byId)],
    [
      'a call by GET',
      'VALIDATION_FAILED',
      async ({ url }) => (await sendRaw(url, '/api/trpc/game.list?input=%7B%22json%22%3A1%7D', { method: 'GET' })).body,
    ],
    ['a call with a key', 'KEY_MALFORMED', (app) => post(app, '/api/trpc/game.list', { Authorization: 'Bearer x' })],
    [
      'a batch as a whole',
      'BATCH_TOO_LARGE',
      (app) => post(app, `/api/trpc/${Array(21).fill('user.me').join()}?batch=1`),
    ],
    [
      'a call of a batch',
      'KEY_MISSING',
      async (app) => ((await post(app, '/api/trpc/user.me,game.getTypeStats?batch=1')) as unknown[])[0],
    ],
    [
      'a call of a batch as JSON lines',
      'KEY_MISSING',
      async (app) => {
        const line = await post(app, '/api/trpc/user.me?batch=1', { 'trpc-accept': 'application/jsonl' });
        const { json } = line as { json: [[[{ error: { data: Data } }]]] };
        return { error: { json: json[0][0][0].error } };
      },
    ],
    ['a path that is no procedure', 'PROCEDURE_NOT_FOUND', (app) => post(app, '/api/trpc/no.such')],
    ['a path outside of the API', 'ROUTE_NOT_FOUND', (app) => post(app, '/no-such')],
    ['a method that a page has not', 'METHOD_NOT_SUPPORTED', (app) => post(app, '/errors')],
    ['what is no HTTP', 'BAD_HTTP_REQUEST', async ({ url }) => jsonIn(await writeRaw(url, 'NONSENSE\r\n\r\n'))],
    [
      'HTTP without a host',
      'BAD_HTTP_REQUEST',
      async ({ url }) => jsonIn(await writeRaw(url, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')),
    ],
    [
      'a fault of the sandbox',
      'RATE_LIMITED',
      (app) => post(app, '/api/trpc/game.getTypeStats', { 'X-Sandbox-Status': '429' }),
    ],
    [
      'a fault of the sandbox after the work',
      'INTERNAL',
      (app) => post(app, '/api/trpc/game.getTypeStats', { 'X-Sandbox-Fault': 'after=500' }),
    ],
    [
      'a call that there is no room for',
      'OVERLOADED',
      (app) => crowded(app, 'game.getById', () => post(app, '/api/trpc/game.getById', {}, byId)),
    ],
  ];

  describe.each(ways)('a failure of %s', (_way, reason, provoke) => {
    test('names its page, by the path or the public address', async () => {
      expect(dataOf(await provoke(local))).toMatchObject({ reason, docs: docsOf(reason) });
      expect(dataOf(await provoke(published))).toMatchObject({ reason, docs: `${PUBLIC_URL}/errors#${reason}` });
    });
  });

  describe('/errors', () => {
    test('is a page with a section for each reason, which holds all that the catalogue says', async () => {
      const { status, headers, body } = await sendRaw(local.url, '/errors', { method: 'GET' });
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      const sections = String(body).split('<section class="reason" ').slice(1);
      const ids = sections.map((section) => /^id="(\w+)"/.exec(section)?.[1]);
      expect(new Set(ids)).toEqual(new Set(reasons));
      expect(ids).toHaveLength(reasons.length);
      for (const [index, section] of sections.entries()) {
        const { message, cause, fix, code, number } = errorOf(ids[index] as Reason);
        const words = section
          .replaceAll(/<[^>]*>/g, '')
          .replaceAll('&quot;', '"')
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>');
        for (const part of [message, cause, fix, code, String(number)])
          expect(words).toContain(part.replaceAll('`', ''));
      }
      // Whatever the page links to on itself is there.
      for (const [, target] of String(body).matchAll(/href="#([\w-]+)"/g)) expect(body).toContain(` id="${target}"`);
    });
  });

  describe('/errors.json', () => {
    test.each([
      [local, ''],
      [published, PUBLIC_URL],
    ])('is the catalogue', async (app, base) => {
      const { body } = await sendRaw(app.url, '/errors.json', { method: 'GET' });
      const { errors } = body as { errors: Explanation[] };
      expect(errors.map(({ reason }) => reason).toSorted()).toEqual(reasons.toSorted());
      for (const explanation of errors) {
        const { reason, example, operations, retry, docs, ...rest } = explanation;
        const { retry: when, ...entry } = errorOf(reason);
        expect(entry).toMatchObject(rest);
        expect([retry.when, docs]).toEqual([when, docsOf(reason, base)]);
        expect(operations).toEqual(all.filter((one) => one.reasons.includes(reason)).map(({ id }) => id));
        expect(dataOf(example)).toMatchObject({ reason, docs, httpStatus: entry.status, path: operations[0] ?? null });
      }
      expect(errors.find(({ reason }) => reason === 'VALIDATION_FAILED')?.example.error.json.data.issues).toHaveLength(
        1,
      );
    });
  });
});
