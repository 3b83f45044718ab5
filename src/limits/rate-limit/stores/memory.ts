import { LRUCache } from 'lru-cache';
import { atMost } from '../../../base/cache.ts';
import { performance } from '../../../base/runtime.ts';
import {
  bucketOf,
  type Buckets,
  type Charge,
  fullMs,
  millisecondsOf,
  MOST_DEBT,
  type ChargeOutcome,
  outcomeOf,
  type Policy,
  refusalOf,
  type RateLimitStatus,
  statusOf,
} from '../buckets.ts';

/** The buckets that are remembered, some 200 bytes each; the least recently used are forgotten first. */
const REMEMBERED = 100_000;

/** The buckets of one process, in its memory. */
export class LocalBuckets implements Buckets {
  readonly #now: () => number;
  /** The time at which each bucket will be empty: the whole state of a leaky bucket. */
  readonly #emptyAt: LRUCache<string, number>;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now(), remembered = REMEMBERED) {
    this.#now = now;
    this.#emptyAt = new LRUCache(atMost(remembered));
  }

  consume(charges: readonly Charge[]): ChargeOutcome {
    const now = this.#now();
    const buckets = charges.map(bucketOf);
    const backlogs = buckets.map((bucket) => this.#backlog(bucket, now));
    const outcome = outcomeOf(charges, backlogs, refusalOf(charges, backlogs));
    if (!outcome.refusal) {
      for (const [index, charge] of charges.entries()) {
        if (charge.cost > 0)
          this.#emptyAt.set(buckets[index] as string, now + (outcome.statuses[index] as RateLimitStatus).wholeInMs);
      }
    }
    return outcome;
  }

  add({ policy, owner, cost }: Charge): void {
    const bucket = bucketOf({ policy, owner });
    const now = this.#now();
    const backlog = this.#backlog(bucket, now) + millisecondsOf(policy, cost);
    this.#emptyAt.set(bucket, now + Math.min(Math.max(0, backlog), MOST_DEBT * fullMs(policy)));
  }

  status(policy: Policy, owner: string): RateLimitStatus {
    return statusOf(policy, this.#backlog(bucketOf({ policy, owner }), this.#now()));
  }

  /** Takes over the status of an owner from another store. */
  note({ policy, wholeInMs }: RateLimitStatus, owner: string): void {
    this.#emptyAt.set(bucketOf({ policy, owner }), this.#now() + wholeInMs);
  }

  #backlog(bucket: string, now: number): number {
    return Math.max(0, (this.#emptyAt.get(bucket) ?? 0) - now);
  }
}
