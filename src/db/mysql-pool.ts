import mysql, { type PoolConnection, type PoolOptions } from 'mysql2';
import { AppError } from '../errors.ts';
import type { Parameter } from './connection.ts';
import { Session, type StatementBudget } from './mysql-session.ts';
import { withSettings } from './mysql-settings.ts';

/** Calls that wait for a connection; beyond, they are refused. */
const MAX_WAITING = 2000;

interface Options {
  /** How to connect, and to how many connections at most. */
  connection: PoolOptions;
  /** What each connection runs before it is used for the first time. */
  settings: readonly string[];
  statements: StatementBudget;
}

/** Connections that are all set up alike and know their prepared statements. */
export class SessionPool {
  readonly #pool: mysql.Pool;
  readonly #statements: StatementBudget;
  readonly #sessions = new WeakMap<PoolConnection, Session>();

  constructor({ connection, settings, statements }: Options) {
    this.#statements = statements;
    this.#pool = withSettings(mysql.createPool({ ...connection, queueLimit: MAX_WAITING }), settings);
  }

  /** Runs one SELECT on any connection. @throws AppError OVERLOADED when too many wait already */
  read(sql: string, parameters: readonly Parameter[]): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      this.#acquire(reject, (session) => {
        session.run(sql, parameters, (error, rows) => {
          session.release();
          if (error) reject(error);
          else resolve(rows as unknown[]);
        });
      });
    });
  }

  /** A session for whoever calls alone, to be released. @throws AppError OVERLOADED when too many wait already */
  acquire(): Promise<Session> {
    return new Promise((resolve, reject) => this.#acquire(reject, resolve));
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pool.end((error) => (error ? reject(error) : resolve()));
    });
  }

  #acquire(fail: (error: unknown) => void, use: (session: Session) => void): void {
    this.#pool.getConnection((error, connection) => {
      if (error) {
        fail(error.message === 'Queue limit reached.' ? new AppError('OVERLOADED', { cause: error }) : error);
        return;
      }
      use(this.#sessions.get(connection) ?? this.#begin(connection));
    });
  }

  #begin(connection: PoolConnection): Session {
    const session = new Session(connection, this.#statements);
    this.#sessions.set(connection, session);
    return session;
  }
}
