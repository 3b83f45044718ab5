import type { Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * How many of those who stand at the door come in at a stretch: it takes them some milliseconds, but for what was begun
 * before and ends meanwhile; then it takes so many milliseconds at most.
 */
const MOST_COME_IN = 512;
const COME_IN_MS = 100;
/** How long those who came in are heard then, milliseconds. */
const HEAR_MS = 40;
/** How many of those who came in are listened to at each turn of the event loop, the latest first. */
const LISTENED_AT_ONCE = 32;
/** How many requests are begun at each turn. */
const HEARD_AT_ONCE = 96;

/** A turn in which nothing was done but to look, milliseconds. */
const SHORT_TURN_MS = 0.1;

/** A request that waits until it is heard. */
interface Waiter {
  since: number;
  begin: (waitedMs: number) => void;
}

/**
 * Shares this process' time between those who come and those who are in. Node accepts one connection at each turn of its
 * event loop, the longest waiting first: were a turn as long as it takes to hear whatever a crowd asks, whoever connects
 * behind it would wait for seconds. So a crowd comes in before any of it is listened to, and is heard for a while before
 * more come in.
 */
export class Door {
  /** Connections that are not listened to yet, the latest last. */
  readonly #held: Socket[] = [];
  /** In the order in which they came. */
  readonly #waiting: Waiter[] = [];
  readonly #serve: (socket: Socket) => void;
  #cameIn = 0;
  /** Of those, how many had come in at the last look. */
  #seen = 0;
  #isHearing = true;
  /** Since when they are heard, or come in, and how many had come in before. */
  #since = 0;
  #cameInBefore = 0;
  /** How many requests were begun in this turn. */
  #heard = 0;
  #isLooking = false;

  /** Stands before what `server` does with its connections. */
  constructor(server: Server) {
    const listeners = server.listeners('connection');
    server.removeAllListeners('connection');
    this.#serve = (socket) => {
      for (const listener of listeners) (listener as (this: Server, socket: Socket) => void).call(server, socket);
      socket.resume();
    };
    // The option of this name, which HTTP's servers do not pass on.
    Object.assign(server, { pauseOnConnect: true });
    server.on('connection', this.#hold);
  }

  /** Has a request begun, now or as soon as there is time. It is told how long it had to wait, in milliseconds. */
  hear(begin: (waitedMs: number) => void): void {
    this.#lookSoon();
    if (this.#isHearing && this.#waiting.length === 0 && this.#heard < HEARD_AT_ONCE) {
      this.#heard += 1;
      begin(0);
      return;
    }
    this.#waiting.push({ since: performance.now(), begin });
  }

  /** Resolves when nobody has come to the door for as long as a short turn takes, or after `ms`. */
  async whenEmpty(ms: number): Promise<void> {
    const until = performance.now() + ms;
    // Nobody can come in before the end of the turn that this begins in.
    await nextTurn();
    for (;;) {
      const [began, before] = [performance.now(), this.#cameIn];
      await nextTurn();
      const now = performance.now();
      if ((this.#cameIn === before && now - began < SHORT_TURN_MS) || now > until) return;
    }
  }

  readonly #hold = (socket: Socket): void => {
    this.#cameIn += 1;
    if (this.#held.length === 0 && this.#waiting.length === 0) this.#change(false, performance.now());
    this.#held.push(socket);
    this.#lookSoon();
  };

  #change(isHearing: boolean, now: number): void {
    this.#isHearing = isHearing;
    this.#since = now;
    this.#cameInBefore = this.#cameIn;
  }

  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(this.#look);
  }

  /** At the end of a turn. */
  readonly #look = (): void => {
    this.#isLooking = false;
    const isCrowd = this.#cameIn > this.#seen;
    this.#seen = this.#cameIn;
    const now = performance.now();
    this.#heard = 0;
    const ms = now - this.#since;
    const isOver = this.#isHearing
      ? ms > HEAR_MS
      : !isCrowd || ms > COME_IN_MS || this.#cameIn - this.#cameInBefore > MOST_COME_IN;
    if (isOver) this.#change(!this.#isHearing, now);
    if (this.#isHearing) this.#listen(now);
    if (this.#held.length > 0 || this.#waiting.length > 0) this.#lookSoon();
    else this.#isHearing = true;
  };

  #listen(now: number): void {
    for (const socket of this.#held.splice(-LISTENED_AT_ONCE).toReversed()) this.#serve(socket);
    const heard = this.#waiting.splice(0, HEARD_AT_ONCE);
    this.#heard = heard.length;
    for (const { since, begin } of heard) begin(now - since);
  }
}
