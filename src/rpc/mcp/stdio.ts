import { Readable, type Writable } from 'node:stream';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { nextTurn, randomUUID } from '../../base/runtime.ts';
import { BATCH_BODY_LIMIT } from '../../../contract/index.ts';
import type { Calls } from '../call.ts';
import type { RpcContext } from '../context.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError, CallerLeft } from '../../base/errors.ts';
import { asJsonRpc, errorDocs, failureOf } from '../../http/message/failures.ts';
import { RequestState } from '../../http/message/request-state.ts';
import { invalidRequestId, linesOf } from './lines.ts';
import { serverFactory } from './server.ts';
import type { ToolCallContext, McpSession } from './session.ts';

/** Stands in for the address of the one client. */
const ADDRESS = 'stdio';
/** The requests that run at once, more than assistants send. Further ones stay unread. */
const MOST_RUNNING = 16;
/** The longest line in bytes, so that an input too large for a tool is still refused under its id. */
const LONGEST_LINE = 2 * BATCH_BODY_LIMIT;
/** Bytes of answers that may wait to be read, before further ones. */
const MOST_UNREAD = 1024 * 1024;

const INVALID_REQUEST = {
  code: -32600,
  message: 'The message is not a request of JSON-RPC 2.0: `method` is a text, and `params`, if any, an object.',
};

/** The process that started this one, with a key or without. */
class LocalSession implements McpSession {
  readonly requestId = randomUUID();
  readonly authenticate: McpSession['authenticate'];
  readonly #authorization: string | undefined;
  readonly #timeoutMs: number;
  /** Calls under way. */
  readonly #running = new Set<Promise<void>>();

  constructor(calls: Calls, authorization: string | undefined, timeoutMs: number) {
    this.#authorization = authorization;
    this.#timeoutMs = timeoutMs;
    this.authenticate = async () => {
      const state = this.#newState();
      const end = this.#begin();
      try {
        return await calls.identify(state);
      } finally {
        state.deadline.close();
        end();
      }
    };
  }

  beginCall(_procedure: string, signal: AbortSignal): ToolCallContext {
    const state = this.#newState();
    const leave = (): void => state.deadline.end(new CallerLeft());
    signal.addEventListener('abort', leave);
    const end = this.#begin();
    return {
      state,
      onFailure: () => undefined,
      end: () => {
        signal.removeEventListener('abort', leave);
        state.deadline.close();
        end();
      },
    };
  }

  /** Resolves when another request may run. */
  async whenRoom(): Promise<void> {
    // A request that was passed on has begun by then.
    await nextTurn();
    while (this.#running.size >= MOST_RUNNING) await Promise.race(this.#running);
  }

  /** Resolves when all requests so far are answered. */
  async whenAnswered(): Promise<void> {
    // Requests that have come in are passed on by then, and answers likewise.
    await nextTurn();
    while (this.#running.size > 0) await Promise.all(this.#running);
    await nextTurn();
  }

  /** Counts a request as running until the returned function is called. */
  #begin(): () => void {
    let resolve!: () => void;
    const running = new Promise<void>((end) => (resolve = end));
    this.#running.add(running);
    return () => {
      this.#running.delete(running);
      resolve();
    };
  }

  #newState(): RequestState {
    const state = new RequestState();
    state.requestId = randomUUID();
    state.authorization = this.#authorization;
    state.address = ADDRESS;
    state.startTime(this.#timeoutMs);
    return state;
  }
}

/** Resolves when a stream has room, or is closed. */
const whenTaken = async (output: Writable): Promise<void> => {
  while (output.writableLength > MOST_UNREAD && !output.destroyed) {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        output.off('drain', done);
        output.off('close', done);
        resolve();
      };
      output.on('drain', done);
      output.on('close', done);
    });
  }
};

/** Resolves when all output is read, or the stream is closed. */
const whenWritten = (output: Writable): Promise<void> =>
  new Promise((resolve) => {
    output.once('close', resolve);
    output.write('', () => resolve());
  });

/** Answers lines that are not passed on. */
interface Refusals {
  tooLong: () => void;
  invalid: (id: string | number) => void;
}

/**
 * The lines of the input, as fast as they are answered and the answers are read: the SDK would read without bound, and
 * end at a line that it finds too long. It ends when all requests are answered, since the SDK gives up running requests
 * then.
 */
async function* answeredLines(
  input: AsyncIterable<Buffer>,
  { session, output, refuse }: { session: LocalSession; output: Writable; refuse: Refusals },
): AsyncGenerator<Buffer> {
  for await (const line of linesOf(input, LONGEST_LINE)) {
    const invalid = line && invalidRequestId(line.toString());
    if (!line) refuse.tooLong();
    else if (invalid !== undefined) refuse.invalid(invalid);
    else yield line;
    await session.whenRoom();
    await whenTaken(output);
  }
  await session.whenAnswered();
}

interface StdioOptions {
  key: string | undefined;
  /** Resolves when the process has to stop. */
  stopped: Promise<unknown>;
  /** The milliseconds that running calls get then. */
  stopMs: () => number;
}

/**
 * Serves the protocol on the standard input and output until the input ends or `stopped` resolves, and answers the
 * requests before that.
 * @throws AppError KEY_… for a key that does not work
 */
export const serveOnStdio = async (
  calls: Calls,
  { config, log }: Pick<RpcContext, 'config' | 'log'>,
  { key, stopped, stopMs }: StdioOptions,
): Promise<void> => {
  const session = new LocalSession(calls, key === undefined ? undefined : `Bearer ${key}`, config.requestTimeoutMs);
  const serverFor = serverFactory(calls, { config, log });
  // A wrong key is reported at once.
  await session.authenticate();
  const { stdin, stdout } = process;
  const tooLong = (): void => {
    const place = { procedure: undefined, requestId: session.requestId };
    const { body } = failureOf(new AppError('PAYLOAD_TOO_LARGE'), place, { log, docs: errorDocs(config) });
    stdout.write(`${asJsonRpc(body)}\n`);
  };
  const invalid = (id: string | number): void => {
    stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: INVALID_REQUEST })}\n`);
  };
  const lines = answeredLines(stdin, { session, output: stdout, refuse: { tooLong, invalid } });
  const input = Readable.from(lines, { objectMode: false });
  // Each unread answer has two listeners of the SDK.
  stdout.setMaxListeners(0);
  // The transport handles errors of its input, but not the one after it has closed.
  input.on('error', () => undefined);
  const transport = new StdioServerTransport(input, stdout);
  const handle = serveStdio(() => serverFor(session), {
    transport,
    onerror: (error) => log.warn({ err: error }, 'MCP'),
  });
  const forget = transport.onclose;
  const ended = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's transports have nothing else
    transport.onclose = () => {
      forget?.();
      resolve();
    };
  });
  await Promise.race([ended.then(() => whenWritten(stdout)), stopped]);
  const deadline = new Deadline(stopMs());
  await deadline.race(session.whenAnswered()).catch(() => undefined);
  await handle.close();
  await deadline.race(whenWritten(stdout)).catch(() => undefined);
  deadline.close();
  // An open input would keep this process alive.
  stdin.destroy();
};
