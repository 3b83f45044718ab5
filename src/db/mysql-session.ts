import type { PoolConnection, PrepareStatementInfo, QueryError, ResultSetHeader, RowDataPacket } from 'mysql2';
import type { Parameter } from './connection.ts';

type Result = RowDataPacket[] | ResultSetHeader;
type Callback = (error: QueryError | null, result: Result) => void;

/** How many statements each session of a pool may keep prepared. */
export interface StatementBound {
  max: number;
}

const TOO_MANY_STATEMENTS = 1461;
const MIN_STATEMENTS = 8;

/**
 * A connection with the statements it has prepared: as many as the bound says, the one used longest ago closed first. By
 * callbacks, since mysql2's promises capture a stack for each query.
 */
export class Session {
  readonly connection: PoolConnection;
  readonly #bound: StatementBound;
  readonly #statements = new Map<string, PrepareStatementInfo>();

  constructor(connection: PoolConnection, bound: StatementBound) {
    this.connection = connection;
    this.#bound = bound;
  }

  /** Runs a statement with its parameters bound on the server. */
  run(sql: string, parameters: readonly Parameter[], callback: Callback): void {
    const statement = this.#statements.get(sql);
    if (statement === undefined) {
      this.#prepare(sql, parameters, callback, true);
      return;
    }
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    statement.execute(parameters, callback);
  }

  #prepare(sql: string, parameters: readonly Parameter[], callback: Callback, again: boolean): void {
    this.connection.prepare(sql, (error, statement) => {
      if (error?.errno === TOO_MANY_STATEMENTS && again) {
        // Others may use up what the server allows to all together, so these sessions keep fewer from now on.
        this.#bound.max = Math.max(MIN_STATEMENTS, Math.floor(this.#bound.max / 2));
        this.#close(this.#statements.size);
        this.#prepare(sql, parameters, callback, false);
      } else if (error) {
        callback(error, []);
      } else {
        this.#statements.set(sql, statement);
        statement.execute(parameters, callback);
        this.#close(this.#statements.size - this.#bound.max);
      }
    });
  }

  /** Closes the n statements used longest ago. What was already sent to them is answered first. */
  #close(n: number): void {
    for (const sql of [...this.#statements.keys()].slice(0, Math.max(n, 0))) {
      this.#statements.delete(sql);
      this.connection.unprepare(sql);
    }
  }
}
