import mysql, {
  type Connection,
  type PrepareStatementInfo,
  type QueryError,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2';
import { performance, setTimeout } from '../../base/runtime.ts';
import type { Parameter } from '../connection.ts';
import { breakConnection, socketOf } from './connect.ts';
import { connectionError, isBroken, TOO_MANY_STATEMENTS } from './errors.ts';
import type { HostLink, Node } from './hosts.ts';

type QueryResult = RowDataPacket[] | ResultSetHeader;
type Callback = (error: QueryError | null, result: QueryResult) => void;

const MIN_STATEMENTS = 1;
const MAX_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 2;
/** How long a server may take to close a connection. */
const CLOSE_GRACE_MS = 100;

/** The maximum number of prepared statements of all sessions together, shared equally. */
export class StatementBudget {
  readonly #sessions = new Set<MysqlSession>();
  #total: number;

  constructor(total: number) {
    this.#total = total;
  }

  /** The maximum of each session. */
  get max(): number {
    return Math.max(MIN_STATEMENTS, Math.floor(this.#total / Math.max(1, this.#sessions.size)));
  }

  add(session: MysqlSession): void {
    this.#sessions.add(session);
    this.#trim();
  }

  delete(session: MysqlSession): void {
    this.#sessions.delete(session);
  }

  /** Halves the budget permanently: other clients use up the server's common limit. */
  shrink(): void {
    this.#total = Math.floor((this.max * this.#sessions.size) / 2);
    this.#trim();
  }

  #trim(): void {
    for (const session of this.#sessions) session.closeStatements(this.max);
  }
}

/** The indexes, from 0, of a statement's parameters that are a LIMIT or OFFSET. Our SQL has `?` for parameters only. */
export const limitsIn = (sql: string): number[] => {
  const limits: number[] = [];
  let place = 0;
  for (const [match] of sql.matchAll(/(?:\b(?:LIMIT|OFFSET)\s+)?\?/gi)) {
    if (match !== '?') limits.push(place);
    place += 1;
  }
  return limits;
};

interface Prepared {
  info: PrepareStatementInfo;
  /** See `limitsIn`. */
  limits: readonly number[];
  /** Rises with each run of any statement of the session. */
  lastRun: number;
}

/** The part of a parameter's definition that the driver reads. */
interface StatementDefinition {
  columnType: number;
  flags: number;
}

const definitions = new Map<string, StatementDefinition>();

/** Returns one shared object for all equal definitions. */
const sharedDefinition = ({ columnType, flags }: StatementDefinition): StatementDefinition => {
  const key = `${columnType} ${flags}`;
  const known = definitions.get(key) ?? { columnType, flags };
  definitions.set(key, known);
  return known;
};

/**
 * Reduces a statement's parameter definitions to the fields that binding needs: an INSERT of 256 rows may have
 * thousands of parameters, and the driver would keep each definition with its network packet.
 */
const forgetDefinitions = (statement: PrepareStatementInfo): void => {
  const info = statement as PrepareStatementInfo & { parameters: StatementDefinition[] };
  info.parameters = info.parameters.map(sharedDefinition);
};

/**
 * A connection with its prepared statements. Beyond its budget, it closes the least recently used statement. It uses
 * callbacks, since mysql2's promises capture a stack for each query.
 */
export class MysqlSession {
  readonly connection: Connection;
  /** The server that it is connected to. */
  readonly node: Node;
  /** The server's own name: several servers may share an address. */
  readonly server: string;
  readonly #since = performance.now();
  readonly #budget: StatementBudget;
  readonly #statements = new Map<string, Prepared>();
  #runs = 0;
  /** Whether a statement is being prepared; later statements wait for it. */
  #isPreparing = false;
  readonly #waiting: (() => void)[] = [];
  #isBroken = false;
  #onBroken: (() => void) | undefined;

  constructor({ connection, node, server }: HostLink, budget: StatementBudget) {
    this.connection = connection;
    this.node = node;
    this.server = server;
    this.#budget = budget;
    budget.add(this);
    const note = (): void => this.#noteBroken();
    connection.on('end', note);
    connection.on('error', note);
    socketOf(connection).once('close', note);
  }

  /** The time since it was opened, in milliseconds. */
  get ageMs(): number {
    return performance.now() - this.#since;
  }

  /** Whether the connection is lost or closed. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Sets the listener that is called once, when the session breaks or is closed. */
  set onBroken(listener: () => void) {
    this.#onBroken = listener;
  }

  /** Runs a statement after all earlier ones, with its parameters bound on the server. */
  run(sql: string, parameters: readonly Parameter[], callback: Callback): void {
    if (this.#isPreparing) {
      this.#waiting.push(() => this.run(sql, parameters, callback));
      return;
    }
    const statement = this.#statements.get(sql);
    if (statement === undefined) {
      this.#isPreparing = true;
      this.#prepare(sql, parameters, callback, 1);
      return;
    }
    this.#execute(statement, parameters, callback);
  }

  /** Runs a statement without parameters, unprepared. */
  query(sql: string, callback: (error: QueryError | null) => void): void {
    this.connection.query(sql, (error: QueryError | null) => callback(error));
  }

  /** Closes the session if this error means that its connection is broken. */
  note(error: unknown): void {
    if (isBroken(error)) this.destroy();
  }

  /** Closes the connection at once. Its running statements fail. */
  destroy(): void {
    if (!socketOf(this.connection).destroyed) {
      breakConnection(this.connection, connectionError('PROTOCOL_CONNECTION_LOST', 'the connection was given up'));
    }
    this.#noteBroken();
  }

  /** Closes the connection in order; after `CLOSE_GRACE_MS`, destroys it. */
  end(): void {
    this.#noteBroken();
    this.connection.end();
    setTimeout(() => this.destroy(), CLOSE_GRACE_MS).unref();
  }

  /** Closes all prepared statements but the n used last. Executions that were already sent are answered. */
  closeStatements(n: number): void {
    if (this.#statements.size <= n) return;
    const oldest = [...this.#statements].toSorted(([, a], [, b]) => a.lastRun - b.lastRun);
    for (const [sql] of oldest.slice(0, oldest.length - n)) {
      this.#statements.delete(sql);
      this.connection.unprepare(sql);
    }
  }

  #noteBroken(): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#budget.delete(this);
    this.#onBroken?.();
  }

  /** Binds limits as integers: the driver sends numbers as floating-point ones, which some servers refuse as limits. */
  #execute(statement: Prepared, parameters: readonly Parameter[], callback: Callback): void {
    statement.lastRun = ++this.#runs;
    const { info, limits } = statement;
    if (limits.length === 0) {
      info.execute(parameters, callback);
      return;
    }
    const bound: unknown[] = [...parameters];
    for (const place of limits) bound[place] = mysql.TypedParameter.LONGLONG(Number(bound[place]));
    info.execute(bound, callback);
  }

  #prepare(sql: string, parameters: readonly Parameter[], callback: Callback, attempt: number): void {
    // This closes before preparing: the server would count the old statement and the new one.
    this.closeStatements(this.#budget.max - 1);
    this.connection.prepare(sql, (error, statement) => {
      if (error?.errno === TOO_MANY_STATEMENTS && attempt < MAX_ATTEMPTS) {
        this.#budget.shrink();
        setTimeout(() => this.#prepare(sql, parameters, callback, attempt + 1), FIRST_PAUSE_MS * 2 ** (attempt - 1));
        return;
      }
      if (error) callback(error, []);
      else {
        forgetDefinitions(statement);
        const prepared = { info: statement, limits: limitsIn(sql), lastRun: 0 };
        this.#statements.set(sql, prepared);
        this.#execute(prepared, parameters, callback);
        if (this.#statements.size > this.#budget.max) this.closeStatements(this.#budget.max);
      }
      this.#isPreparing = false;
      for (const run of this.#waiting.splice(0)) run();
    });
  }
}
