import { createHash, hash } from 'node:crypto';
import { createClient, ErrorReply, type RedisClientType } from '@redis/client';
import type { Logger } from 'pino';
import { clearImmediate, clearTimeout, performance, setImmediate, setTimeout } from '../../../base/runtime.ts';
import { AppError } from '../../../base/errors.ts';
import type { RedisObserver, RoundTripObservation } from '../../../base/observer.ts';

/** Redis counts as unavailable after this number of consecutive late answers. */
const MOST_LATE = 100;
/** Redis also counts as unavailable after this time without an answer. */
const DEAD_MS = 250;
/** The interval of probes while Redis is unavailable. */
const PROBE_MS = 500;
/** Probes may take this many times the usual timeout, so that a busy machine can find Redis available again. */
const PROBE_PATIENCE = 5;
/** Redis counts as available after this number of consecutive timely answers, doubled after each quick new loss. */
const TIMELY_PROBES = { least: 2, most: 64 };
/** The period in which a new loss counts as quick. */
const SETTLED_MS = 30_000;
const CONNECT_MS = 1000;
/** A connection without an answer for this long is replaced; an idle one is pinged several times in this time. */
const SILENT_MS = 10_000;
const PINGS = 4;
/** The commands that may wait for answers; further ones are refused at once. */
const MOST_COMMANDS = 10_000;
const PREFIX = 'content-gateway';

/** A Lua script, which Redis runs atomically. */
export interface Script {
  text: string;
  sha: string;
}

/** Whether Redis is considered available, and the number of times it was lost. */
export interface RedisStatus {
  readonly isConnected: boolean;
  readonly losses: number;
}

interface RedisOptions {
  /** The timeout of an answer, which takes a fraction of a millisecond on the same network. */
  patienceMs: number;
  /** The time without an answer after which a connection is replaced. */
  silentMs?: number;
  observer?: RedisObserver | undefined;
}

/** Whether Redis refuses the pings of a user who may run the other commands: any answer shows that it is available. */
const isRefusedPing = (error: unknown): boolean =>
  error instanceof ErrorReply && /^NOPERM .*'ping'/i.test(error.message);

/** The first word of an error reply of Redis. */
const refusalOf = ({ message }: ErrorReply): string => message.split(' ', 1)[0] as string;

/** The consecutive round trips of one operation. */
interface RoundTrips {
  observer: RedisObserver | undefined;
  /** The observation of the current trip. */
  watch?: RoundTripObservation | undefined;
}

/** Ends the observation of the current trip, once. */
const endTrip = (trips: RoundTrips, tell: (watch: RoundTripObservation) => void): void => {
  const { watch } = trips;
  trips.watch = undefined;
  if (watch) tell(watch);
};

/** Sends a command, and returns its answer. */
const send = async <T>(trips: RoundTrips, command: string, run: () => Promise<T>): Promise<T> => {
  trips.watch = trips.observer?.sent(command);
  try {
    const answer = await run();
    endTrip(trips, (watch) => watch.answered());
    return answer;
  } catch (error) {
    endTrip(trips, (watch) => (error instanceof ErrorReply ? watch.answered(refusalOf(error)) : watch.failed(error)));
    throw error;
  }
};

export const scriptOf = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/**
 * The Redis that instances share. An unavailable Redis delays no call: each instance then counts alone. One warning
 * reports the loss of Redis, and another its return. This class is its own circuit breaker: those of cockatiel and
 * opossum use a user's call as a probe, which would wait for the timeout, and count an answer as late that is unread
 * while the event loop is busy.
 */
export class Redis implements RedisStatus {
  readonly #client: RedisClientType;
  readonly #log: Logger;
  readonly #secret: string;
  readonly #patienceMs: number;
  readonly #observer: RedisObserver | undefined;
  #isConnected = false;
  #isClosed = false;
  #isWarned = false;
  #losses = 0;
  #late = 0;
  #timely = 0;
  #needed = TIMELY_PROBES.least;
  #backSince = Number.NEGATIVE_INFINITY;
  /** The time since which a command has waited without any answer. */
  #unansweredSince: number | undefined;
  #probe: NodeJS.Timeout | undefined;

  private constructor(url: string, log: Logger, { patienceMs, silentMs = SILENT_MS, observer }: RedisOptions) {
    this.#observer = observer;
    this.#patienceMs = patienceMs;
    this.#log = log;
    // All instances that share this Redis know this secret; readers of its data do not.
    this.#secret = createHash('sha256').update(url).digest('hex');
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      commandsQueueMaxLength: MOST_COMMANDS,
      maintNotifications: 'disabled',
      pingInterval: silentMs / PINGS,
      socket: { connectTimeout: CONNECT_MS, socketTimeout: silentMs, reconnectStrategy: PROBE_MS },
    });
    this.#client.on('error', (error: unknown) => {
      if (!isRefusedPing(error)) this.#lose(error);
    });
  }

  /** Connects, and keeps trying in the background after a second. `url` is `redis://…` or `rediss://…`. */
  static async open(url: string, log: Logger, options: RedisOptions): Promise<Redis> {
    const redis = new Redis(url, log, options);
    await redis.#connect();
    return redis;
  }

  /** Whether Redis is considered available. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The number of times Redis was lost. */
  get losses(): number {
    return this.#losses;
  }

  /** The key of a value, which reveals nothing of its owner. Keys with the same `owner` or `of` share a slot. */
  nameOf(kind: string, owner: string, of = owner): string {
    const name = `${PREFIX}:{${this.#hide(of)}}:${kind}`;
    return of === owner ? name : `${name}:${this.#hide(owner)}`;
  }

  /** Runs a script. Undefined if Redis is unavailable or does not answer in time. */
  run(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const request = { keys: [...keys], arguments: [...values] };
    return this.#ask((trips) => this.#runStored(script, request, trips), this.#observer);
  }

  /** Runs a script in the background, without a call that observes it. */
  tell(script: Script, keys: readonly string[], values: readonly string[]): void {
    const request = { keys: [...keys], arguments: [...values] };
    void this.#ask((trips) => this.#runStored(script, request, trips));
  }

  /** Whether a key was not set within the period; undefined as for `run`. */
  async isFirst(name: string, seconds: number): Promise<boolean | undefined> {
    const set = () => this.#client.set(name, '', { condition: 'NX', expiration: { type: 'EX', value: seconds } });
    const answer = await this.#ask(async (trips) => (await send(trips, 'SET', set)) ?? 'no', this.#observer);
    return answer === undefined ? undefined : answer === 'OK';
  }

  close(): void {
    this.#isClosed = true;
    this.#isConnected = false;
    clearTimeout(this.#probe);
    if (this.#client.isOpen) this.#client.destroy();
  }

  #hide(text: string): string {
    return hash('sha256', this.#secret + text, 'base64url').slice(0, 22);
  }

  async #connect(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), CONNECT_MS);
    });
    const connected = this.#client.connect().then(
      () => true,
      () => false,
    );
    this.#isConnected = await Promise.race([connected, tooLong]);
    clearTimeout(timer);
    if (!this.#isConnected) this.#lose(undefined);
  }

  /** The answer to a command, if it arrives in time. */
  async #ask<T>(command: (trips: RoundTrips) => Promise<T>, observer?: RedisObserver): Promise<T | undefined> {
    if (!this.#isConnected) return undefined;
    this.#unansweredSince ??= performance.now();
    const trips: RoundTrips = { observer };
    const outcome = this.#outcomeOf(() => command(trips));
    const answer = await this.#inTime(outcome, this.#patienceMs);
    if (answer === undefined) {
      endTrip(trips, (watch) => watch.failed(new AppError('TIMEOUT')));
      this.#noteLate();
    } else this.#late = 0;
    return answer;
  }

  #inTime<T>(answer: Promise<T>, patienceMs: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      // The command is sent before this. At the timeout, the answer may have arrived unread, so it gets one turn of the
      // event loop.
      const waiting = setImmediate(() => {
        timer = setTimeout(() => setImmediate(() => resolve(undefined)), patienceMs);
      });
      void answer.then((value) => {
        clearImmediate(waiting);
        clearTimeout(timer);
        return resolve(value);
      });
    });
  }

  async #runStored(
    { text, sha }: Script,
    request: { keys: string[]; arguments: string[] },
    trips: RoundTrips,
  ): Promise<unknown> {
    const evaluate = (): Promise<unknown> => this.#client.evalSha(sha, request);
    try {
      return await send(trips, 'EVALSHA', evaluate);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      await send(trips, 'SCRIPT LOAD', () => this.#client.scriptLoad(text));
      return send(trips, 'EVALSHA', evaluate);
    }
  }

  async #outcomeOf<T>(command: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await command();
      this.#unansweredSince = undefined;
      return answer;
    } catch (error) {
      this.#lose(error);
      return undefined;
    }
  }

  #noteLate(): void {
    this.#late += 1;
    const isDead = this.#unansweredSince !== undefined && performance.now() - this.#unansweredSince > DEAD_MS;
    if (isDead || this.#late >= MOST_LATE) this.#lose(undefined);
  }

  /** Stops using Redis, and probes until it is available again. */
  #lose(error: unknown): void {
    if (this.#isClosed) return;
    this.#isConnected = false;
    if (!this.#isWarned) {
      this.#isWarned = true;
      this.#losses += 1;
      const isSoon = performance.now() - this.#backSince < SETTLED_MS;
      this.#needed = isSoon ? Math.min(2 * this.#needed, TIMELY_PROBES.most) : TIMELY_PROBES.least;
      this.#log.warn(
        { err: error },
        'Redis is away, which REDIS_URL names: until it is back, each instance counts rates and views alone',
      );
    }
    this.#probe ??= setTimeout(() => void this.#try(), PROBE_MS).unref();
  }

  async #try(): Promise<void> {
    // A write, like the commands of calls.
    const answer = this.#outcomeOf(() =>
      this.#client.set(`${PREFIX}:probe`, '', { expiration: { type: 'EX', value: 1 } }),
    );
    this.#timely = (await this.#inTime(answer, PROBE_PATIENCE * this.#patienceMs)) === undefined ? 0 : this.#timely + 1;
    // Probes run one at a time, so that a frozen Redis finds no backlog.
    await answer;
    this.#probe = undefined;
    if (this.#isClosed) return;
    if (this.#timely < this.#needed) {
      this.#probe = setTimeout(() => void this.#try(), PROBE_MS).unref();
      return;
    }
    this.#late = 0;
    this.#timely = 0;
    this.#backSince = performance.now();
    this.#isConnected = true;
    this.#isWarned = false;
    this.#log.warn('Redis is back: instances count together again');
  }
}
