import type { QueryError, RowDataPacket } from 'mysql2';
import { clearTimeout, performance, setTimeout, sleep } from '../../base/runtime.ts';
import { Deadline } from '../../base/deadline.ts';
import { INTERRUPTED } from './errors.ts';
import type { Canceller, SessionPool } from './pool.ts';
import type { MysqlSession } from './session.ts';

/** How long a server may take to cancel a statement, before the connection is closed. */
const CANCEL_MS = 1000;
/** The time without an answer after which the other connections to the server are checked, too. */
const SILENT_MS = 300;
/** How long to try to close an abandoned connection at the server, and the pause between two attempts. */
const CLOSE_FOR_MS = 60_000;
const CLOSE_AGAIN_MS = 500;
/** The time limit of one attempt: connecting, and an answer. */
const CLOSE_MS = 3000;

/**
 * Runs `work` on a control session of the target's server, which is closed after `ms`. Resolves to undefined without
 * such a session: on another server, the same connection id belongs to another client.
 */
const onControl = async <T>(
  control: SessionPool,
  { node, server }: MysqlSession,
  ms: number,
  work: (session: MysqlSession) => Promise<T>,
): Promise<T | undefined> => {
  const deadline = new Deadline(ms);
  try {
    const session = await control.acquire(deadline).catch(() => undefined);
    if (!session) return undefined;
    try {
      if (session.node !== node || session.server !== server) return undefined;
      deadline.onEnd(() => session.destroy());
      return await work(session);
    } finally {
      control.release(session);
    }
  } finally {
    deadline.close();
  }
};

/**
 * Cancels the running statement of a session with `KILL QUERY` on a control connection. Calls back when the server has
 * answered; otherwise the session is closed shortly after.
 */
const kill = (control: SessionPool, target: MysqlSession, onAnswer: () => void): Promise<void> =>
  onControl(
    control,
    target,
    CANCEL_MS,
    (session) =>
      new Promise((resolve) => {
        session.query(`KILL QUERY ${target.connection.threadId}`, (error) => {
          if (error) control.note(session, error);
          if (!session.isBroken) onAnswer();
          resolve();
        });
      }),
  );

/** Absorbs a late `KILL QUERY`, which would cancel the next statement of the session. */
const absorb = (session: MysqlSession, done: (isFree: boolean) => void): void => {
  session.query('DO 0', (error: QueryError | null) => {
    if (error?.errno === INTERRUPTED) absorb(session, done);
    else done(error === null);
  });
};

/**
 * Closes abandoned connections at the server as well: if the network failed, the server would keep them, and the locks
 * of their transactions, for hours.
 */
class Closer {
  readonly #control: SessionPool;
  /** Sessions to close, each with the time at which the attempts end, by `performance.now()`. */
  readonly #targets = new Map<MysqlSession, number>();
  #isAtWork = false;

  constructor(control: SessionPool) {
    this.#control = control;
  }

  add(target: MysqlSession): void {
    this.#targets.set(target, performance.now() + CLOSE_FOR_MS);
    if (!this.#isAtWork) void this.#work();
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    this.#isAtWork = true;
    while (this.#targets.size > 0 && !this.#control.isClosed) {
      const failed = new Set<MysqlSession['node']>();
      for (const [target, until] of this.#targets) {
        if (target.node.isLeft || performance.now() > until) this.#targets.delete(target);
        else if (!failed.has(target.node)) {
          if (await this.#close(target)) this.#targets.delete(target);
          else failed.add(target.node);
        }
      }
      if (failed.size > 0) await sleep(CLOSE_AGAIN_MS, undefined, { ref: false });
    }
    this.#isAtWork = false;
  }

  /** Resolves to true when nothing is left to do. */
  async #close(target: MysqlSession): Promise<boolean> {
    return (await onControl(this.#control, target, CLOSE_MS, (session) => this.#closeOn(session, target))) ?? false;
  }

  #closeOn(session: MysqlSession, target: MysqlSession): Promise<boolean> {
    return new Promise((resolve) => {
      session.connection.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Uptime'", (fault, rows) => {
        if (fault) {
          resolve(false);
          return;
        }
        // The server has restarted since: the connection is closed, and its id may belong to another client.
        if (Number(rows[0]?.['Value']) < Math.floor(target.ageMs / 1000)) resolve(true);
        else session.query(`KILL ${target.connection.threadId}`, () => resolve(!session.isBroken));
      });
    });
  }
}

/**
 * Cancels statements by `KILL QUERY`. A session is free only when both the statement and the `KILL QUERY` are answered:
 * a late `KILL QUERY` would cancel the next statement.
 */
export const createCanceller = (control: SessionPool): Canceller => {
  const closer = new Closer(control);
  return {
    cancel: (session, { suspect, done }) => {
      let left = 2;
      let isOver = false;
      const finish = (isFree: boolean): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(silence);
        clearTimeout(timer);
        done(isFree);
      };
      const silence = setTimeout(suspect, SILENT_MS).unref();
      const timer = setTimeout(() => finish(false), CANCEL_MS).unref();
      const one = (): void => {
        left -= 1;
        clearTimeout(silence);
        if (session.isBroken) finish(false);
        else if (left === 0) absorb(session, finish);
      };
      void kill(control, session, one);
      return one;
    },
    close: (session) => closer.add(session),
  };
};
