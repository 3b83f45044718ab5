import type { Server, Socket } from 'node:net';
import { nextTurn, performance, setImmediate } from '../../base/runtime.ts';
import { FairQueue, type Queued } from '../../limits/overload/fair-queue.ts';
import { acceptPaused } from './node-internals.ts';

/** The connections accepted in a burst before requests are served; a burst takes some milliseconds. */
const MOST_ACCEPTED = 512;
const ACCEPT_MS = 100;
/** The milliseconds in which requests are served after a burst. */
const SERVE_MS = 40;
/** The most accepted connections that are opened for reading in a turn of the event loop, latest first. */
const OPENED_AT_ONCE = 32;
/** The most requests that begin in a turn, and the milliseconds after which no further request begins. */
const BEGUN_AT_ONCE = 96;
const BEGIN_MS = 8;

/** The window over which the rate is measured, in milliseconds. */
const WINDOW_MS = 100;
/** The weight of the last window in the rate. */
const WEIGHT = 0.5;

/** The length of an idle turn, in milliseconds. */
const SHORT_TURN_MS = 0.1;

/** Begins a request that waited for this number of milliseconds. */
type Begin = (waitedMs: number) => void;

interface WaitingRequest extends Queued {
  since: number;
  begin: Begin;
}

/**
 * Divides the event loop between new connections and requests. Node accepts one connection in each turn of the loop,
 * the oldest first: if a turn served all requests of a crowd, new connections would wait for seconds. So connections
 * are accepted in bursts, and the number of requests in a turn is limited; beyond, callers take turns.
 */
export class AcceptScheduler {
  /** Accepted connections that are not yet read from, the latest last. */
  readonly #unopened: Socket[] = [];
  readonly #waiting = new FairQueue<WaitingRequest>();
  readonly #open: (socket: Socket) => void;
  readonly #onPhase: ((isServing: boolean) => void) | undefined;
  readonly #now: () => number;
  #accepted = 0;
  /** The number of connections at the end of the last turn. */
  #acceptedAtLastTurn = 0;
  #isServing = true;
  /** The start of the phase, and the number of connections accepted before. */
  #since = 0;
  #acceptedBefore = 0;
  /** The requests that began in this turn, and the milliseconds that they took. */
  #begun = 0;
  #begunMs = 0;
  /** The rate at which requests begin while others wait, per millisecond; unknown until measured for a window. */
  #rate: number | undefined;
  /** The window: its start, and the number of requests that began. */
  #windowSince = 0;
  #windowBegun = 0;
  #isEndScheduled = false;

  /**
   * Takes over the connections of `server`. Each change of the phase calls `onPhase`, with whether requests are served.
   * `now` is a clock in milliseconds.
   */
  constructor(server: Server, onPhase?: (isServing: boolean) => void, now = (): number => performance.now()) {
    this.#onPhase = onPhase;
    this.#now = now;
    const listeners = server.listeners('connection');
    server.removeAllListeners('connection');
    this.#open = (socket) => {
      for (const listener of listeners) (listener as (this: Server, socket: Socket) => void).call(server, socket);
      socket.resume();
    };
    acceptPaused(server);
    server.on('connection', this.#hold);
  }

  /** Begins a request, now or when its caller's turn comes. */
  schedule(caller: () => string, begin: Begin): void {
    this.#scheduleEndOfTurn();
    if (this.#isServing && this.#waiting.size === 0 && this.#hasTime) {
      this.#begin(begin);
      return;
    }
    const since = this.#now();
    if (this.#waiting.size === 0) this.#startWindow(since);
    this.#waiting.push(caller(), { cost: 1, since, begin });
  }

  /** The milliseconds that a further request of a caller would wait to begin, if known. */
  waitMs(caller: () => string): number {
    if (this.#waiting.size === 0 || this.#rate === undefined) return 0;
    return this.#waiting.costUntil(caller(), 1) / this.#rate;
  }

  /** Resolves when no connection was accepted during a short turn, or after `ms`. */
  async whenIdle(ms: number): Promise<void> {
    const until = this.#now() + ms;
    // Connections are accepted at the end of a turn.
    await nextTurn();
    for (;;) {
      const [began, before] = [this.#now(), this.#accepted];
      await nextTurn();
      const now = this.#now();
      if ((this.#accepted === before && now - began < SHORT_TURN_MS) || now > until) return;
    }
  }

  readonly #hold = (socket: Socket): void => {
    this.#accepted += 1;
    if (this.#unopened.length === 0 && this.#waiting.size === 0) this.#change(false, this.#now());
    this.#unopened.push(socket);
    this.#scheduleEndOfTurn();
  };

  #change(isServing: boolean, now: number): void {
    this.#isServing = isServing;
    this.#since = now;
    this.#acceptedBefore = this.#accepted;
    this.#onPhase?.(isServing);
  }

  #scheduleEndOfTurn(): void {
    if (this.#isEndScheduled) return;
    this.#isEndScheduled = true;
    setImmediate(this.#endTurn);
  }

  /** Called at the end of each turn. */
  readonly #endTurn = (): void => {
    this.#isEndScheduled = false;
    const isCrowd = this.#accepted > this.#acceptedAtLastTurn;
    this.#acceptedAtLastTurn = this.#accepted;
    const now = this.#now();
    this.#begun = 0;
    this.#begunMs = 0;
    const ms = now - this.#since;
    const isOver = this.#isServing
      ? ms > SERVE_MS
      : !isCrowd || ms > ACCEPT_MS || this.#accepted - this.#acceptedBefore > MOST_ACCEPTED;
    if (isOver) this.#change(!this.#isServing, now);
    if (this.#isServing) this.#serve();
    this.#noteRate(now);
    if (this.#begun > 0 || this.#unopened.length > 0 || this.#waiting.size > 0) this.#scheduleEndOfTurn();
    else if (!this.#isServing) this.#change(true, now);
  };

  #serve(): void {
    for (const socket of this.#unopened.splice(-OPENED_AT_ONCE).toReversed()) this.#open(socket);
    while (this.#hasTime) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#begin(next.begin, this.#now() - next.since);
    }
  }

  /** Whether another request may begin in this turn. */
  get #hasTime(): boolean {
    return this.#begun < BEGUN_AT_ONCE && this.#begunMs < BEGIN_MS;
  }

  #begin(begin: Begin, waitedMs = 0): void {
    const began = this.#now();
    begin(waitedMs);
    this.#begunMs += this.#now() - began;
    this.#begun += 1;
    this.#windowBegun += 1;
  }

  #startWindow(now: number): void {
    this.#windowSince = now;
    this.#windowBegun = 0;
  }

  #noteRate(now: number): void {
    const ms = now - this.#windowSince;
    if (this.#waiting.size === 0) this.#rate = undefined;
    else if (ms >= WINDOW_MS && this.#windowBegun > 0) {
      const rate = this.#windowBegun / ms;
      this.#rate = this.#rate === undefined ? rate : this.#rate + WEIGHT * (rate - this.#rate);
      this.#startWindow(now);
    }
  }
}
