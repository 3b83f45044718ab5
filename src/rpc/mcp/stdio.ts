import { Readable, type Writable } from 'node:stream';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { nextTurn, randomUUID } from '../../base/runtime.ts';
import { BATCH_BODY_LIMIT } from '../../../contract/index.ts';
import type { Calls } from '../call.ts';
import type { RpcContext } from '../procedures.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError, CallerLeft } from '../../base/errors.ts';
import { asJsonRpc, errorDocs, failureOf } from '../../http/message/failures.ts';
import { RequestState } from '../../http/message/request-state.ts';
import { serverFactory, withArguments } from './server.ts';
import type { BeginRequest } from './tool-calls.ts';

/** Replaces the address of the only client. */
const ADDRESS = 'stdio';
/** The most requests that run at once, more than assistants send. While this number runs, no further input is read. */
const MOST_RUNNING = 16;
/** The longest line in bytes. It leaves room for an input too large for a tool, which is refused under its own id. */
const LONGEST_LINE = 2 * BATCH_BODY_LIMIT;
/** The bytes of answers that may wait to be read. While more wait, no further input is read. */
const MOST_UNREAD = 1024 * 1024;
const LINE_BREAK = 0x0a;

/** The process that started this one, with or without a key. */
class LocalClient {
  readonly #authorization: string | undefined;
  readonly #timeoutMs: number;
  /** Requests under way. */
  readonly #running = new Set<Promise<void>>();

  constructor(authorization: string | undefined, timeoutMs: number) {
    this.#authorization = authorization;
    this.#timeoutMs = timeoutMs;
  }

  /** Begins a request. */
  readonly begin: BeginRequest = (signal) => {
    const state = new RequestState();
    state.requestId = randomUUID();
    state.authorization = this.#authorization;
    state.address = ADDRESS;
    state.startTime(this.#timeoutMs);
    signal.addEventListener('abort', () => state.deadline.end(new CallerLeft()));
    let resolve!: () => void;
    const running = new Promise<void>((ended) => (resolve = ended));
    this.#running.add(running);
    return {
      state,
      end: () => {
        state.deadline.close();
        this.#running.delete(running);
        resolve();
      },
    };
  };

  /** Resolves when a further request may run. */
  async whenRoom(): Promise<void> {
    // Any request that was passed on has begun by then.
    await nextTurn();
    while (this.#running.size >= MOST_RUNNING) await Promise.race(this.#running);
  }

  /** Resolves when all requests so far are answered. */
  async whenAnswered(): Promise<void> {
    // By then, all requests received are passed on, and their answers are written.
    await nextTurn();
    while (this.#running.size > 0) await Promise.all(this.#running);
    await nextTurn();
  }
}

/** Resolves when all output is read or the stream is closed. */
const whenWritten = (output: Writable): Promise<void> =>
  new Promise((resolve) => {
    output.once('close', resolve);
    output.write('', () => {
      output.off('close', resolve);
      resolve();
    });
  });

/**
 * Yields whole lines, only as fast as they are answered and the answers are read: the SDK would read without bound,
 * and copy the beginning of a line for each chunk. A line that is too long, which would end the SDK, is dropped. The
 * input ends when all requests are answered, since the SDK then gives up running requests.
 */
async function* boundedInput(
  input: AsyncIterable<Buffer>,
  { client, output, onTooLong }: { client: LocalClient; output: Writable; onTooLong: () => void },
): AsyncGenerator<Buffer> {
  /** The chunks and the bytes of the line that has begun. A line that is too long has no chunks. */
  let begun: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    const end = chunk.lastIndexOf(LINE_BREAK) + 1;
    if (end > 0) {
      const start = length > LONGEST_LINE ? chunk.indexOf(LINE_BREAK) : 0;
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      length = 0;
    }
    const wasTooLong = length > LONGEST_LINE;
    length += chunk.length - end;
    if (length <= LONGEST_LINE) begun.push(chunk.subarray(end));
    else if (!wasTooLong) {
      begun = [];
      onTooLong();
    }
    await client.whenRoom();
    if (output.writableLength > MOST_UNREAD) await whenWritten(output);
  }
  await client.whenAnswered();
}

interface StdioOptions {
  key: string | undefined;
  /** Resolves when the process must stop. */
  stopped: Promise<unknown>;
  /** The milliseconds that running calls then have left. */
  stopMs: () => number;
}

/**
 * Serves the protocol on standard input and output until the input ends or `stopped` resolves. Answers all requests
 * before it returns.
 * @throws AppError KEY_… for a key that does not work
 */
export const serveOnStdio = async (
  calls: Calls,
  { config, log }: Pick<RpcContext, 'config' | 'log'>,
  { key, stopped, stopMs }: StdioOptions,
): Promise<void> => {
  const client = new LocalClient(key === undefined ? undefined : `Bearer ${key}`, config.requestTimeoutMs);
  const serverFor = serverFactory(calls, { config, log });
  // Reports a wrong key at once.
  const { state, end } = client.begin(new AbortController().signal);
  await calls.identify(state).finally(end);
  const { stdin, stdout } = process;
  const onTooLong = (): void => {
    const place = { procedure: undefined, requestId: randomUUID() };
    const { body } = failureOf(new AppError('PAYLOAD_TOO_LARGE'), place, { log, docs: errorDocs(config) });
    stdout.write(`${asJsonRpc(body)}\n`);
  };
  const input = Readable.from(boundedInput(stdin, { client, output: stdout, onTooLong }), { objectMode: false });
  // The SDK adds two listeners for each unread answer.
  stdout.setMaxListeners(0);
  // The transport handles errors of its input, except one after it has closed.
  input.on('error', () => undefined);
  const transport = new StdioServerTransport(input, stdout);
  const handle = serveStdio(() => serverFor(client.begin), {
    transport,
    onerror: (error) => log.warn({ err: error }, 'MCP'),
  });
  const { onmessage, onclose } = transport;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's transports have nothing else
  transport.onmessage = (message) => onmessage?.(withArguments(message));
  const ended = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- likewise
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  await Promise.race([ended.then(() => whenWritten(stdout)), stopped]);
  const deadline = new Deadline(stopMs());
  await deadline.race(client.whenAnswered()).catch(() => undefined);
  await handle.close();
  await deadline.race(whenWritten(stdout)).catch(() => undefined);
  deadline.close();
  // An open input would keep this process alive.
  stdin.destroy();
};
