/** The open tails of a process: their limits and their supervision. */
import { clearInterval, setInterval } from '../../base/runtime.ts';
import { errorOf, MAX_TAILS, SITE_FACTOR, USER_FACTOR } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { siteOf } from '../../limits/caller.ts';

/** The most tails of a process: each takes some 30 KiB. */
const MOST = 10_000;
/** The most tails without a key, from any number of addresses: the remaining places are reserved for keys. */
const MOST_WITHOUT_KEY = 8000;
const RETRY_S = 10;

/** The caller of a tail. */
export interface TailOwner {
  /** The key or network that the tail counts against; undefined where callers have no limits. */
  name: string | undefined;
  /** The user of the key; undefined without one. */
  userId: string | undefined;
}

/** A limit that some tails share. */
interface Share {
  name: string;
  most: number;
  hint: string;
}

const sharesOf = ({ name, userId }: TailOwner): Share[] => {
  if (name === undefined) return [];
  const hint = `A key, or an address without one, may have ${MAX_TAILS} tails at a time.`;
  const own = { name, most: MAX_TAILS, hint };
  const group = userId ?? siteOf(name);
  if (group === undefined) return [own];
  const most = (userId === undefined ? SITE_FACTOR : USER_FACTOR) * MAX_TAILS;
  const sharers = userId === undefined ? 'networks of an IPv6 /48' : 'keys of a user';
  return [own, { name: group, most, hint: `All ${sharers} may have ${most} tails at a time together.` }];
};

/** Counts the open tails of a process and of each caller. */
export class TailPlaces {
  readonly #taken = new Map<string, number>();
  #size = 0;
  #withoutKey = 0;

  /** Takes a place for a tail. Returns a function that releases it. @throws AppError RATE_LIMITED, OVERLOADED */
  reserve(owner: TailOwner): () => void {
    const shares = sharesOf(owner);
    const full = shares.find(({ name, most }) => (this.#taken.get(name) ?? 0) >= most);
    if (full) throw new AppError('RATE_LIMITED', { retryAfter: RETRY_S, hint: full.hint });
    if (this.#size >= MOST || (owner.userId === undefined && this.#withoutKey >= MOST_WITHOUT_KEY)) {
      throw new AppError('OVERLOADED', { retryAfter: RETRY_S });
    }
    this.#count(owner, shares, 1);
    return () => this.#count(owner, shares, -1);
  }

  #count({ userId }: TailOwner, shares: readonly Share[], by: 1 | -1): void {
    this.#size += by;
    if (userId === undefined) this.#withoutKey += by;
    for (const { name } of shares) {
      const count = (this.#taken.get(name) ?? 0) + by;
      if (count === 0) this.#taken.delete(name);
      else this.#taken.set(name, count);
    }
  }
}

const UNAUTHORIZED = 401;
/** The interval of key checks: with the time for which a key is cached, less than a second. */
const TICK_MS = 400;
/** Balancers cut off connections that are silent for 15 s or more, so tails are pinged every 10 s. */
const PING_TICKS = 10_000 / TICK_MS;

/** An open tail. */
interface OpenTail {
  stream: { ping: () => void; interrupt: () => void };
  /** The key that opened it. */
  key: string | undefined;
  /** Ends it with an error. */
  fail: (error: AppError) => void;
}

/** The open tails of a process. They are pinged, and end within a second after their key ends. */
export class OpenTails {
  readonly #assertValid: (key: string) => Promise<void>;
  /** The tails, each with the tick at which it is pinged. */
  readonly #tails = new Map<OpenTail, number>();
  #added = 0;
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  /** `assertValid` rejects for an invalid key. */
  constructor(assertValid: (key: string) => Promise<void>) {
    this.#assertValid = assertValid;
  }

  /** Supervises a tail. Returns a function that stops this. */
  add(tail: OpenTail): () => void {
    this.#tails.set(tail, this.#added % PING_TICKS);
    this.#added += 1;
    this.#timer ??= setInterval(() => this.#look(), TICK_MS).unref();
    return () => this.#remove(tail);
  }

  /** Interrupts all tails when the service stops. */
  interrupt(): void {
    for (const { stream } of this.#tails.keys()) stream.interrupt();
  }

  #remove(tail: OpenTail): void {
    this.#tails.delete(tail);
    if (this.#tails.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const [{ stream }, tick] of this.#tails) if (tick === this.#tick) stream.ping();
    this.#tick = (this.#tick + 1) % PING_TICKS;
    void this.#checkKeys();
  }

  /** Checks each key once for all its tails. Never rejects. */
  async #checkKeys(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const keys = new Set([...this.#tails.keys()].flatMap(({ key }) => key ?? []));
    await Promise.all(Array.from(keys, (key) => this.#checkKey(key)));
    this.#isChecking = false;
  }

  async #checkKey(key: string): Promise<void> {
    try {
      await this.#assertValid(key);
    } catch (error) {
      // If keys cannot be read now, the status of this one is unknown.
      if (!(error instanceof AppError) || errorOf(error.reason).status !== UNAUTHORIZED) return;
      for (const tail of [...this.#tails.keys()].filter((one) => one.key === key)) {
        this.#remove(tail);
        tail.fail(error);
      }
    }
  }
}
