import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Arrival } from '../call/arrival.ts';
import type { Calls } from '../call/calls.ts';
import type { Context } from '../context.ts';
import { Deadline } from '../deadline.ts';
import { CallerLeft } from '../errors.ts';
import { serverFactory } from './server.ts';
import type { Visit, Visitor } from './visitor.ts';

/** Whence the one caller comes, in place of the address of a network. */
const ADDRESS = 'stdio';

/** The one who started this process, and has a key or none. */
class Parent implements Visitor {
  readonly requestId = randomUUID();
  readonly recognise: Visitor['recognise'];
  readonly #authorization: string | undefined;
  readonly #timeoutMs: number;
  /** Calls under way. */
  readonly #running = new Set<Promise<void>>();

  constructor(calls: Calls, authorization: string | undefined, timeoutMs: number) {
    this.#authorization = authorization;
    this.#timeoutMs = timeoutMs;
    this.recognise = async () => {
      const arrival = this.#arrive();
      try {
        return await calls.recognise(arrival);
      } finally {
        arrival.deadline.close();
      }
    };
  }

  visit(_procedure: string, signal: AbortSignal): Visit {
    const arrival = this.#arrive();
    const leave = (): void => arrival.deadline.end(new CallerLeft());
    signal.addEventListener('abort', leave);
    let answered!: () => void;
    const running = new Promise<void>((resolve) => (answered = resolve));
    this.#running.add(running);
    return {
      arrival,
      requestId: randomUUID(),
      noteFailure: () => undefined,
      end: () => {
        signal.removeEventListener('abort', leave);
        arrival.deadline.close();
        this.#running.delete(running);
        answered();
      },
    };
  }

  /** Resolves when all that was asked so far is answered. */
  async whenAnswered(): Promise<void> {
    // What has come in is handed on by then, and likewise what is answered.
    await nextTurn();
    while (this.#running.size > 0) await Promise.all(this.#running);
    await nextTurn();
  }

  #arrive(): Arrival {
    return {
      authorization: this.#authorization,
      idempotencyKey: undefined,
      address: ADDRESS,
      deadline: new Deadline(this.#timeoutMs),
      learn: () => undefined,
      note: () => undefined,
      noteReplay: () => undefined,
    };
  }
}

/** What comes in. It ends when all that came is answered: the SDK gives up what is under way when its input ends. */
async function* heard(input: AsyncIterable<Buffer>, parent: Parent): AsyncGenerator<Buffer> {
  yield* input;
  await parent.whenAnswered();
}

interface Options {
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
export const converse = async (
  calls: Calls,
  { config, log }: Pick<Context, 'config' | 'log'>,
  { key, stopped, stopMs }: Options,
): Promise<void> => {
  const parent = new Parent(calls, key === undefined ? undefined : `Bearer ${key}`, config.requestTimeoutMs);
  const serverFor = serverFactory(calls, { config, log });
  // Whoever set it up wrongly is told at once.
  await parent.recognise();
  const input = Readable.from(heard(process.stdin, parent), { objectMode: false });
  // The transport hears of errors, but not of that of being broken off when it has closed.
  input.on('error', () => undefined);
  const transport = new StdioServerTransport(input, process.stdout);
  const handle = serveStdio(() => serverFor(parent), {
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
  await Promise.race([ended, stopped]);
  const deadline = new Deadline(stopMs());
  await deadline.race(parent.whenAnswered()).catch(() => undefined);
  deadline.close();
  await handle.close();
  // It would keep this process.
  process.stdin.destroy();
};
