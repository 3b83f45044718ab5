import type { QueryError } from 'mysql2';
import { Deadline } from '../../deadline.ts';
import { INTERRUPTED } from './errors.ts';
import type { Canceller, SessionPool } from './pool.ts';
import type { Session } from './session.ts';

/** How long a server may take to give up a statement, before the connection is closed. */
export const CANCEL_MS = 1000;

/**
 * Tells a server, on a connection of its own, to give up what a session runs. Calls back when it has heard; when it has
 * not, the session is closed in a moment.
 */
const kill = async (control: SessionPool, { connection, node, server }: Session, heard: () => void): Promise<void> => {
  const deadline = new Deadline(CANCEL_MS);
  const session = await control.acquire(deadline).catch(() => undefined);
  // Elsewhere the number is that of somebody else.
  if (session?.node !== node || session.server !== server) {
    deadline.close();
    if (session) control.release(session);
    return;
  }
  deadline.onEnd(() => session.destroy());
  session.query(`KILL QUERY ${connection.threadId}`, (error) => {
    deadline.close();
    if (error) control.note(session, error);
    if (!session.isBroken) heard();
    control.release(session);
  });
};

/** A word that comes late would hit whatever the session runs next: this takes it instead. */
const absorb = (session: Session, done: (isFree: boolean) => void): void => {
  session.query('DO 0', (error: QueryError | null) => {
    if (error?.errno === INTERRUPTED) absorb(session, done);
    else done(error === null);
  });
};

/**
 * Has statements given up by `KILL QUERY`. Nobody may use the session before both the statement and the word to kill it are
 * answered, since the next statement could be hit by it.
 */
export const createCanceller =
  (control: SessionPool): Canceller =>
  (session, done) => {
    let left = 2;
    let isOver = false;
    const finish = (isFree: boolean): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      done(isFree);
    };
    const timer = setTimeout(() => finish(false), CANCEL_MS).unref();
    const one = (): void => {
      left -= 1;
      if (session.isBroken) finish(false);
      else if (left === 0) absorb(session, finish);
    };
    void kill(control, session, one);
    return one;
  };
