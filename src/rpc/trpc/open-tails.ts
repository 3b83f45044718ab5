/** The tails of a process: their places, and the watch over those that are open. */
import { clearInterval, setInterval } from '../../base/runtime.ts';
import { errorOf, MAX_TAILS, SITE_FACTOR, USER_FACTOR } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { siteOf } from '../../limits/caller.ts';

/** The tails of a process: each takes some 30 KiB. */
const MOST = 10_000;
/** The most of them without a key, from however many addresses: the other places are for keys. */
const MOST_WITHOUT_KEY = 8000;
const RETRY_S = 10;

/** The caller of a tail. */
export interface TailOwner {
  /** The key or the network that it counts for; undefined where callers have no limits. */
  name: string | undefined;
  /** The user of the key; undefined without one. */
  userId: string | undefined;
}

/** Some tails that count together. */
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

/** Counts the open tails of a process, and those of each caller. */
export class TailPlaces {
  readonly #taken = new Map<string, number>();
  #size = 0;
  #withoutKey = 0;

  /** Takes a place for a tail. Returns a function that gives it back. @throws AppError RATE_LIMITED, OVERLOADED */
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
/** How often keys are checked: with the time for which a key is remembered, less than a second. */
const TICK_MS = 400;
/** Balancers cut off connections that are silent for 15 s and more: tails are pinged every 10 s. */
const PING_TICKS = 10_000 / TICK_MS;

/** A tail that is open. */
interface OpenTail {
  stream: { ping: () => void; interrupt: () => void };
  /** The key that it was opened with. */
  key: string | undefined;
  /** Ends it with an error. */
  fail: (error: AppError) => void;
}

/** The open tails of a process. They are pinged, and end within a second of the end of their key. */
export class OpenTails {
  readonly #assertValid: (key: string) => Promise<void>;
  /** With the tick at which each is pinged. */
  readonly #tails = new Map<OpenTail, number>();
  #added = 0;
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  /** `assertValid` rejects for a key that is not valid. */
  constructor(assertValid: (key: string) => Promise<void>) {
    this.#assertValid = assertValid;
  }

  /** Watches over a tail. Returns a function that ends that. */
  add(tail: OpenTail): () => void {
    this.#tails.set(tail, this.#added % PING_TICKS);
    this.#added += 1;
    this.#timer ??= setInterval(() => this.#look(), TICK_MS).unref();
    return () => this.#remove(tail);
  }

  /** Interrupts all of them, as the service stops. */
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
    const keys = new Set(Array.from(this.#tails.keys(), ({ key }) => key));
    await Promise.all(Array.from(keys, (key) => key !== undefined && this.#checkKey(key)));
    this.#isChecking = false;
  }

  async #checkKey(key: string): Promise<void> {
    try {
      await this.#assertValid(key);
    } catch (error) {
      // Where keys cannot be read now, nothing is known of this one.
      if (!(error instanceof AppError) || errorOf(error.reason).status !== UNAUTHORIZED) return;
      for (const tail of [...this.#tails.keys()].filter((one) => one.key === key)) {
        this.#remove(tail);
        tail.fail(error);
      }
    }
  }
}
