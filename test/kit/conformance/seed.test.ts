/**
 * @engines sqlite
 * @tier long
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sandboxKeys } from '../../../src/sandbox/sandbox.ts';
import { startApp } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';
import { startSandbox } from '../../harness/app/program.ts';

// Two runs with one seed, each on a sandbox of its own, send the same bytes. Compared are all requests: method, path,
// headers and body, in the order of their ids. What the service made and a request repeats, ids of records and cursors, is
// told by when it first came. In which order requests came that were sent at the same time is left out, and so is how often
// the same one came that is sent until a view is counted. A body that is refused for its length is cut off wherever the
// answer comes: only its beginning is compared.

const RUN_MS = 900_000;
const SEED = '20260401';
const KEY = sandboxKeys[0]?.key ?? '';
/** In bytes: more than any request that is not refused for its length. */
const MOST_COMPARED = 128 * 1024;

/** A TCP proxy that keeps what each connection brings. */
const startRecorder = async () => {
  let target = '';
  let streams: Buffer[][] = [];
  const server = createServer((client) => {
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname);
    const stream: Buffer[] = [];
    streams.push(stream);
    client.on('data', (chunk) => stream.push(chunk));
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      socket.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Passes everything on to another server, and keeps what comes from now on. */
    record: (url: string) => {
      target = url;
      streams = [];
    },
    taken: () => streams.map((chunks) => Buffer.concat(chunks)),
    stop: () => server.close(),
  };
};

/** The requests in a stream, each as its bytes, as far as they are compared. */
const requestsIn = (stream: Buffer): string[] => {
  const requests: string[] = [];
  for (let at = 0; at < stream.length;) {
    const end = stream.indexOf('\r\n\r\n', at) + 4;
    if (end < 4) throw new Error('a head without an end');
    const [, length = '0'] = /^content-length: (\d+)\r$/im.exec(stream.toString('latin1', at, end)) ?? [];
    requests.push(stream.toString('latin1', at, Math.min(end + Number(length), at + MOST_COMPARED)));
    at = end + Number(length);
  }
  return requests;
};

const idOf = (request: string): string => /^x-request-id: (.*)\r$/im.exec(request)?.[1] ?? '';
const partsOf = (id: string): number[] => id.split(/\D+/).slice(-2).map(Number);

/** A request without its number among those of its check. */
const unnumbered = (request: string): string => request.replace(/^(x-request-id: .*)\.\d+\r$/im, '$1\r');
const readsEvents = (request: string): boolean => /^POST \S+\/event\.list/.test(request);
/** Whether a request asks again how a webhook is, or what happened: a check asks until it has what it waits for. */
const asksAgain = (request: string, before = ''): boolean =>
  (/^POST \S+\/webhook\.(?:list|deliveries) /.test(request) && request === before) ||
  (readsEvents(request) && readsEvents(before) && idOf(request) === idOf(before));

/** All requests of a run, by their ids, with what the service made told by when it first came. */
const told = (streams: readonly Buffer[]): string[] => {
  const names = new Map<string, string>();
  const nameOf = (kind: string) => (whole: string, value: string) => {
    const name = names.get(value) ?? `<${kind} ${names.size + 1}>`;
    names.set(value, name);
    return whole.replace(value, name);
  };
  const requests = [...new Set(streams.flatMap(requestsIn))].toSorted((a, b) => {
    const [[a1 = 0, a2 = 0], [b1 = 0, b2 = 0]] = [partsOf(idOf(a)), partsOf(idOf(b))];
    return a1 - b1 || a2 - b2;
  });
  const numberless = requests.map(unnumbered);
  const different = numberless.filter((request, index) => !asksAgain(request, numberless[index - 1]));
  return different.map((request) =>
    request
      .replaceAll(/"(?:after|cursor)":"([\w-]{20,})"/g, nameOf('cursor'))
      .replaceAll(/([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})/g, nameOf('id')),
  );
};

let recorder: Awaited<ReturnType<typeof startRecorder>>;
describe('seeded runs of verify', () => {
  beforeAll(async () => {
    recorder = await startRecorder();
  });
  afterAll(() => void recorder.stop());

  /** What a run with these options sends to a new sandbox. */
  const sent = async (...options: string[]): Promise<string[]> => {
    const sandbox = await startSandbox();
    recorder.record(sandbox.base);
    const { code, stderr, stdout } = await runCommand(['verify', recorder.url, '--key', KEY, ...options]);
    await sandbox.stop();
    expect({ code, stderr, stdout: code === 0 ? '' : stdout }).toEqual({ code: 0, stderr: '', stdout: '' });
    return told(recorder.taken());
  };

  test(
    'two runs with one seed send the same, and one with another seed does not',
    async () => {
      const [first, second] = [await sent('--seed', SEED), await sent('--seed', SEED)];
      expect(first.length).toBeGreaterThan(1000);
      // One difference says more than two thousand requests.
      const differing = first.findIndex((request, index) => request !== second[index]);
      expect([first[differing], first.length]).toEqual([second[differing], second.length]);
      expect(differing).toBe(-1);

      const other = await sent('--seed', '1', '--only', 'service');
      expect(first).not.toContain(other.at(-1));
    },
    RUN_MS,
  );

  test(
    'a seed that was used on a deployment is refused there',
    async () => {
      const app = await startApp();
      const { key } = await app.aUser();
      const args = ['verify', app.url, '--key', key, '--only', 'game.create', '--seed', '7'];
      expect((await runCommand(args)).code).toBe(0);
      expect(await runCommand(args)).toEqual({
        code: 2,
        stdout: '',
        stderr: 'error: A run with the seed 7 was made here within the last 24 hours: take another one.\n',
      });
      await app.stop();
    },
    RUN_MS,
  );
});
