import { createHash } from 'node:crypto';
import { createClient, type RedisClientType } from '@redis/client';
import type { Logger } from 'pino';
import type { RedisObserver } from '../observer.ts';
import { RoundTrips } from './round-trips.ts';

/** So many answers in a row that come too late, and nobody waits any more. */
const MOST_LATE = 100;
/** Nor when nothing was answered for so long that was asked. */
const DEAD_MS = 250;
/** How often a Redis is tried that is away. */
const PROBE_MS = 500;
/** How many times as long as anybody else it may then take: a busy machine need not keep it away. */
const PROBE_PATIENCE = 5;
/** So many timely answers in a row, and it is back: more, each time that it is soon away again. */
const TIMELY_PROBES = { least: 2, most: 64 };
/** Away again within this time is soon. */
const SETTLED_MS = 30_000;
const CONNECT_MS = 1000;
/** A connection on which nothing moves for so long is given up, and made anew. */
const SILENT_MS = 10_000;
/** Commands that wait for their answers; beyond, they are refused at once. */
const MOST_COMMANDS = 10_000;
const PREFIX = 'content-gateway';

/** A script, which Redis runs as one step. */
export interface Script {
  text: string;
  sha: string;
}

/** Sends a command, which is to be named, and returns its answer. */
type Send = <T>(command: string, send: () => Promise<T>) => Promise<T>;

const unobserved: Send = (_command, send) => send();

export const scriptOf = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/**
 * What instances of the service share. It can be away at any time, which slows nobody down: then there is no answer, and
 * each instance does without. One warning says so, and one that it is back.
 */
export class Redis {
  readonly #client: RedisClientType;
  readonly #log: Logger;
  readonly #secret: string;
  /** How long anybody waits for an answer: on the same network it takes a fraction of a millisecond. */
  readonly #patienceMs: number;
  readonly #observer: RedisObserver | undefined;
  #isThere = false;
  #isClosed = false;
  #isWarned = false;
  #late = 0;
  #timely = 0;
  #needed = TIMELY_PROBES.least;
  #backSince = Number.NEGATIVE_INFINITY;
  /** Since when nothing has been answered that was asked. */
  #unansweredSince: number | undefined;
  #probe: NodeJS.Timeout | undefined;

  private constructor(url: string, patienceMs: number, log: Logger, observer: RedisObserver | undefined) {
    this.#observer = observer;
    this.#patienceMs = patienceMs;
    this.#log = log;
    // Known to all that share it, and to nobody who reads what is in it.
    this.#secret = createHash('sha256').update(url).digest('hex');
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      commandsQueueMaxLength: MOST_COMMANDS,
      maintNotifications: 'disabled',
      socket: { connectTimeout: CONNECT_MS, socketTimeout: SILENT_MS, reconnectStrategy: PROBE_MS },
    });
    this.#client.on('error', (error: unknown) => this.#lose(error));
  }

  /**
   * Connects, and goes on trying where that takes longer than a second. `url` is `redis://…` or `rediss://…`; nobody waits
   * longer than `patienceMs` for an answer.
   */
  static async open(url: string, patienceMs: number, log: Logger, observer?: RedisObserver): Promise<Redis> {
    const redis = new Redis(url, patienceMs, log, observer);
    await redis.#connect();
    return redis;
  }

  /** Whether it answers, as far as one knows. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /**
   * The name under which something is kept, of which nothing can be read from it. What shares `owner`, or what it is part
   * `of`, stays together.
   */
  nameOf(kind: string, owner: string, of = owner): string {
    const name = `${PREFIX}:{${this.#hide(of)}}:${kind}`;
    return of === owner ? name : `${name}:${this.#hide(owner)}`;
  }

  /** What a script returns; undefined when Redis is away, or does not answer in time. */
  run(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const request = { keys: [...keys], arguments: [...values] };
    return this.#ask((send) => this.#runStored(script, request, send), this.#observer);
  }

  /** Has a script run in the background, for no call in particular: nobody watches it. */
  tell(script: Script, keys: readonly string[], values: readonly string[]): void {
    const request = { keys: [...keys], arguments: [...values] };
    void this.#ask((send) => this.#runStored(script, request, send));
  }

  /** Whether nobody has set a name within the time before; undefined as for `run`. */
  async isFirst(name: string, seconds: number): Promise<boolean | undefined> {
    const set = () => this.#client.set(name, '', { condition: 'NX', expiration: { type: 'EX', value: seconds } });
    const answer = await this.#ask(async (send) => (await send('SET', set)) ?? 'no', this.#observer);
    return answer === undefined ? undefined : answer === 'OK';
  }

  close(): void {
    this.#isClosed = true;
    this.#isThere = false;
    clearTimeout(this.#probe);
    if (this.#client.isOpen) this.#client.destroy();
  }

  #hide(text: string): string {
    return createHash('sha256').update(this.#secret).update(text).digest('base64url').slice(0, 22);
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
    this.#isThere = await Promise.race([connected, tooLong]);
    clearTimeout(timer);
    if (!this.#isThere) this.#lose(undefined);
  }

  /** What comes of a command, if it comes in time. */
  async #ask<T>(command: (send: Send) => Promise<T>, observer?: RedisObserver): Promise<T | undefined> {
    if (!this.#isThere) return undefined;
    this.#unansweredSince ??= performance.now();
    const trips = observer && new RoundTrips(observer);
    const send: Send = trips ? (name, one) => trips.send(name, one) : unobserved;
    const outcome = this.#outcomeOf(() => command(send));
    const answer = await this.#inTime(outcome, this.#patienceMs);
    if (answer === undefined) {
      trips?.giveUp();
      this.#noteLate();
    } else this.#late = 0;
    return answer;
  }

  #inTime<T>(answer: Promise<T>, patienceMs: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      // The command goes out before this. When time is up, the answer may be there, and we be late ourselves: it gets a
      // turn to be read.
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
    send: Send,
  ): Promise<unknown> {
    const evaluate = (): Promise<unknown> => this.#client.evalSha(sha, request);
    try {
      return await send('EVALSHA', evaluate);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      await send('SCRIPT LOAD', () => this.#client.scriptLoad(text));
      return send('EVALSHA', evaluate);
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

  /** Does without it from now on, and sees when it is back. */
  #lose(error: unknown): void {
    if (this.#isClosed) return;
    this.#isThere = false;
    if (!this.#isWarned) {
      this.#isWarned = true;
      const isSoon = performance.now() - this.#backSince < SETTLED_MS;
      this.#needed = isSoon ? Math.min(2 * this.#needed, TIMELY_PROBES.most) : TIMELY_PROBES.least;
      this.#log.warn({ err: error }, 'Redis is away: until it is back, each instance counts rates and views alone');
    }
    this.#probe ??= setTimeout(() => void this.#try(), PROBE_MS).unref();
  }

  async #try(): Promise<void> {
    // A write, since that is what it is for.
    const answer = this.#outcomeOf(() =>
      this.#client.set(`${PREFIX}:probe`, '', { expiration: { type: 'EX', value: 1 } }),
    );
    this.#timely = (await this.#inTime(answer, PROBE_PATIENCE * this.#patienceMs)) === undefined ? 0 : this.#timely + 1;
    // One after the other: what is frozen is to find little when it thaws.
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
    this.#isThere = true;
    this.#isWarned = false;
    this.#log.warn('Redis is back: instances count together again');
  }
}
