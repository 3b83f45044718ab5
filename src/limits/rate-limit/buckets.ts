import { LRUCache } from 'lru-cache';
import { atMost } from '../../base/cache.ts';
import { performance } from '../../base/runtime.ts';

/** A quota for a period of seconds. */
export interface Policy {
  /** The name that callers see. */
  readonly name: string;
  readonly quota: number;
  readonly seconds: number;
  /** A description of the callers who share it; undefined for the policy of one caller. */
  readonly sharers?: string;
}

/** A charge to the owner's bucket for the policy. */
export interface Charge {
  policy: Policy;
  owner: string;
  /** The group that shares the buckets charged together; undefined without one. */
  group?: string | undefined;
  /** In units of the quota; 0 asks whether any quota is left. */
  cost: number;
}

/** The status of an owner under a policy. */
export interface RateLimitStatus {
  policy: Policy;
  /** The remaining quota. */
  left: number;
  /** The milliseconds until the whole quota is free again. */
  wholeInMs: number;
}

/** A refusal of charges. */
export interface RateLimitRefusal {
  /** The policy that needs the longest time to allow the charge. */
  policy: Policy;
  /** The milliseconds until all charges fit. */
  roomInMs: number;
}

/** The outcome of charges that are consumed together. */
export interface ChargeOutcome {
  /** The status after each charge. */
  statuses: readonly RateLimitStatus[];
  /** Undefined if the charges were consumed. */
  refusal: RateLimitRefusal | undefined;
}

/**
 * Leaky buckets: charges drain at a steady rate, the whole quota in the policy's time. A charge that would overflow a
 * bucket is refused. So no caller gets twice the quota around the end of a window, and debts are not forgiven.
 */
export interface Buckets {
  /** Consumes all charges if all fit, else none. Answers synchronously if possible. */
  consume: (charges: readonly Charge[]) => ChargeOutcome | Promise<ChargeOutcome>;
  /** Adds a charge even if it does not fit; a negative cost is a refund. */
  add: (charge: Charge) => void;
  /** The status of an owner that this process knows. */
  status: (policy: Policy, owner: string) => RateLimitStatus;
}

/** The largest debt, in quotas: a caller who exceeds the quota waits for minutes instead of hours. */
export const MOST_DEBT = 5;
/** The rounding error of sums, in milliseconds. */
const ROUNDING_MS = 0.001;

/** The name of a bucket. */
export const bucketOf = ({ policy, owner }: Pick<Charge, 'policy' | 'owner'>): string => `${policy.name} ${owner}`;

/** The milliseconds that a full bucket takes to drain. */
export const fullMs = ({ seconds }: Policy): number => seconds * 1000;

/** The milliseconds that a cost takes to drain. */
export const millisecondsOf = (policy: Policy, cost: number): number => (cost * fullMs(policy)) / policy.quota;

/** The same for a charge, limited to the quota: a larger charge could never be consumed. */
export const chargedMs = ({ policy, cost }: Charge): number => millisecondsOf(policy, Math.min(cost, policy.quota));

/** The status of an owner whose bucket drains in this time. */
export const statusOf = (policy: Policy, backlogMs: number): RateLimitStatus => {
  const left = ((fullMs(policy) - backlogMs + ROUNDING_MS) * policy.quota) / fullMs(policy);
  return { policy, left: Math.max(0, Math.floor(left)), wholeInMs: backlogMs };
};

/** The refusal of charges to buckets with these drain times, if any. */
export const refusalOf = (charges: readonly Charge[], backlogs: readonly number[]): RateLimitRefusal | undefined => {
  let refusal: RateLimitRefusal | undefined;
  for (const [index, charge] of charges.entries()) {
    const { policy } = charge;
    const roomInMs = (backlogs[index] as number) + chargedMs(charge) - fullMs(policy);
    if (roomInMs > (refusal?.roomInMs ?? ROUNDING_MS)) refusal = { policy, roomInMs };
  }
  return refusal;
};

/** The outcome of charges to buckets that had these drain times. */
export const outcomeOf = (
  charges: readonly Charge[],
  backlogs: readonly number[],
  refusal: RateLimitRefusal | undefined,
): ChargeOutcome => ({
  refusal,
  statuses: charges.map((charge, index) =>
    statusOf(charge.policy, (backlogs[index] as number) + (refusal ? 0 : chargedMs(charge))),
  ),
});

/** The most stored buckets, some 200 bytes each. Beyond, the least recently used are deleted. */
const REMEMBERED = 100_000;

/** The buckets of one process, in its memory. */
export class LocalBuckets implements Buckets {
  readonly #now: () => number;
  /** The time at which each bucket will be empty: the complete state of a leaky bucket. */
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

  /** Sets the status of an owner to that in another store. */
  note({ policy, wholeInMs }: RateLimitStatus, owner: string): void {
    this.#emptyAt.set(bucketOf({ policy, owner }), this.#now() + wholeInMs);
  }

  #backlog(bucket: string, now: number): number {
    return Math.max(0, (this.#emptyAt.get(bucket) ?? 0) - now);
  }
}
