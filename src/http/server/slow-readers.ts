import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpServerLimits } from './limits.ts';

/** A client with an unread response. */
interface SlowReader {
  /** Bytes buffered for it. A chunk counts whole until its last byte is sent. */
  held: number;
  /** Falls with every byte that it reads. */
  left: number;
  /** When it last read some, by the clock of the sweeps. */
  since: number;
}

/**
 * The bytes passed to the socket that the kernel has not taken yet. Node has no public progress of one large write; its own
 * socket timeouts use this as well.
 */
const queueSize = (socket: Socket): number =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;

/**
 * Bounds the memory of responses that clients do not read. A client that reads nothing for too long is disconnected. If all
 * unread responses together take too much memory, the clients idle for longest are disconnected first.
 */
export class SlowReaderGuard {
  readonly #limits: Pick<HttpServerLimits, 'answerIdleMs' | 'sweepMs' | 'heldBytes'>;
  /** A clock in milliseconds that the sweeps advance: a stall of this process does not count against clients. */
  #now = 0;
  /** Sorted by idleness: the client idle for longest comes first. */
  readonly #readers = new Map<Socket, SlowReader>();

  constructor(limits: Pick<HttpServerLimits, 'answerIdleMs' | 'sweepMs' | 'heldBytes'>) {
    this.#limits = limits;
  }

  /** Checks all unfinished responses, each `sweepMs`, and disconnects idle clients. Returns how many. */
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
