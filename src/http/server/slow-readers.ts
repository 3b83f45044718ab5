import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpServerLimits } from './limits.ts';

/** A caller that has yet to take what was answered. */
interface SlowReader {
  /** Bytes that we hold for it. A piece counts whole until the last byte of it is gone. */
  held: number;
  /** Falls with every byte that it takes. */
  left: number;
  /** When it last took some, by the clock of the sweeps. */
  since: number;
}

/**
 * The bytes given to the kernel's keeping that it has not taken yet. Nothing public tells how far the writing of one large
 * piece has got; Node's own timeouts of sockets look at this.
 */
const queueSize = (socket: Socket): number =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;

/**
 * Answers that callers do not take. Whoever takes nothing for too long is cut off, and when all together leave too much
 * lying about, those are who have been idle for longest. A slow but steady reader is none of them.
 */
export class SlowReaderGuard {
  readonly #limits: Pick<HttpServerLimits, 'answerIdleMs' | 'sweepMs' | 'heldBytes'>;
  /** Milliseconds, by the sweeps: time in which this process itself stood still is not held against callers. */
  #now = 0;
  /** Who has been idle for longest comes first. */
  readonly #readers = new Map<Socket, SlowReader>();

  constructor(limits: Pick<HttpServerLimits, 'answerIdleMs' | 'sweepMs' | 'heldBytes'>) {
    this.#limits = limits;
  }

  /** Looks at all responses that are not done, each `sweepMs`, and cuts off whom it must. Returns how many. */
  sweep(responses: Iterable<ServerResponse>): number {
    this.#now += this.#limits.sweepMs;
    return this.#cut(this.#look(responses));
  }

  /** Brings the readers up to date. Returns the bytes that are held for all of them. */
  #look(responses: Iterable<ServerResponse>): number {
    const heldFor = new Map<Socket, number>();
    let total = 0;
    for (const response of responses) {
      const held = response.writableLength;
      if (held === 0) continue;
      const { socket } = response.req;
      heldFor.set(socket, (heldFor.get(socket) ?? 0) + held);
      total += held;
    }
    for (const socket of this.#readers.keys()) {
      if (!heldFor.has(socket)) this.#readers.delete(socket);
    }
    for (const [socket, held] of heldFor) this.#note(socket, held);
    return total;
  }

  #note(socket: Socket, held: number): void {
    const left = held + queueSize(socket);
    const reader = this.#readers.get(socket);
    if (reader && left >= reader.left) {
      // Nothing was taken; answers to requests that it sent meanwhile may have been added.
      reader.held = held;
      reader.left = left;
      return;
    }
    this.#readers.delete(socket);
    this.#readers.set(socket, { held, left, since: this.#now });
  }

  #cut(total: number): number {
    let heldBytes = total;
    let count = 0;
    for (const [socket, { held, since }] of this.#readers) {
      if (heldBytes <= this.#limits.heldBytes && this.#now - since < this.#limits.answerIdleMs) break;
      // With a reset: the kernel would keep its share for an orderly end.
      socket.resetAndDestroy();
      this.#readers.delete(socket);
      heldBytes -= held;
      count += 1;
    }
    return count;
  }
}
