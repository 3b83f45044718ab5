import type { PoolConnection, PrepareStatementInfo, QueryError, ResultSetHeader, RowDataPacket } from 'mysql2';
import type { Parameter } from './connection.ts';

type Result = RowDataPacket[] | ResultSetHeader;
type Callback = (error: QueryError | null, result: Result) => void;

/** What a server says when all who connect to it have prepared as many statements as it allows. */
export const TOO_MANY_STATEMENTS = 1461;
const MIN_STATEMENTS = 2;
const MAX_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 2;

/** How many statements each session may keep prepared. */
export class StatementBudget {
  readonly sessions = new Set<Session>();
  /** For each session. */
  max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** Halves the budget for good: others use up what the server allows to all together. */
  shrink(): void {
    this.max = Math.max(MIN_STATEMENTS, Math.floor(this.max / 2));
    for (const session of this.sessions) session.closeStatements(this.max);
  }
}

interface Prepared {
  info: PrepareStatementInfo;
  /** Rises with each run of any statement of the session. */
  lastRun: number;
}

/**
 * A connection with the statements it has prepared; of more than its budget, the one used longest ago is closed. By
 * callbacks, since mysql2's promises capture a stack for each query.
 */
export class Session {
  readonly connection: PoolConnection;
  readonly #budget: StatementBudget;
  readonly #statements = new Map<string, Prepared>();
  #runs = 0;

  constructor(connection: PoolConnection, budget: StatementBudget) {
    this.connection = connection;
    this.#budget = budget;
    budget.sessions.add(this);
    for (const event of ['end', 'error']) connection.once(event, () => budget.sessions.delete(this));
  }

  /** Runs a statement with its parameters bound on the server. */
  run(sql: string, parameters: readonly Parameter[], callback: Callback): void {
    const statement = this.#statements.get(sql);
    if (statement === undefined) {
      this.#prepare(sql, parameters, callback, 1);
      return;
    }
    statement.lastRun = ++this.#runs;
    statement.info.execute(parameters, callback);
  }

  /** Gives the connection to others. */
  release(): void {
    this.connection.release();
  }

  /** Closes the connection, which nobody else may get. */
  destroy(): void {
    this.#budget.sessions.delete(this);
    this.connection.destroy();
  }

  /** Closes all but the n statements used last. What was sent to the others before is answered. */
  closeStatements(n: number): void {
    const oldest = [...this.#statements].toSorted(([, a], [, b]) => a.lastRun - b.lastRun);
    for (const [sql] of oldest.slice(0, -n)) {
      this.#statements.delete(sql);
      this.connection.unprepare(sql);
    }
  }

  #prepare(sql: string, parameters: readonly Parameter[], callback: Callback, attempt: number): void {
    this.connection.prepare(sql, (error, statement) => {
      if (error?.errno === TOO_MANY_STATEMENTS && attempt < MAX_ATTEMPTS) {
        this.#budget.shrink();
        setTimeout(() => this.#prepare(sql, parameters, callback, attempt + 1), FIRST_PAUSE_MS * 2 ** (attempt - 1));
      } else if (error) {
        callback(error, []);
      } else {
        this.#statements.set(sql, { info: statement, lastRun: ++this.#runs });
        statement.execute(parameters, callback);
        if (this.#statements.size > this.#budget.max) this.closeStatements(this.#budget.max);
      }
    });
  }
}
