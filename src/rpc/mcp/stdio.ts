import { randomUUID } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { BATCH_BODY_LIMIT } from '../../../contract/index.ts';
import { CostMeter, type RequestContext } from '../request-context.ts';
import type { RpcPipeline } from '../pipeline.ts';
import type { RpcContext } from '../context.ts';
import { Deadline } from '../../deadline.ts';
import { AppError, CallerLeft } from '../../errors.ts';
import { asJsonRpc, errorDocs, failureOf } from '../../http/message/failures.ts';
import { linesOf } from './lines.ts';
import { serverFactory } from './server.ts';
import type { ToolCallContext, McpSession } from './session.ts';

/** Whence the one caller comes, in place of the address of a network. */
const ADDRESS = 'stdio';
/** What is asked at once: more than assistants do. What comes beyond is left with the one who sends it. */
const MOST_RUNNING = 16;
/** Bytes in a line: what is too large for a tool alone is still refused under its id. */
const LONGEST_LINE = 2 * BATCH_BODY_LIMIT;
/** Bytes that may wait for whoever reads the answers; the next answers come on top. */
const MOST_UNREAD = 1024 * 1024;

/** The one who started this process, and has a key or none. */
class LocalSession implements McpSession {
  readonly requestId = randomUUID();
  readonly authenticate: McpSession['authenticate'];
  readonly #authorization: string | undefined;
  readonly #timeoutMs: number;
  /** Calls under way. */
  readonly #running = new Set<Promise<void>>();

  constructor(calls: RpcPipeline, authorization: string | undefined, timeoutMs: number) {
    this.#authorization = authorization;
    this.#timeoutMs = timeoutMs;
    this.authenticate = async () => {
      const context = this.#newContext();
      const end = this.#begin();
      try {
        return await calls.authenticate(context);
      } finally {
        context.deadline.close();
        end();
      }
    };
  }

  beginCall(_procedure: string, signal: AbortSignal): ToolCallContext {
    const context = this.#newContext();
    const leave = (): void => context.deadline.end(new CallerLeft());
    signal.addEventListener('abort', leave);
    const end = this.#begin();
    return {
      context,
      requestId: randomUUID(),
      onFailure: () => undefined,
      end: () => {
        signal.removeEventListener('abort', leave);
        context.deadline.close();
        end();
      },
    };
  }

  /** Resolves when there is room for one more. */
  async whenRoom(): Promise<void> {
    // What was handed on has begun by then.
    await nextTurn();
    while (this.#running.size >= MOST_RUNNING) await Promise.race(this.#running);
  }

  /** Resolves when all that was asked so far is answered. */
  async whenAnswered(): Promise<void> {
    // What has come in is handed on by then, and likewise what is answered.
    await nextTurn();
    while (this.#running.size > 0) await Promise.all(this.#running);
    await nextTurn();
  }

  /** Notes that something is under way, until it is told of the end. */
  #begin(): () => void {
    let resolve!: () => void;
    const running = new Promise<void>((end) => (resolve = end));
    this.#running.add(running);
    return () => {
      this.#running.delete(running);
      resolve();
    };
  }

  #newContext(): RequestContext {
    const meter = new CostMeter();
    return {
      authorization: this.#authorization,
      idempotencyKey: undefined,
      address: ADDRESS,
      deadline: new Deadline(this.#timeoutMs, { meter }),
      meter,
      onAuthenticated: () => undefined,
      onRateLimit: () => undefined,
      onReplay: () => undefined,
    };
  }
}

/** Resolves when a stream has room, or there is nobody left to read it. */
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

/** Resolves when all that was said is taken, or there is nobody left to read it. */
const whenWritten = (output: Writable): Promise<void> =>
  new Promise((resolve) => {
    output.once('close', resolve);
    output.write('', () => resolve());
  });

/**
 * What comes in, line by line, as fast as it is answered and the answers are read: the SDK would take in all that comes, and
 * end at a line that it finds too long. It ends when all that came is answered, as the SDK gives up what is under way then.
 */
async function* answeredLines(
  input: AsyncIterable<Buffer>,
  { session, output, refuse }: { session: LocalSession; output: Writable; refuse: () => void },
): AsyncGenerator<Buffer> {
  for await (const line of linesOf(input, LONGEST_LINE)) {
    if (line) yield line;
    else refuse();
    await session.whenRoom();
    await whenTaken(output);
  }
  await session.whenAnswered();
}

interface StdioOptions {
  key: string | undefined;
  /** Resolves when we are told to stop. */
  stopped: Promise<unknown>;
  /** How long calls may take then, milliseconds. */
  stopMs: () => number;
}

/**
 * Speaks the protocol on the standard input and output until the input ends, or it is told to stop, and answers what was
 * asked before that.
 * @throws AppError KEY_… for a key that does not work
 */
export const serveOnStdio = async (
  calls: RpcPipeline,
  { config, log }: Pick<RpcContext, 'config' | 'log'>,
  { key, stopped, stopMs }: StdioOptions,
): Promise<void> => {
  const session = new LocalSession(calls, key === undefined ? undefined : `Bearer ${key}`, config.requestTimeoutMs);
  const serverFor = serverFactory(calls, { config, log });
  // Whoever set it up wrongly is told at once.
  await session.authenticate();
  const { stdin, stdout } = process;
  const tooLong = (): void => {
    const place = { procedure: undefined, requestId: session.requestId };
    const { body } = failureOf(new AppError('PAYLOAD_TOO_LARGE'), place, { log, docs: errorDocs(config) });
    stdout.write(`${asJsonRpc(body)}\n`);
  };
  const input = Readable.from(answeredLines(stdin, { session, output: stdout, refuse: tooLong }), {
    objectMode: false,
  });
  // Each answer that waits to be read has two of the SDK's.
  stdout.setMaxListeners(0);
  // The transport hears of errors, but not of that of being broken off when it has closed.
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
  // It would keep this process.
  stdin.destroy();
};
