import type { Connection } from 'mysql2';
import { clearInterval, setInterval } from '../../base/runtime.ts';
import { placeOf, type ServerAddress } from '../address.ts';
import type { DatabaseOptions } from '../connection.ts';
import { breakConnection, connect, CONNECT_TIMEOUT_MS, query, within } from './connect.ts';
import { connectionError, faultOf } from './errors.ts';

const INTERVAL_MS = 1000;
/** The maximum lag of a replica that reads use. */
const MAX_LAG_MS = 5000;

/** Microseconds of the latest stamp, whatever the time zone of the connection. */
const LATEST_STAMP = "SELECT TIMESTAMPDIFF(MICROSECOND, '2020-01-01', MAX(seen_at)) AS stamp FROM instances";
/** Used where the primary has no stamp: asks only whether the server answers. */
const NO_STAMP = 'SELECT NULL AS stamp';
/** The column names of MariaDB, and those of MySQL. */
const RUNNING = ['Slave_IO_Running', 'Slave_SQL_Running', 'Replica_IO_Running', 'Replica_SQL_Running'];
const ERRORS = ['Last_IO_Error', 'Last_SQL_Error'];

const stampIn = ([row]: readonly unknown[]): number | undefined => {
  const { stamp } = row as { stamp: number | string | null };
  return stamp === null ? undefined : Number(stamp);
};

/** Reads the latest stamp, by the primary's connections. Instances write one each second. */
type ReadPrimary = (sql: string) => Promise<unknown[]>;

/**
 * Measures how far replicas lag behind the primary: the time from the latest stamp of a replica to the latest one of
 * the primary. The lag is infinite if a replica is unreachable or has no stamp.
 */
export class Replicas {
  readonly #addresses: readonly ServerAddress[];
  readonly #readPrimary: ReadPrimary;
  readonly #maxLagMs: number;
  readonly #onLag: DatabaseOptions['onLag'];
  readonly #connections = new Map<ServerAddress, Connection>();
  readonly #lags = new Map<ServerAddress, number>();
  readonly #timer: NodeJS.Timeout;
  /** The latest stamp of the primary, which also counts while the primary is unreachable. */
  #latest: number | undefined;
  #measuring: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    addresses: readonly ServerAddress[],
    readPrimary: ReadPrimary,
    { maxLagMs = MAX_LAG_MS, onLag }: Pick<DatabaseOptions, 'maxLagMs' | 'onLag'> = {},
  ) {
    this.#addresses = addresses;
    this.#readPrimary = readPrimary;
    this.#maxLagMs = maxLagMs;
    this.#onLag = onLag;
    this.#timer = setInterval(() => void this.measure(), INTERVAL_MS).unref();
  }

  /** How far each lags, in milliseconds. */
  get lags(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#lags, ([address, ms]) => [placeOf(address), ms]));
  }

  /** Whether a replica has all changes older than the maximum lag. */
  isFresh(address: ServerAddress): boolean {
    return (this.#lags.get(address) ?? Infinity) <= this.#maxLagMs;
  }

  /** Whether reads may use at least one replica. */
  get hasFresh(): boolean {
    return this.#addresses.some((address) => this.isFresh(address));
  }

  /** Measures all of them now. Never rejects. */
  measure(): Promise<void> {
    return (this.#measuring ??= this.#measure().finally(() => (this.#measuring = undefined)));
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const address of this.#addresses) this.#drop(address);
  }

  async #measure(): Promise<void> {
    // The primary is read before the replicas, so that a stamp written in between shows no lag.
    this.#latest = await within(CONNECT_TIMEOUT_MS, this.#readPrimary(LATEST_STAMP)).then(stampIn, () => this.#latest);
    await Promise.all(
      this.#addresses.map(async (address) => {
        const lag = await this.#lagOf(address).catch(() => Infinity);
        if (this.#isClosed) return;
        const wasFresh = this.#lags.has(address) ? this.isFresh(address) : true;
        this.#lags.set(address, lag);
        if (this.isFresh(address) !== wasFresh) this.#onLag?.(placeOf(address), lag, this.isFresh(address));
      }),
    );
  }

  async #lagOf(address: ServerAddress): Promise<number> {
    const isKept = this.#connections.has(address);
    try {
      const stamp = stampIn(await this.#query(address, this.#latest === undefined ? NO_STAMP : LATEST_STAMP));
      if (this.#latest === undefined) return 0;
      return stamp === undefined ? Infinity : Math.max(0, this.#latest - stamp) / 1000;
    } catch (error) {
      // The replica answers, but lacks the table so far.
      if (!faultOf(error)) return Infinity;
      this.#drop(address);
      // The server may have closed only this connection.
      if (isKept && !this.#isClosed) return this.#lagOf(address);
      throw error;
    }
  }

  /** The server's message about a stopped replication; undefined if it runs, or the account may not ask. */
  async fault(address: ServerAddress): Promise<string | undefined> {
    const [status] = await this.#query(address, 'SHOW REPLICA STATUS').catch(() => []);
    const stopped = RUNNING.filter((name) => status?.[name] !== undefined && status[name] !== 'Yes');
    if (!status || stopped.length === 0) return undefined;
    return [...stopped.map((name) => `${name} is ${status[name]}`), ...ERRORS.map((name) => status[name])]
      .filter(Boolean)
      .join('; ');
  }

  async #query(address: ServerAddress, sql: string) {
    let connection = this.#connections.get(address);
    if (!connection) {
      connection = await connect(address, [], () => undefined);
      if (this.#isClosed) breakConnection(connection, connectionError('ECONNRESET', 'closed'));
      else this.#connections.set(address, connection);
    }
    return within(CONNECT_TIMEOUT_MS, query(connection, sql));
  }

  #drop(address: ServerAddress): void {
    const connection = this.#connections.get(address);
    if (connection) breakConnection(connection, connectionError('ECONNRESET', 'done'));
    this.#connections.delete(address);
  }
}
