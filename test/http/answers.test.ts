/**
 * @engines sqlite
 * @tier long
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANSWER_LIMIT, lengths, MAX_BATCH_CALLS } from '../../contract/index.ts';
import { createApp } from '../../src/app/app.ts';
import { HttpServer } from '../../src/http/server/http-server.ts';
import { type ProcedureId, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { interceptReads } from '../harness/documents/reads.ts';

// How large answers may be, and what becomes of a process that is made to hold many.

const times = <T>(n: number, make: (index: number) => T): T[] => Array.from({ length: n }, (_, index) => make(index));

/** A URL of so many bytes, in as few code points as can be. */
const urlOf = (bytes: number): string => {
  const beginning = 'https://a.example/';
  const left = bytes - beginning.length;
  return beginning + '😀'.repeat(Math.floor(left / 4)) + 'a'.repeat(left % 4);
};
const LONGEST_URL = `https://a.example/${'a'.repeat(lengths.url - 18)}`;

interface Call {
  id: ProcedureId;
  input?: unknown;
}

interface Answer {
  status: number;
  bytes: number;
  /** What became of each call: 200 or the reason. */
  outcomes: (string | number)[];
}

const pathOf = (calls: readonly Call[]): string => `/api/trpc/${calls.map(({ id }) => id).join(',')}?batch=1`;
const bodyOf = (calls: readonly Call[]): string =>
  JSON.stringify(Object.fromEntries(calls.map(({ input = {} }, index) => [index, { json: input }])));

/** Sends a batch on a connection of its own. */
const post = async (base: string, calls: readonly Call[], key?: string): Promise<{ status: number; body: Buffer }> => {
  const sent = request(base + pathOf(calls), {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', ...(key !== undefined && { Authorization: `Bearer ${key}` }) },
  });
  sent.end(bodyOf(calls));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await buffer(response) };
};

/** Likewise, and looks into the answer. */
const sendBatch = async (base: string, calls: readonly Call[], key?: string): Promise<Answer> => {
  const { status, body } = await post(base, calls, key);
  const replies = JSON.parse(body.toString()) as { error?: { json: { data: { reason: string } } } }[];
  return { status, bytes: body.length, outcomes: replies.map(({ error }) => error?.json.data.reason ?? 200) };
};

const countOf = (outcomes: Answer['outcomes'], outcome: string | number): number =>
  outcomes.filter((one) => one === outcome).length;

describe('a process with a heap of 512 MB, and records as large as they may be', () => {
  /** The largest answer that can be had for the least. */
  const lists: Call[] = times(MAX_BATCH_CALLS, () => ({ id: 'image.list', input: { limit: 100, page: 1 } }));
  const MB = 1_000_000;

  let database: TestDatabase;
  let key: string;
  let served: ServeProcess;
  beforeAll(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    const env = { LOG_LEVEL: 'warn', NODE_OPTIONS: '--max-old-space-size=512' };
    served = await startServe({ url: database.url, env });
    // Six bodies of nearly 4 MiB: 120 posts with 100 images of 2048 characters each.
    const posts = times(20, () => ({ title: 'x', images: times(100, () => LONGEST_URL) }));
    for (let n = 0; n < 6; n += 1) {
      const { outcomes } = await sendBatch(served.base, [{ id: 'image.batchCreate', input: { posts } }], key);
      expect(outcomes).toEqual([200]);
    }
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  /** The most memory that the process has had so far, in bytes. */
  const peakMemory = async (): Promise<number> => {
    const status = await readFile(`/proc/${served.child.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  };

  /** How many other requests, one after the other, are answered while `work` is under way. */
  const answeredBeside = async (work: Promise<unknown>): Promise<number> => {
    let isOver = false;
    let answered = 0;
    const done = work.finally(() => (isOver = true));
    while (!isOver) {
      // It waits for nothing but the process.
      expect((await fetch(`${served.base}/healthz`)).status).toBe(200);
      answered += 1;
    }
    await done;
    return answered;
  };

  /** Sends the batch of lists and reads no more of its answer than comes by itself. */
  const ignoreAnswer = async (): Promise<Socket> => {
    const { hostname, port } = new URL(served.base);
    const socket = connect(Number(port), hostname);
    const body = bodyOf(lists);
    socket.write(
      `POST ${pathOf(lists)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, 'readable');
    return socket;
  };

  test('answers what fits of the largest batch, and refuses the rest', async () => {
    expect(bodyOf(lists)).toHaveLength(731);
    const sent = sendBatch(served.base, lists);
    const answered = await answeredBeside(sent);
    const { status, bytes, outcomes } = await sent;
    expect([status, outcomes.length]).toEqual([207, MAX_BATCH_CALLS]);
    expect(countOf(outcomes, 200)).toBe(9);
    expect(countOf(outcomes, 'ANSWER_TOO_LARGE')).toBe(MAX_BATCH_CALLS - 9);
    expect(bytes).toBeLessThan(ANSWER_LIMIT);
    // There would be one if the batch kept the process to itself. A quiet machine answers almost thirty.
    expect(answered).toBeGreaterThan(2);
    expect(await peakMemory()).toBeLessThan(600 * MB);
  });

  test('lives on when ten such answers are not read', async () => {
    const ignoring = await Promise.all(times(10, ignoreAnswer));
    expect(await peakMemory()).toBeLessThan(600 * MB);
    for (const socket of ignoring) socket.destroy();
    expect((await sendBatch(served.base, [{ id: 'game.getTypeStats' }])).status).toBe(200);
    expect(served.child.exitCode).toBeNull();
    // What has gone out is not held any more.
    for (let n = 0; n < 8; n += 1) expect(countOf((await sendBatch(served.base, lists)).outcomes, 200)).toBe(9);
  });
});

describe('the answers of a batch', () => {
  let app: TestApp;
  let author: TestUser;
  /** Beside the app, whose answers are all held against the document: that takes its time when they are large. */
  let listener: HttpServer;
  let base: string;
  beforeAll(async () => {
    app = await startApp();
    listener = new HttpServer(createApp(app.context));
    base = `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
    author = await app.aUser();
    const posts = times(100, () => ({ title: 'x', images: times(3, () => urlOf(8000)), tagNames: ['large'] }));
    await sendBatch(base, [{ id: 'image.batchCreate', input: { posts } }], author.key);
  });
  afterAll(async () => {
    await listener.stop(5000);
    await app.stop();
  });

  /** Records of about 24 KB each. */
  const list = (limit: number, tag = 'large'): Call => ({
    id: 'image.list',
    input: { limit, page: 1, tagSlugs: [tag] },
  });
  const send = (calls: readonly Call[], key?: string): Promise<Answer> => sendBatch(base, calls, key);
  const create = (title: string): Call => ({ id: 'game.create', input: { title } });
  const countGames = async (search: string): Promise<number> =>
    (await app.call('game.list', { limit: 1, page: 1, search })).total;

  test('may be as large as the limit, to the byte', async () => {
    const { id } = await app.anImagePost({ images: times(4, () => urlOf(30)), tagNames: ['fine'] }, author);
    const fill = async (bytes: number): Promise<void> => {
      const images = times(4, (n) => urlOf(30 + Math.floor((bytes + n) / 4)));
      await app.call('image.update', { id, images }, author.key);
    };
    /** With the comma or bracket that follows. */
    const sizeOf = async (call: Call): Promise<number> => (await send([call])).bytes - 1;
    const [hundred, one, two, fine] = [
      await sizeOf(list(100)),
      await sizeOf(list(1)),
      await sizeOf(list(2)),
      await sizeOf(list(1, 'fine')),
    ];
    const left = ANSWER_LIMIT - 1 - 3 * hundred - one - fine;
    const some = list(1 + Math.floor(left / (two - one)));
    const missing = ANSWER_LIMIT - 1 - 3 * hundred - (await sizeOf(some)) - fine;
    const calls = [...times(3, () => list(100)), some, list(1, 'fine')];

    await fill(missing);
    expect(await send(calls)).toEqual({ status: 200, bytes: ANSWER_LIMIT, outcomes: times(5, () => 200) });
    await fill(missing + 1);
    const { status, bytes, outcomes } = await send(calls);
    expect([status, countOf(outcomes, 'ANSWER_TOO_LARGE')]).toEqual([207, 1]);
    expect(bytes).toBeLessThan(ANSWER_LIMIT);
  });

  test('tell of a write that is done, however large the others are', async () => {
    const calls = [...times(5, () => list(100)), create('written beside lists')];
    const { status, outcomes } = await send(calls, author.key);
    expect([status, countOf(outcomes, 'ANSWER_TOO_LARGE'), outcomes.at(-1)]).toEqual([207, 2, 200]);
    expect(await countGames('written beside lists')).toBe(1);
  });

  test('do not begin to be made when an earlier one found no room: nothing is stored then', async () => {
    const input = { games: [{ title: 'written behind lists' }] };
    const calls = [...times(19, () => list(100)), { id: 'game.batchCreate', input } satisfies Call];
    const { outcomes } = await send(calls, author.key);
    expect([countOf(outcomes, 200), outcomes.at(-1)]).toEqual([3, 'ANSWER_TOO_LARGE']);
    expect(await countGames('written behind lists')).toBe(0);
  });

  test('are bounded by GET too', async () => {
    const calls = times(5, () => list(100));
    const reply = await fetch(`${base}${pathOf(calls)}&input=${encodeURIComponent(bodyOf(calls))}`);
    expect([reply.status, (await reply.arrayBuffer()).byteLength < ANSWER_LIMIT]).toEqual([207, true]);
  });

  test('are bounded as a line of JSON, and the same', async () => {
    const calls = times(5, () => list(100));
    const read = async (accepted: string): Promise<unknown> => {
      const headers = { 'Content-Type': 'application/json', 'trpc-accept': accepted };
      const reply = await fetch(base + pathOf(calls), { method: 'POST', headers, body: bodyOf(calls) });
      const text = await reply.text();
      expect(Buffer.byteLength(text)).toBeLessThan(ANSWER_LIMIT);
      return JSON.parse(text);
    };
    interface Failure {
      data: { reason: string };
    }
    const replies = (await read('application/json')) as {
      result?: { data: { json: object } };
      error?: { json: Failure };
    }[];
    const { json: line } = (await read('application/jsonl')) as {
      json: Record<string, [[{ result?: { data: object }; error?: Failure }]]>;
    };
    const payloads = replies.map(({ result, error }) => result?.data.json ?? error?.json.data.reason);
    expect(payloads.filter((payload) => payload === 'ANSWER_TOO_LARGE')).toHaveLength(2);
    expect(Object.values(line).map(([[{ result, error }]]) => result?.data ?? error?.data.reason)).toEqual(payloads);
  });

  test('that wait for others take up 128 MiB in all batches together, and no more', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let lastRead = Number.POSITIVE_INFINITY;
    const restore = interceptReads(app.context.db, (read) => async (sql, ...rest) => {
      if (sql.includes('counters WHERE name >=')) await released;
      try {
        return await read(sql, ...rest);
      } finally {
        lastRead = Date.now();
      }
    });
    const full = [...times(3, () => list(100)), list(30)];
    const waiting = [...full, { id: 'game.getTypeStats' } satisfies Call];
    const batches = times(16, () => post(base, waiting));
    const deadline = Date.now() + 20_000;
    // Or else one of these would be refused for want of the room that the next one takes.
    while (Date.now() < lastRead + 1000) await sleep(50);
    let refused = await send(full);
    while (refused.status === 200 && Date.now() < deadline) {
      await sleep(50);
      refused = await send(full);
    }
    release();
    restore();
    expect([refused.status, refused.outcomes.includes('OVERLOADED')]).toEqual([207, true]);
    for (const batch of batches) expect((await batch).status).toBe(200);
    expect((await send(full)).status).toBe(200);
  });
});
