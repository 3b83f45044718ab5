import type { Connection, RowDataPacket } from 'mysql2';
import { setTimeout as sleep } from 'node:timers/promises';
import { placeOf, type ServerAddress } from '../address.ts';
import { breakConnection, connect, CONNECT_TIMEOUT_MS } from './connect.ts';
import { connectionError, driverError, isCrowded } from './errors.ts';
import type { Setting } from './settings.ts';

/** How long a host that comes first in the list may take to answer, once a later one has. */
const PREFERENCE_MS = 300;
/** How often servers that were not there are asked again. */
const AGAIN_MS = 250;
/** How long calls wait for servers that were not there when last asked. */
const AWAY_PATIENCE_MS = 200;
/** How often a server that others could stand in for is asked whether it is still fit, and how long it may take. */
const WATCH_MS = 1000;
const WATCH_TIMEOUT_MS = 2000;

/** How long what was begun on a server may go on there once others use another one. */
const LINGER_MS = 1000;

const SERVER = "SELECT CONCAT(@@hostname, ':', @@port) AS server";

/** A server that was found fit to work with. */
export interface Node {
  readonly address: ServerAddress;
  /** Whether it is no more: nobody should use a connection to it. */
  isLeft: boolean;
  /** Whether it was taken for want of a better one. */
  readonly isMakeshift: boolean;
}

/** A connection to a server. */
export interface HostLink {
  connection: Connection;
  node: Node;
  /** Which server answers there: an address may be that of several. */
  server: string;
}

const query = (connection: Connection, sql: string): Promise<RowDataPacket[]> =>
  new Promise((resolve, reject) => {
    connection.query<RowDataPacket[]>(sql, (error, rows) => (error ? reject(error) : resolve(rows)));
  });

/** `makeshift`: it may hold up writes. */
type Fitness = 'fit' | 'makeshift';

/** Asks a server whether it takes writes. @throws Error NO_FIT_HOST */
const fitnessOf = async (connection: Connection): Promise<Fitness> => {
  // Other statements than SHOW and SET a Galera node without its cluster refuses.
  const rows = [
    ...(await query(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')")),
    ...(await query(
      connection,
      "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')",
    )),
  ];
  const values = new Map(rows.map(({ Variable_name: name, Value: value }) => [String(name), String(value)]));
  if (!/^(OFF|0)$/i.test(values.get('read_only') ?? 'OFF')) {
    throw connectionError('NO_FIT_HOST', 'takes no writes (read_only)');
  }
  if (values.get('wsrep_on') === 'ON' && values.get('wsrep_ready') !== 'ON') {
    throw connectionError('NO_FIT_HOST', 'is not synced with its cluster (wsrep_ready)');
  }
  // While it gives a node that joins all that it has, its tables may be locked.
  return /^Donor/i.test(values.get('wsrep_local_state_comment') ?? '') ? 'makeshift' : 'fit';
};

/** What `work` comes to, unless it takes longer than `ms`. */
const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(connectionError('ETIMEDOUT', `no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

interface HostsOptions {
  /** Whether only one that takes writes is fit. Asked only where there are several: one alone is all there is. */
  needsPrimary: boolean;
}

/**
 * The servers of a database, of which all connections use the same one: the first that is fit, for as long as it is. Where
 * there are several it is watched, since a server that hangs says nothing.
 */
export class Hosts {
  readonly addresses: readonly ServerAddress[];
  readonly #needsPrimary: boolean;
  readonly #listeners = new Set<(node: Node, isGone: boolean) => void>();
  readonly #suspecting = new Set<(node: Node) => void>();
  /** Undefined while nobody knows whether there is one. */
  #current: Node | undefined;
  /** The one used last. */
  #latest: Node | undefined;
  #search: Promise<Node> | undefined;
  /** What came of the last search, when it found none. */
  #failure: { error: Error; at: number } | undefined;
  /** What breaks off those connections that are being made. */
  readonly #connecting = new Set<(error: Error) => void>();
  #watch: NodeJS.Timeout | undefined;
  #watcher: Connection | undefined;
  #isWatching = false;
  #isClosed = false;

  constructor(addresses: readonly ServerAddress[], { needsPrimary }: HostsOptions) {
    this.addresses = addresses;
    this.#needsPrimary = needsPrimary && addresses.length > 1;
    if (addresses.length > 1) this.#watch = setInterval(() => void this.#look(), WATCH_MS).unref();
  }

  /** Whether none was there when last asked. */
  get areAway(): boolean {
    return this.#current === undefined && this.#failure !== undefined;
  }

  /** `h1:3306, h2:3306` */
  get places(): string {
    return this.addresses.map(placeOf).join(', ');
  }

  /** Has `listener` called with a server that is left; `isGone` when it is not even there. */
  onLeave(listener: (node: Node, isGone: boolean) => void): void {
    this.#listeners.add(listener);
  }

  /** Has `listener` called with a server that did not answer on one connection, so that others to it may be dead, too. */
  onHostSuspect(listener: (node: Node) => void): void {
    this.#suspecting.add(listener);
  }

  /** Connects to the server that is used. @throws Error of the driver, or NO_FIT_HOST */
  async connect(settings: readonly Setting[]): Promise<HostLink> {
    const node = await this.locate();
    try {
      const connection = await this.#open(node.address, settings);
      const [row] = await within(CONNECT_TIMEOUT_MS, query(connection, SERVER));
      return { connection, node, server: String(row?.['server']) };
    } catch (error) {
      if (!isCrowded(error)) this.doubt(node);
      throw error;
    }
  }

  /**
   * The server that is used. While none is known to be there, callers hear so soon.
   * @throws Error of the driver, or NO_FIT_HOST
   */
  async locate(): Promise<Node> {
    if (this.#current) return this.#current;
    const { error, at = 0 } = this.#failure ?? {};
    if (this.#isClosed || (!this.#search && error && Date.now() - at < AGAIN_MS)) {
      throw error ?? connectionError('PROTOCOL_CONNECTION_LOST', 'closed');
    }
    const search = (this.#search ??= this.#find().finally(() => (this.#search = undefined)));
    if (!error) return search;
    search.catch(() => undefined);
    const giveUp = sleep(AWAY_PATIENCE_MS, undefined, { ref: false }).then(() => Promise.reject(error));
    return Promise.race([search, giveUp]);
  }

  /** Has the servers asked again before anyone connects: this one could not be connected to, or did not answer. */
  doubt(node: Node): void {
    if (this.#current === node) this.#current = undefined;
  }

  /** Likewise, and has the connections to it looked at: it does not answer on one. */
  suspect(node: Node): void {
    if (node.isLeft) return;
    this.doubt(node);
    for (const listener of this.#suspecting) listener(node);
  }

  /** Has nobody use a server any more, which says that it is not fit, or `isGone`. */
  leave(node: Node, isGone = false): void {
    this.doubt(node);
    if (node.isLeft && !isGone) return;
    if (!node.isLeft) this.#dropWatcher();
    node.isLeft = true;
    for (const listener of this.#listeners) listener(node, isGone);
    if (!isGone) setTimeout(() => this.leave(node, true), LINGER_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#current = undefined;
    clearInterval(this.#watch);
    this.#dropWatcher();
    for (const abort of this.#connecting) abort(connectionError('PROTOCOL_CONNECTION_LOST', 'closed'));
  }

  async #open(address: ServerAddress, settings: readonly Setting[] = []): Promise<Connection> {
    let abort: ((error: Error) => void) | undefined;
    const opening = connect(address, settings, (fail) => {
      abort = fail;
      this.#connecting.add(fail);
    });
    try {
      return await opening;
    } finally {
      if (abort) this.#connecting.delete(abort);
    }
  }

  async #find(): Promise<Node> {
    try {
      const { address, isMakeshift } = await this.#firstFit();
      const latest = this.#latest;
      const isSame = latest?.address === address && !latest.isLeft;
      const node = isSame ? latest : { address, isLeft: false, isMakeshift };
      if (latest && !isSame) this.leave(latest);
      this.#latest = node;
      this.#failure = undefined;
      if (!this.#isClosed) this.#current = node;
      return node;
    } catch (error) {
      this.#failure = { error: error as Error, at: Date.now() };
      throw error;
    }
  }

  /**
   * Asks all at once, and takes the first in the list that is fit, or else a makeshift: the one used last comes before the
   * others.
   */
  #firstFit(): Promise<{ address: ServerAddress; isMakeshift: boolean }> {
    const latest = this.#latest && !this.#latest.isLeft ? [this.#latest.address] : [];
    const addresses = [...new Set([...latest, ...this.addresses])];
    const states: (Fitness | Error | undefined)[] = addresses.map(() => undefined);
    return new Promise((resolve, reject) => {
      const decide = (isLate = false): void => {
        const fit = states.indexOf('fit');
        const isMakeshift = fit < 0;
        const place = isMakeshift ? states.indexOf('makeshift') : fit;
        const address = addresses[place];
        const isOpen = (isMakeshift ? states : states.slice(0, place)).includes(undefined);
        if (address && (isLate || !isOpen)) resolve({ address, isMakeshift });
        else if (!address && !isOpen) reject(this.#noneOf(addresses, states as Error[]));
        else if (address) setTimeout(() => decide(true), PREFERENCE_MS).unref();
      };
      addresses.forEach((address, index) => {
        const note = (state: Fitness | Error): void => {
          states[index] = state;
          decide();
        };
        this.#ask(address).then(note, note);
      });
    });
  }

  async #ask(address: ServerAddress): Promise<Fitness> {
    const connection = await this.#open(address);
    try {
      const fitness = this.#needsPrimary ? await within(CONNECT_TIMEOUT_MS, fitnessOf(connection)) : 'fit';
      connection.end();
      return fitness;
    } finally {
      // What the server does with the farewell is its own affair.
      setTimeout(() => breakConnection(connection, connectionError('ECONNRESET', 'done')), PREFERENCE_MS).unref();
    }
  }

  #noneOf(addresses: readonly ServerAddress[], errors: readonly Error[]): Error {
    const [only] = errors;
    if (errors.length === 1 && only) return only;
    const reasons = addresses.map((address, index) => {
      const { message, code } = driverError(errors[index]);
      return `${placeOf(address)}: ${message || code}`;
    });
    return connectionError('NO_FIT_HOST', reasons.join('; '));
  }

  /** Looks whether the server that is used still is fit. */
  async #look(): Promise<void> {
    // Also one that is in doubt: what was begun there waits for it.
    const node = this.#latest;
    if (!node || node.isLeft || this.#isWatching) return;
    this.#isWatching = true;
    try {
      await this.#assertStillFit(node);
    } catch (error) {
      this.#dropWatcher();
      this.leave(node, driverError(error).code !== 'NO_FIT_HOST');
    } finally {
      // It may have been left meanwhile: the next one has a watcher of its own.
      if (node.isLeft) this.#dropWatcher();
      this.#isWatching = false;
    }
  }

  async #assertStillFit(node: Node): Promise<void> {
    const check = async (): Promise<void> => {
      this.#watcher ??= await this.#open(node.address);
      if (!this.#needsPrimary) await within(WATCH_TIMEOUT_MS, query(this.#watcher, 'DO 0'));
      else if ((await within(WATCH_TIMEOUT_MS, fitnessOf(this.#watcher))) === 'makeshift' && !node.isMakeshift) {
        throw connectionError('NO_FIT_HOST', 'may hold up writes (wsrep_local_state_comment)');
      }
    };
    try {
      await check();
    } catch (error) {
      const { code } = driverError(error);
      if (code === 'ETIMEDOUT' || code === 'NO_FIT_HOST' || node.isLeft) throw error;
      // Perhaps only this connection was closed.
      this.#dropWatcher();
      await check();
    }
  }

  #dropWatcher(): void {
    if (this.#watcher) breakConnection(this.#watcher, connectionError('ECONNRESET', 'done'));
    this.#watcher = undefined;
  }
}
