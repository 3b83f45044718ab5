import { connect, type Socket } from 'node:net';
import { checkAnyReply, checkReplyTo } from './check.ts';
import { type Conversation, lengthOf } from './conversation.ts';
import { ReplyReader } from './replies.ts';

/** What was wrong, and in which conversation. */
export interface Fault {
  conversation: Conversation;
  what: string;
  /** The beginning of the request that was to be answered. */
  at: string;
}

/** What a run of conversations came to. */
export interface Tally {
  /** Requests that were answered or, being no HTTP, refused. */
  requests: number;
  connections: number;
  /** Requests whose sender went away on purpose. */
  abandoned: number;
  faults: Fault[];
  /** How often each kind of reply was seen. */
  seen: Map<string, number>;
  /** The longest time from the last byte sent or received to the end of a connection, in milliseconds. */
  slowestMs: number;
}

/** How long the server may take to answer or to close, on a machine that is busy with this. */
const PATIENCE_MS = 30_000;
/** After this long without a byte, a caller who waits for nothing certain lets the server know that nothing follows. */
const SILENCE_MS = 60;
const TICK_MS = 20;
const MOST_FAULTS = 10;
const IS_CHUNKED = /\r\ntransfer-encoding: *chunked\r\n/i;
/** Bytes of a request that a fault shows. */
const SHOWN = 400;

/** A connection and what goes over it. */
class Exchange {
  readonly done: Promise<void>;
  readonly #conversation: Conversation;
  readonly #tally: Tally;
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  readonly #timer: NodeJS.Timeout;
  #answered = 0;
  /** Whether the last reply was the last of this connection, since it came before the end of a body in chunks. */
  #isCutShort = false;
  #isOver = false;
  #isWildSent = false;
  #isWildDone = false;
  /** Whether we let the server know that nothing follows: it may then keep what it had to say. */
  #hasHungUp = false;
  #lastByteAt = performance.now();

  constructor(port: number, conversation: Conversation, tally: Tally) {
    this.#conversation = conversation;
    this.#tally = tally;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.done = new Promise((resolve) => this.#socket.once('close', resolve));
    this.#socket.once('connect', () => void this.#write());
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes));
    // What the server still had to read when it closed; what it sent before has been read.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') this.#fail('the server accepts no connections');
    });
    this.#socket.once('close', () => this.#end());
    this.#timer = setInterval(() => this.#watch(), TICK_MS);
  }

  async #write(): Promise<void> {
    const { asked, wild, isPatient, cuts, isReset } = this.#conversation;
    const bytes = Buffer.concat(asked.map((one) => one.bytes));
    const isAtOnce = wild !== undefined && (!isPatient || asked.length === 0);
    await this.#send(isAtOnce ? Buffer.concat([bytes, wild]) : bytes, cuts);
    this.#isWildSent = isAtOnce;
    if (isReset) {
      this.#isOver = true;
      this.#tally.abandoned += lengthOf(this.#conversation);
      setImmediate(() => this.#socket.resetAndDestroy());
    }
  }

  async #send(bytes: Buffer, cuts: readonly number[]): Promise<void> {
    let start = 0;
    for (const cut of cuts) {
      if (cut > bytes.length) break;
      this.#socket.write(bytes.subarray(start, cut));
      start = cut;
      await new Promise(setImmediate);
    }
    if (this.#socket.writable) this.#socket.write(bytes.subarray(start));
    this.#lastByteAt = performance.now();
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#lastByteAt = performance.now();
    this.#reader.add(bytes);
    try {
      while (this.#readReply()) {
        // Each reply is checked as it is read.
      }
    } catch (error) {
      this.#fail((error as Error).message);
      return;
    }
    const { asked, wild } = this.#conversation;
    if (this.#answered < asked.length) return;
    if (wild === undefined) this.#socket.end();
    else if (!this.#isWildSent) {
      this.#isWildSent = true;
      this.#socket.write(wild);
    }
  }

  /** Whether there was a whole reply. @throws Error when it is not as documented */
  #readReply(): boolean {
    const { asked, wild } = this.#conversation;
    const { seen } = this.#tally;
    const note = (what: string) => void seen.set(what, (seen.get(what) ?? 0) + 1);
    const one = asked[this.#answered];
    if (one) {
      const reply = this.#reader.next(one.request.method === 'HEAD');
      if (!reply) return false;
      checkReplyTo(one.request, one.id, reply, note);
      this.#answered += 1;
      this.#isCutShort = reply.headers['connection'] === 'close' && IS_CHUNKED.test(one.bytes.toString('latin1'));
      this.#tally.requests += 1;
      return true;
    }
    if (this.#isWildDone || wild === undefined) {
      if (wild === undefined && this.#reader.rest.length > 0) throw new Error('more came than was asked for');
      return false;
    }
    // Nobody can tell which of the replies are to a HEAD.
    if (wild.includes('HEAD')) {
      this.#isWildDone = true;
      return false;
    }
    const reply = this.#reader.next(false);
    if (!reply) return false;
    checkAnyReply(wild.toString('latin1'), reply, note);
    return true;
  }

  #watch(): void {
    const silence = performance.now() - this.#lastByteAt;
    if (silence > PATIENCE_MS) {
      this.#fail(`for ${PATIENCE_MS} ms the server neither answered nor closed`);
      this.#socket.destroy();
    } else if (silence > SILENCE_MS && this.#isWildSent && this.#answered === this.#conversation.asked.length) {
      this.#hasHungUp = true;
      this.#socket.end();
    }
  }

  #end(): void {
    clearInterval(this.#timer);
    if (this.#isOver) return;
    this.#tally.slowestMs = Math.max(this.#tally.slowestMs, performance.now() - this.#lastByteAt);
    const { asked, wild } = this.#conversation;
    if (this.#isCutShort) {
      this.#tally.abandoned += asked.length - this.#answered;
    } else if (this.#answered < asked.length) {
      this.#fail(`the connection was closed before the answer to ${asked[this.#answered]?.id}`);
    } else if (this.#reader.rest.length > 0 && !this.#isWildDone && !this.#hasHungUp) {
      this.#fail('the connection was closed within a reply');
    } else if (wild) this.#tally.requests += 1;
  }

  #fail(what: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { asked, wild } = this.#conversation;
    const at = (asked[this.#answered]?.bytes ?? wild)?.toString('latin1', 0, SHOWN) ?? '';
    this.#tally.faults.push({ conversation: this.#conversation, what, at });
    this.#socket.destroy();
  }
}

/**
 * Holds conversations with the server on this port, so many at a time, until they come to so many requests or to some
 * faults.
 */
export const converse = async (
  port: number,
  conversations: Iterable<Conversation>,
  { connections, requests }: { connections: number; requests: number },
): Promise<Tally> => {
  const tally: Tally = { requests: 0, connections: 0, abandoned: 0, faults: [], seen: new Map(), slowestMs: 0 };
  const all = conversations[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    while (tally.requests < requests && tally.faults.length < MOST_FAULTS) {
      const { value, done } = all.next();
      if (done) return;
      tally.connections += 1;
      await new Exchange(port, value, tally).done;
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return tally;
};
