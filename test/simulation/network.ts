import { Duplex } from 'node:stream';
import { currentTime, setTimeout } from '../../src/base/runtime.ts';
import type { Random } from '../../src/sandbox/seed/random.ts';

/** The milliseconds that bytes are under way. */
const LATENCY_MS = [0.2, 3] as const;
/** The part of the messages of a client whose connection breaks: before they arrive, or before their answer does. */
const BROKEN = 0.02;

const reset = (code: string): Error => Object.assign(new Error(code), { code });

/** One end of a connection between a client and an instance: a socket as far as HTTP needs one. */
class SimulatedSocket extends Duplex {
  /** What a server sees of its peer. */
  readonly remoteAddress: string;
  bytesRead = 0;
  #peer!: SimulatedSocket;
  #line!: Line;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
    // A connection that waits to be served has no reader yet who would be told.
    this.on('error', () => undefined);
  }

  /** Connects two ends by a line. */
  static connect(client: SimulatedSocket, server: SimulatedSocket, line: Line): void {
    [client.#peer, server.#peer] = [server, client];
    client.#line = server.#line = line;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#line.carry(this, () => {
      this.#peer.bytesRead += chunk.length;
      this.#peer.push(chunk);
    });
    done();
  }

  override _final(done: () => void): void {
    this.#line.carry(this, () => this.#peer.push(null));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.readableEnded || !this.writableFinished) this.#line.carry(this, () => this.#peer.break());
    done(error);
  }

  /** Ends as a connection that was reset. */
  break(code = 'ECONNRESET'): void {
    if (!this.destroyed) this.destroy(reset(code));
  }

  resetAndDestroy(): void {
    this.destroy();
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setTimeout(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Carries bytes in order, late, or not at all. */
class Line {
  readonly #random: Random;
  readonly client: SimulatedSocket;
  readonly server: SimulatedSocket;
  /** The time at which what was sent last arrives, by direction. */
  readonly #last = { up: 0, down: 0 };
  #isCut = false;
  /** Bytes do not arrive before. */
  heldUntil = 0;

  constructor(random: Random, client: string) {
    this.#random = random;
    this.client = new SimulatedSocket('');
    this.server = new SimulatedSocket(client);
    SimulatedSocket.connect(this.client, this.server, this);
  }

  carry(from: SimulatedSocket, arrive: () => void): void {
    if (this.#isCut) return;
    const way = from === this.client ? 'up' : 'down';
    const [least, most] = LATENCY_MS;
    const latency = least + this.#random.fraction() * (most - least);
    const at = Math.max(this.#last[way], this.heldUntil, currentTime() + latency);
    this.#last[way] = at;
    setTimeout(() => {
      if (!this.#isCut) arrive();
    }, at - currentTime());
    if (way === 'up' && this.#random.chance(BROKEN)) {
      // Now, so that it does not arrive; or later, so that its answer does not.
      setTimeout(() => this.cut(), this.#random.chance(0.3) ? 0 : latency + this.#random.between(0, 20));
    }
  }

  /** Both ends learn that the connection is broken. */
  cut(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.client.break();
    this.server.break();
  }
}

/** An instance, as the network sees it. */
export interface Host {
  /** Whether connections are accepted. */
  readonly isUp: boolean;
  accept: (connection: Duplex) => void;
}

/** The network between clients and instances. */
export class Network {
  readonly #random: Random;
  readonly #lines = new Map<Host, Set<Line>>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Connects a client at an address to an instance, which may be down. */
  connect(host: Host, address: string): Duplex {
    const line = new Line(this.#random, address);
    if (!host.isUp) {
      setTimeout(() => line.client.break('ECONNREFUSED'), 1);
      return line.client;
    }
    const lines = this.#linesOf(host);
    lines.add(line);
    line.client.once('close', () => lines.delete(line));
    host.accept(line.server);
    return line.client;
  }

  /** Breaks all connections of an instance. */
  cut(host: Host): void {
    for (const line of this.#linesOf(host)) line.cut();
  }

  /** Nothing arrives on the connections of an instance for a time; then all of it does. */
  hold(host: Host, ms: number): void {
    for (const line of this.#linesOf(host)) line.heldUntil = currentTime() + ms;
  }

  #linesOf(host: Host): Set<Line> {
    let lines = this.#lines.get(host);
    if (!lines) this.#lines.set(host, (lines = new Set()));
    return lines;
  }
}
