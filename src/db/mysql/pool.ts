import { clearInterval, clearTimeout, currentTime, setInterval, setTimeout } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import type { Parameter } from '../connection.ts';
import { WaitingQueue } from '../waiting-queue.ts';
import { connectionError, isCrowded, isUnfit } from './errors.ts';
import type { PoolObserver, PoolUsage, StatementObservation } from '../../base/observer.ts';
import type { Hosts, Node } from './hosts.ts';
import { MysqlSession, type StatementBudget } from './session.ts';
import type { Setting } from './settings.ts';

/** The maximum number of waiting calls. */
const MAX_WAITING = 1000;
/** How long an idle connection stays open. */
const IDLE_MS = 60_000;
/** The pause before new connections after the server refused one for having too many. */
const CROWDED_PAUSE_MS = 1000;

/** How long a suspected server may take to answer a ping on an idle connection. */
const PING_MS = 500;

/** The outcomes of cancelling a statement. */
interface Cancelling {
  /** Called when the server has not answered for a while. */
  suspect: () => void;
  /** Called with true when the session is free again, and with `false` when it must be closed. */
  done: (isFree: boolean) => void;
}

/** Controls the sessions of a server over another connection. */
export interface Canceller {
  /** Cancels the running statement of a session. The caller calls the returned function when the statement ends. */
  cancel: (session: MysqlSession, cancelling: Cancelling) => () => void;
  /** Closes at the server a session that was closed here without an answer of the server. */
  close: (session: MysqlSession) => void;
}

export interface SessionPoolOptions {
  hosts: Hosts;
  /** The maximum number of connections. They are opened on demand. */
  limit: number;
  /** The settings of each new connection. */
  settings: readonly Setting[];
  statements: StatementBudget;
  /** Without a canceller, a cancelled statement is abandoned by closing its connection. */
  canceller?: Canceller;
  /** Makes the observer of the pool, which may ask for its usage. */
  observe?: ((usage: () => PoolUsage) => PoolObserver) | undefined;
}

/** Connections to the server in use, all with the same settings, that keep their prepared statements. */
export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #sessions = new Set<MysqlSession>();
  /** Idle sessions, and since when each is idle; the latest at the end. */
  readonly #idle: { session: MysqlSession; since: number }[] = [];
  readonly #queue: WaitingQueue<MysqlSession>;
  readonly #sweep: NodeJS.Timeout;
  readonly #observer: PoolObserver | undefined;
  #connecting = 0;
  #crowdedUntil = 0;
  #isClosed = false;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
    this.#queue = new WaitingQueue(MAX_WAITING, (ms) => this.#observer?.waited(ms));
    this.#observer = options.observe?.(() => ({
      used: this.#sessions.size - this.#idle.length,
      idle: this.#idle.length,
      limit: options.limit,
      waiting: this.#queue.size,
    }));
    this.#sweep = setInterval(() => this.#closeUnused(), IDLE_MS / 2).unref();
    options.hosts.onLeave((node, isGone) => this.#leave(node, isGone));
    options.hosts.onHostSuspect((node) => this.#check(node));
  }

  /**
   * Runs one SELECT on any connection. At the deadline it rejects at once, and the statement is cancelled.
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

  /** Begins to observe a statement. */
  watch(sql: string): StatementObservation | undefined {
    return this.#observer?.statement(sql);
  }

  /**
   * Returns a session for the caller alone, who releases it.
   * @throws AppError TIMEOUT, OVERLOADED when too many wait already
   */
  acquire(deadline?: Deadline): Promise<MysqlSession> {
    return new Promise((resolve, reject) => this.#acquire(deadline, resolve, reject));
  }

  /** Returns a session to the pool: the first waiting call gets it. */
  release(session: MysqlSession): void {
    if (this.#isClosed || session.isBroken || session.node.isLeft) {
      session.destroy();
      return;
    }
    if (!this.#queue.serve(session)) this.#idle.push({ session, since: currentTime() });
  }

  /** Handles an error on a session, which may end the session or the use of its server. */
  note(session: MysqlSession, error: unknown): void {
    if (isUnfit(error)) {
      session.destroy();
      this.#options.hosts.leave(session.node);
    } else {
      session.note(error);
    }
  }

  /**
   * Cancels the running statement of a session. The caller calls the returned function when the statement ends. `done`
   * is called when the session can be used again, and never if it had to be closed.
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

  /** Closes a session at both ends, without an answer of the server. */
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

  /** Fails the waiting calls, and closes all connections: busy ones at once. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    this.#queue.failAll(connectionError('PROTOCOL_CONNECTION_LOST', 'closed'));
    const idle = new Set(this.#idle.map(({ session }) => session));
    for (const session of this.#sessions) {
      if (idle.has(session)) session.end();
      else session.destroy();
    }
  }

  #acquire(deadline: Deadline | undefined, use: (session: MysqlSession) => void, fail: (error: unknown) => void): void {
    if (deadline?.error || this.#isClosed) {
      fail(deadline?.error ?? connectionError('PROTOCOL_CONNECTION_LOST', 'closed'));
      return;
    }
    const session = this.#idle.pop()?.session;
    if (session) {
      this.#observer?.waited(0);
      use(session);
      return;
    }
    if (this.#queue.join(deadline, use, fail)) this.#grow();
  }

  /** Opens a connection for each waiting call, within the limit. */
  #grow(): void {
    const { limit } = this.#options;
    while (
      this.#connecting < this.#queue.size &&
      this.#connecting + this.#sessions.size < limit &&
      (this.#sessions.size === 0 || currentTime() >= this.#crowdedUntil)
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
        // The open connections serve all waiting calls, one after the other.
        this.#crowdedUntil = currentTime() + CROWDED_PAUSE_MS;
      } else if (hosts.areUnreachable) {
        this.#queue.failAll(error);
      } else {
        this.#queue.failFirst(error);
      }
    }
    this.#grow();
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

  /** Pings the idle connections to a server, and closes those without an answer. */
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
    const latest = currentTime() - IDLE_MS;
    for (const { session } of this.#idle.filter(({ since }) => since < latest)) session.end();
  }
}
