import type { Deadline } from '../../deadline.ts';
import { AppError } from '../../errors.ts';
import type { Parameter } from '../connection.ts';
import { connectionError, isCrowded, isUnfit } from './errors.ts';
import type { PoolObserver, PoolUsage, StatementObservation } from '../observer.ts';
import type { Hosts, Node } from './hosts.ts';
import { MysqlSession, type StatementBudget } from './session.ts';
import type { Setting } from './settings.ts';

/** Calls that wait for a connection; beyond, they are refused. Far more than can be served within their time. */
const MAX_WAITING = 1000;
/** How long a connection stays open that nobody uses. */
const IDLE_MS = 60_000;
/** How long a server that has enough connections is asked for no more, where there are some. */
const CROWDED_PAUSE_MS = 1000;

/** How long a server may take to answer on a connection that nobody uses, once there is doubt. */
const PING_MS = 500;

/** What may come of having a server give up what it runs. */
interface Cancelling {
  /** It has not said a word for a while. */
  suspect: () => void;
  /** It has, or nothing is to be had from it. */
  done: (isFree: boolean) => void;
}

/** Speaks to a server about its sessions, on another one. */
export interface Canceller {
  /** Has a server give up what it runs. What is returned is to be called when that has been answered. */
  cancel: (session: MysqlSession, cancelling: Cancelling) => () => void;
  /** Has a server close a session that was closed here without an answer from it. */
  close: (session: MysqlSession) => void;
}

export interface SessionPoolOptions {
  hosts: Hosts;
  /** How many connections, at most. They are opened when they are needed. */
  limit: number;
  /** What each connection runs before it is used for the first time. */
  settings: readonly Setting[];
  statements: StatementBudget;
  /** Without, what is given up runs to its end, or for as long as the connection is kept. */
  canceller?: Canceller;
  /** Makes what watches the pool, and may ask how it stands. */
  observe?: ((usage: () => PoolUsage) => PoolObserver) | undefined;
}

interface WaitingSession {
  since: number;
  use: (session: MysqlSession) => void;
  fail: (error: unknown) => void;
  forget: (() => void) | undefined;
}

/** Connections to the server in use that are all set up alike and know their prepared statements. */
export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #sessions = new Set<MysqlSession>();
  /** Those that nobody uses, and since when; the one used last at the end. */
  readonly #idle: { session: MysqlSession; since: number }[] = [];
  /** In the order of arrival. */
  readonly #waiting = new Set<WaitingSession>();
  readonly #sweep: NodeJS.Timeout;
  readonly #observer: PoolObserver | undefined;
  #connecting = 0;
  #crowdedUntil = 0;
  #isClosed = false;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
    this.#observer = options.observe?.(() => ({
      used: this.#sessions.size - this.#idle.length,
      idle: this.#idle.length,
      limit: options.limit,
      waiting: this.#waiting.size,
    }));
    this.#sweep = setInterval(() => this.#closeUnused(), IDLE_MS / 2).unref();
    options.hosts.onLeave((node, isGone) => this.#leave(node, isGone));
    options.hosts.onHostSuspect((node) => this.#check(node));
  }

  /**
   * Runs one SELECT on any connection. At the deadline it rejects at once, and the database gives it up.
   * @throws AppError TIMEOUT, OVERLOADED when too many wait already
   */
  read(sql: string, parameters: readonly Parameter[], deadline?: Deadline): Promise<unknown[]> {
    const watch = this.watch(sql);
    return new Promise((resolve, reject) => {
      const run = (session: MysqlSession): void => {
        let answered: (() => void) | undefined;
        watch?.sent(session.node.address);
        const forget = deadline?.onEnd((error) => {
          answered = this.breakOff(session, () => this.release(session));
          watch?.end(error);
          reject(error);
        });
        session.run(sql, parameters, (error, rows) => {
          if (answered) {
            answered();
            return;
          }
          forget?.();
          watch?.end(error);
          if (error) {
            this.note(session, error);
            reject(error);
          } else {
            resolve(rows as unknown[]);
          }
          this.release(session);
        });
      };
      const fail = (error: unknown): void => {
        watch?.end(error);
        reject(error);
      };
      this.#acquire(deadline, run, fail);
    });
  }

  /** Has a statement watched that is asked for now. */
  watch(sql: string): StatementObservation | undefined {
    return this.#observer?.statement(sql);
  }

  /**
   * A session for whoever calls alone, to be released.
   * @throws AppError TIMEOUT, OVERLOADED when too many wait already
   */
  acquire(deadline?: Deadline): Promise<MysqlSession> {
    return new Promise((resolve, reject) => this.#acquire(deadline, resolve, reject));
  }

  /** Gives a session to those who wait, and who come. */
  release(session: MysqlSession): void {
    if (this.#isClosed || session.isBroken || session.node.isLeft) {
      session.destroy();
      return;
    }
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next.forget?.();
      this.#noteWaited(next);
      next.use(session);
    } else {
      this.#idle.push({ session, since: Date.now() });
    }
  }

  /** Hears of an error that something met on a session: it may be the last, or that of the server. */
  note(session: MysqlSession, error: unknown): void {
    if (isUnfit(error)) {
      session.destroy();
      this.#options.hosts.leave(session.node);
    } else {
      session.note(error);
    }
  }

  /**
   * Has the database give up what a session runs. The function returned is to be called when that has been answered; `done`
   * is when the session can be used again, unless it had to be closed.
   */
  breakOff(session: MysqlSession, done: () => void): () => void {
    const { canceller, hosts } = this.#options;
    if (!canceller) {
      session.destroy();
      return () => undefined;
    }
    return canceller.cancel(session, {
      suspect: () => hosts.suspect(session.node),
      done: (isFree) => {
        if (isFree) done();
        else this.abandon(session);
      },
    });
  }

  /** Closes a session on which the server has not answered, at both ends. */
  abandon(session: MysqlSession): void {
    const { canceller, hosts } = this.#options;
    const wasThere = !session.isBroken;
    session.destroy();
    if (!wasThere || session.node.isLeft) return;
    canceller?.close(session);
    hosts.suspect(session.node);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Refuses those who wait, and closes all connections: those in use at once. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    this.#failAll(connectionError('PROTOCOL_CONNECTION_LOST', 'closed'));
    const idle = new Set(this.#idle.map(({ session }) => session));
    for (const session of this.#sessions) {
      if (idle.has(session)) session.end();
      else session.destroy();
    }
  }

  #acquire(deadline: Deadline | undefined, use: WaitingSession['use'], fail: WaitingSession['fail']): void {
    if (deadline?.error || this.#isClosed) {
      fail(deadline?.error ?? connectionError('PROTOCOL_CONNECTION_LOST', 'closed'));
      return;
    }
    const session = this.#takeIdle();
    if (session) {
      this.#observer?.waited(0);
      use(session);
      return;
    }
    if (this.#waiting.size >= MAX_WAITING) {
      fail(new AppError('OVERLOADED'));
      return;
    }
    const waiting: WaitingSession = { since: performance.now(), use, fail, forget: undefined };
    this.#waiting.add(waiting);
    waiting.forget = deadline?.onEnd((error) => {
      this.#waiting.delete(waiting);
      this.#noteWaited(waiting);
      fail(error);
    });
    this.#grow();
  }

  #noteWaited({ since }: WaitingSession): void {
    this.#observer?.waited(performance.now() - since);
  }

  #takeIdle(): MysqlSession | undefined {
    return this.#idle.pop()?.session;
  }

  /** Connects as often as somebody waits, within the limit. */
  #grow(): void {
    const { limit } = this.#options;
    while (
      this.#connecting < this.#waiting.size &&
      this.#connecting + this.#sessions.size < limit &&
      (this.#sessions.size === 0 || Date.now() >= this.#crowdedUntil)
    ) {
      void this.#connect();
    }
  }

  /** Never rejects. */
  async #connect(): Promise<void> {
    const { hosts, settings, statements } = this.#options;
    this.#connecting += 1;
    try {
      const session = new MysqlSession(await hosts.connect(settings), statements);
      this.#sessions.add(session);
      session.onBroken = () => this.#drop(session);
      this.#connecting -= 1;
      this.release(session);
    } catch (error) {
      this.#connecting -= 1;
      if (isCrowded(error) && this.#sessions.size > 0) {
        // Those that are there serve them all, one after the other.
        this.#crowdedUntil = Date.now() + CROWDED_PAUSE_MS;
      } else if (hosts.areAway) {
        this.#failAll(error);
      } else {
        const [first] = this.#waiting;
        if (first) this.#fail(first, error);
      }
    }
    this.#grow();
  }

  #fail(waiting: WaitingSession, error: unknown): void {
    this.#waiting.delete(waiting);
    waiting.forget?.();
    this.#noteWaited(waiting);
    waiting.fail(error);
  }

  #failAll(error: unknown): void {
    for (const waiting of this.#waiting) this.#fail(waiting, error);
  }

  #drop(session: MysqlSession): void {
    this.#sessions.delete(session);
    const place = this.#idle.findIndex((one) => one.session === session);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#grow();
  }

  #leave(node: Node, isGone: boolean): void {
    const idle = new Set(this.#idle.map(({ session }) => session));
    for (const session of this.#sessions) {
      if (session.node === node && (isGone || idle.has(session))) session.destroy();
    }
  }

  /** Has sessions that nobody uses prove that there is somebody at their other end, before anybody does. */
  #check(node: Node): void {
    const checked = this.#idle.filter(({ session }) => session.node === node);
    for (const { session } of checked) {
      this.#idle.splice(
        this.#idle.findIndex((one) => one.session === session),
        1,
      );
      const timer = setTimeout(() => session.destroy(), PING_MS).unref();
      session.query('DO 0', (error) => {
        clearTimeout(timer);
        if (error) session.destroy();
        this.release(session);
      });
    }
  }

  #closeUnused(): void {
    const latest = Date.now() - IDLE_MS;
    for (const { session } of this.#idle.filter(({ since }) => since < latest)) session.end();
  }
}
