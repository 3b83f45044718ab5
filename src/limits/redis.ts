import { createHash } from 'node:crypto';
import { createClient, type RedisClientType } from '@redis/client';
import type { Logger } from 'pino';

/** How long anybody waits for an answer: on the same network it takes a fraction of a millisecond. */
const PATIENCE_MS = 5;
/** So many answers in a row that come too late, and nobody waits any more. */
const MOST_LATE = 10;
/** How often a Redis is tried that is away. */
const PROBE_MS = 500;
/** So many timely answers in a row, and it is back. */
const TIMELY_PROBES = 2;
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

export const scriptOf = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/**
 * What instances of the service share. It can be away at any time, which slows nobody down: then there is no answer, and
 * each instance does without. One warning says so, and one that it is back.
 */
export class Redis {
  readonly #client: RedisClientType;
  readonly #log: Logger;
  readonly #secret: string;
  #isThere = false;
  #isClosed = false;
  #isWarned = false;
  #late = 0;
  #timely = 0;
  #probe: NodeJS.Timeout | undefined;

  private constructor(url: string, log: Logger) {
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

  /** Connects, and goes on trying where that takes longer than a second. `url` is `redis://…` or `rediss://…`. */
  static async open(url: string, log: Logger): Promise<Redis> {
    const redis = new Redis(url, log);
    await redis.#connect();
    return redis;
  }

  /** Whether it answers, as far as one knows. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** The name under which something is kept, of which nothing can be read from it. What shares `owner` stays together. */
  nameOf(kind: string, owner: string): string {
    const hidden = createHash('sha256').update(this.#secret).update(owner).digest('base64url').slice(0, 22);
    return `${PREFIX}:{${hidden}}:${kind}`;
  }

  /** What a script returns; undefined when Redis is away, or does not answer within a few milliseconds. */
  run(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const request = { keys: [...keys], arguments: [...values] };
    return this.#ask(() => this.#runStored(script, request));
  }

  /** Whether nobody has set a name within the time before; undefined as for `run`. */
  async isFirst(name: string, seconds: number): Promise<boolean | undefined> {
    const set = () => this.#client.set(name, '', { condition: 'NX', expiration: { type: 'EX', value: seconds } });
    const answer = await this.#ask(async () => (await set()) ?? 'no');
    return answer === undefined ? undefined : answer === 'OK';
  }

  close(): void {
    this.#isClosed = true;
    this.#isThere = false;
    clearTimeout(this.#probe);
    if (this.#client.isOpen) this.#client.destroy();
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
  #ask<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (!this.#isThere) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      let isOver = false;
      const giveUp = (): void => {
        if (isOver) return;
        isOver = true;
        this.#noteLate();
        resolve(undefined);
      };
      // The answer may be there, and we be late ourselves: it gets a turn to be read.
      const timer = setTimeout(() => setImmediate(giveUp), PATIENCE_MS);
      void this.#outcomeOf(command).then((value) => {
        clearTimeout(timer);
        if (!isOver && value !== undefined) this.#late = 0;
        isOver = true;
        return resolve(value);
      });
    });
  }

  async #runStored({ text, sha }: Script, request: { keys: string[]; arguments: string[] }): Promise<unknown> {
    try {
      return await this.#client.evalSha(sha, request);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      await this.#client.scriptLoad(text);
      return this.#client.evalSha(sha, request);
    }
  }

  async #outcomeOf<T>(command: () => Promise<T>): Promise<T | undefined> {
    try {
      return await command();
    } catch (error) {
      this.#lose(error);
      return undefined;
    }
  }

  #noteLate(): void {
    this.#late += 1;
    if (this.#late >= MOST_LATE) this.#lose(undefined);
  }

  /** Does without it from now on, and sees when it is back. */
  #lose(error: unknown): void {
    if (this.#isClosed) return;
    this.#isThere = false;
    this.#timely = 0;
    if (!this.#isWarned) {
      this.#isWarned = true;
      this.#log.warn({ err: error }, 'Redis is away: until it is back, each instance counts rates and views alone');
    }
    this.#probe ??= setTimeout(() => void this.#try(), PROBE_MS).unref();
  }

  async #try(): Promise<void> {
    const began = performance.now();
    // A write, since that is what it is for.
    const isDone = await this.#client.set(`${PREFIX}:probe`, '', { expiration: { type: 'EX', value: 1 } }).then(
      () => true,
      () => false,
    );
    this.#probe = undefined;
    if (this.#isClosed) return;
    const isTimely = isDone && performance.now() - began <= PATIENCE_MS;
    this.#timely = isTimely ? this.#timely + 1 : 0;
    if (this.#timely < TIMELY_PROBES) {
      this.#probe = setTimeout(() => void this.#try(), PROBE_MS).unref();
      return;
    }
    this.#late = 0;
    this.#isThere = true;
    this.#isWarned = false;
    this.#log.warn('Redis is back: instances count together again');
  }
}
