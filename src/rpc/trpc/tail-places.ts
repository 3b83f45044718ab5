import { MAX_TAILS, SITE_FACTOR, USER_FACTOR } from '../../../contract/index.ts';
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
