import type { ResultSetHeader } from 'mysql2';
import { clearTimeout, setTimeout } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { Parameter, Statements } from '../connection.ts';
import { connectionError, isRefusedCommit } from './errors.ts';
import type { MysqlSession } from './session.ts';
import type { SessionPool } from './pool.ts';

/** How long a server may take to roll back, or to answer a COMMIT after the deadline. */
const END_MS = 1000;

const rowsOf = <Row>(result: unknown): Row[] => result as Row[];
const affectedRows = (result: unknown): number => (result as ResultSetHeader).affectedRows;

/** `over`: COMMIT was answered or the rollback has begun, so the end of the work no longer matters. */
type AttemptState = 'open' | 'committing' | 'over';

/** One run of a transaction, on a session without autocommit, where the first statement begins it. */
class Attempt {
  readonly #pool: SessionPool;
  readonly #session: MysqlSession;
  readonly #deadline: Deadline | undefined;
  #state: AttemptState = 'open';
  /** The number of statements not answered yet. */
  #running = 0;
  /** Whether a write was sent, which a COMMIT could store. */
  #hasWritten = false;
  #onAnswered: (() => void) | undefined;

  constructor(pool: SessionPool, session: MysqlSession, deadline: Deadline | undefined) {
    this.#pool = pool;
    this.#session = session;
    this.#deadline = deadline;
  }

  run<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    const deadline = this.#deadline;
    if (!deadline) return this.#attempt(work);
    return new Promise((resolve, reject) => {
      const forget = deadline.onEnd((error) => reject(this.#giveUp(error)));
      this.#attempt(work).then(resolve, reject).finally(forget);
    });
  }

  async #attempt<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await work({
        read: <Row>(sql: string, parameters: readonly Parameter[] = []) => this.#run(sql, parameters, rowsOf<Row>),
        execute: (sql, parameters = []) => {
          this.#hasWritten = true;
          return this.#run(sql, parameters, affectedRows);
        },
      });
    } catch (error) {
      if (this.#state === 'open') {
        this.#state = 'over';
        this.#pool.note(this.#session, error);
        await this.#undo();
      }
      throw error;
    }
    // The deadline ended meanwhile.
    if (this.#state !== 'open') throw this.#ended();
    this.#state = 'committing';
    await this.#commit();
    return result;
  }

  /** Runs a statement. Rejects it after the end of the transaction, where it would begin another one. */
  #run<T>(sql: string, parameters: readonly Parameter[], take: (result: unknown) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#state !== 'open') throw this.#ended();
      this.#running += 1;
      const watch = this.#pool.watch(sql);
      watch?.sent(this.#session.node.address);
      this.#session.run(sql, parameters, (error, result) => {
        this.#running -= 1;
        watch?.end(error);
        if (error) reject(error);
        else resolve(take(result));
        if (this.#running === 0) this.#onAnswered?.();
      });
    });
  }

  #ended(): Error {
    return this.#deadline?.error ?? new Error('the transaction has ended');
  }

  /** Abandons the transaction at the deadline. Returns the caller's error. */
  #giveUp(error: AppError): AppError {
    // A COMMIT must not be interrupted: only the server knows its outcome.
    if (this.#state === 'committing') {
      setTimeout(() => this.#state === 'committing' && this.#pool.abandon(this.#session), END_MS).unref();
      return this.#hasWritten ? new AppError('OUTCOME_UNKNOWN', { cause: error }) : error;
    }
    if (this.#state === 'open') {
      this.#state = 'over';
      void this.#undo();
    }
    return error;
  }

  /** Cancels the running statement, rolls back and releases the session. On failure, closes it, which rolls back. */
  async #undo(): Promise<void> {
    if (this.#running > 0 && !this.#session.isBroken) {
      await new Promise<void>((resolve) => {
        const answered = this.#pool.breakOff(this.#session, resolve);
        this.#onAnswered = () => {
          answered();
          if (this.#session.isBroken) resolve();
        };
      });
    }
    if (!this.#session.isBroken) await rollBack(this.#pool, this.#session);
    this.#pool.release(this.#session);
  }

  /** @throws AppError OUTCOME_UNKNOWN; the server's error if nothing was stored */
  async #commit(): Promise<void> {
    // COMMIT was not sent, so nothing is stored.
    if (this.#session.isBroken) throw connectionError('PROTOCOL_CONNECTION_LOST', 'lost before COMMIT');
    const watch = this.#pool.watch('COMMIT');
    watch?.sent(this.#session.node.address);
    const error = await new Promise<Error | null>((resolve) => this.#session.run('COMMIT', [], resolve));
    watch?.end(error);
    this.#state = 'over';
    if (!error) {
      this.#pool.release(this.#session);
      return;
    }
    this.#pool.note(this.#session, error);
    const isRefused = isRefusedCommit(error);
    if (!isRefused) this.#session.destroy();
    await this.#undo();
    throw isRefused || !this.#hasWritten ? error : new AppError('OUTCOME_UNKNOWN', { cause: error });
  }
}

/** Rolls back, or else closes the connection: no other call may get a session with an open transaction. */
const rollBack = (pool: SessionPool, session: MysqlSession): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => pool.abandon(session), END_MS).unref();
    session.query('ROLLBACK', (error) => {
      clearTimeout(timer);
      if (error) session.destroy();
      resolve();
    });
  });

/**
 * Runs `work` as one transaction on a session of a pool without autocommit. At the deadline it rejects at once, and the
 * database cancels the running statement and rolls back.
 * @throws AppError TIMEOUT, when nothing is stored; OUTCOME_UNKNOWN, when COMMIT was sent and not answered
 */
export const transactionOn = async <T>(
  pool: SessionPool,
  work: (statements: Statements) => Promise<T>,
  deadline?: Deadline,
): Promise<T> => new Attempt(pool, await pool.acquire(deadline), deadline).run(work);
