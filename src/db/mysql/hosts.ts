import type { Connection } from 'mysql2';
import { clearInterval, currentTime, setInterval, setTimeout, sleep } from '../../base/runtime.ts';
import { placeOf, type ServerAddress } from '../address.ts';
import { breakConnection, connect, CONNECT_TIMEOUT_MS, type Fitness, fitnessOf, query, within } from './connect.ts';
import { connectionError, driverError, isCrowded } from './errors.ts';
import type { Setting } from './settings.ts';

/** How long to wait for an earlier host in the list, once a later one has answered. */
const PREFERENCE_MS = 300;
/** The pause before unreachable servers are tried again. */
const AGAIN_MS = 250;
/** How long calls wait for servers that the last search found unreachable. */
const AWAY_PATIENCE_MS = 200;
/** The period and timeout of health checks, where other servers could take over. */
const WATCH_MS = 1000;
const WATCH_TIMEOUT_MS = 2000;
/** How long running calls may continue on a server after new calls use another. */
const LINGER_MS = 1000;

const SERVER = "SELECT CONCAT(@@hostname, ':', @@port) AS server";

/** A server that was found fit to work with. */
export interface Node {
  readonly address: ServerAddress;
  /** Whether it is abandoned: its connections must not be used. */
  isLeft: boolean;
  /** Whether it was chosen although it may delay writes, since no better server was available. */
  readonly isMakeshift: boolean;
}

/** A connection to a server. */
export interface HostLink {
  connection: Connection;
  node: Node;
  /** The server's own name: several may share an address. */
  server: string;
}

interface HostsOptions {
  /** Whether only a server that takes writes is fit. A single server is used without asking. */
  needsPrimary: boolean;
  /** Whether a server may be used, by facts that the server itself does not report (default: each). */
  mayUse?: (address: ServerAddress) => boolean;
}

/**
 * The servers of a database. All connections use the first fit server as long as it is fit. If several exist, its
 * health is checked periodically, since a hanging server reports nothing.
 */
export class Hosts {
  readonly addresses: readonly ServerAddress[];
  readonly #needsPrimary: boolean;
  readonly #mayUse: ((address: ServerAddress) => boolean) | undefined;
  readonly #listeners = new Set<(node: Node, isGone: boolean) => void>();
  readonly #suspecting = new Set<(node: Node) => void>();
  /** The server in use; undefined until a search finds one. */
  #current: Node | undefined;
  /** The server used last. */
  #latest: Node | undefined;
  #search: Promise<Node> | undefined;
  /** The error of the last search, if it found none. */
  #failure: { error: Error; at: number } | undefined;
  /** Aborts the connections that are being opened. */
  readonly #connecting = new Set<(error: Error) => void>();
  #watch: NodeJS.Timeout | undefined;
  #watcher: Connection | undefined;
  #isWatching = false;
  #isClosed = false;

  constructor(addresses: readonly ServerAddress[], { needsPrimary, mayUse }: HostsOptions) {
    this.addresses = addresses;
    this.#needsPrimary = needsPrimary && addresses.length > 1;
    this.#mayUse = mayUse;
    if (addresses.length > 1 || mayUse) this.#watch = setInterval(() => void this.#look(), WATCH_MS).unref();
  }

  /** Whether the last search found no server. */
  get areUnreachable(): boolean {
    return this.#current === undefined && this.#failure !== undefined;
  }

  /** `h1:3306, h2:3306` */
  get places(): string {
    return this.addresses.map(placeOf).join(', ');
  }

  /** Registers a listener for servers that are abandoned; `isGone` if the server does not answer at all. */
  onLeave(listener: (node: Node, isGone: boolean) => void): void {
    this.#listeners.add(listener);
  }

  /** Registers a listener for servers that did not answer on one connection: their others may be dead, too. */
  onHostSuspect(listener: (node: Node) => void): void {
    this.#suspecting.add(listener);
  }

  /** Connects to the current server. @throws Error of the driver, or NO_FIT_HOST */
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
   * The current server. Fails within 200 ms while the last search found none.
   * @throws Error of the driver, or NO_FIT_HOST
   */
  async locate(): Promise<Node> {
    if (this.#current) return this.#current;
    const { error, at = 0 } = this.#failure ?? {};
    if (this.#isClosed || (!this.#search && error && currentTime() - at < AGAIN_MS)) {
      throw error ?? connectionError('PROTOCOL_CONNECTION_LOST', 'closed');
    }
    const search = (this.#search ??= this.#find().finally(() => (this.#search = undefined)));
    if (!error) return search;
    search.catch(() => undefined);
    const giveUp = sleep(AWAY_PATIENCE_MS, undefined, { ref: false }).then(() => Promise.reject(error));
    return Promise.race([search, giveUp]);
  }

  /** Lets the next connection search again, after this server refused one or did not answer. */
  doubt(node: Node): void {
    if (this.#current === node) this.#current = undefined;
  }

  /** Like `doubt`, but also makes the pools check their other connections to the server: one got no answer. */
  suspect(node: Node): void {
    if (node.isLeft) return;
    this.doubt(node);
    for (const listener of this.#suspecting) listener(node);
  }

  /** Abandons a server that reports that it is not fit, or that does not answer (`isGone`). */
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
      this.#failure = { error: error as Error, at: currentTime() };
      throw error;
    }
  }

  /**
   * Asks all servers at once, and takes the first fit one in the list, or else a makeshift. The latest server precedes
   * the others.
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
    this.#assertUsable(address);
    const connection = await this.#open(address);
    try {
      const fitness = this.#needsPrimary ? await within(CONNECT_TIMEOUT_MS, fitnessOf(connection)) : 'fit';
      connection.end();
      return fitness;
    } finally {
      // `end` waits for the server's answer, which may never arrive.
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

  /** Checks whether the latest server is still fit. */
  async #look(): Promise<void> {
    // A server in doubt is checked as well, since running calls still wait for it.
    const node = this.#latest;
    if (!node || node.isLeft || this.#isWatching) return;
    this.#isWatching = true;
    try {
      await this.#assertStillFit(node);
    } catch (error) {
      this.#dropWatcher();
      this.leave(node, driverError(error).code !== 'NO_FIT_HOST');
    } finally {
      // The server may have been abandoned meanwhile; the next one needs a watcher of its own.
      if (node.isLeft) this.#dropWatcher();
      this.#isWatching = false;
    }
  }

  #assertUsable(address: ServerAddress): void {
    if (this.#mayUse?.(address) === false) throw connectionError('NO_FIT_HOST', 'lags behind');
  }

  async #assertStillFit(node: Node): Promise<void> {
    this.#assertUsable(node.address);
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
      // The server may have closed only this connection.
      this.#dropWatcher();
      await check();
    }
  }

  #dropWatcher(): void {
    if (this.#watcher) breakConnection(this.#watcher, connectionError('ECONNRESET', 'done'));
    this.#watcher = undefined;
  }
}
