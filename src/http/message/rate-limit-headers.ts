/** The headers `RateLimit-Policy` and `RateLimit`: draft-ietf-httpapi-ratelimit-headers, version 10 */
import type { Policy, RateLimitStatus } from '../../limits/rate-limit/buckets.ts';

const MS = 1000;
const items = new Map<Policy, string>();

/** `"read";q=600;w=60` */
const policyItem = (policy: Policy): string => {
  let item = items.get(policy);
  if (item === undefined) {
    const { name, quota, seconds } = policy;
    const unit = name.startsWith('work') ? ';qu="milliseconds"' : '';
    item = `"${name}";q=${quota};w=${seconds}${unit}`;
    items.set(policy, item);
  }
  return item;
};

const isTighter = (a: RateLimitStatus, b: RateLimitStatus): boolean =>
  a.left * b.policy.quota <= b.left * a.policy.quota;

/** The status of a caller under the policies that its request met, for the reply. */
export class RateLimitHeaders {
  readonly #usual: () => RateLimitStatus;
  readonly #noted: RateLimitStatus[] = [];

  /** `usual` is the status where the request met no policy. */
  constructor(usual: () => RateLimitStatus) {
    this.#usual = usual;
  }

  /** Adds a status. Of several calls, the one with the least left counts. */
  add(status: RateLimitStatus): void {
    const index = this.#noted.findIndex(({ policy }) => policy === status.policy);
    if (index === -1) this.#noted.push(status);
    else if (status.left < (this.#noted[index] as RateLimitStatus).left) this.#noted[index] = status;
  }

  /** All policies, and the status under the tightest one: names and values in turn. */
  headers(): string[] {
    const all = this.#noted.length > 0 ? this.#noted : [this.#usual()];
    let tightest = all[0] as RateLimitStatus;
    let policies = policyItem(tightest.policy);
    for (let index = 1; index < all.length; index += 1) {
      const status = all[index] as RateLimitStatus;
      policies += `, ${policyItem(status.policy)}`;
      if (isTighter(status, tightest)) tightest = status;
    }
    const { policy, left, wholeInMs } = tightest;
    return ['RateLimit-Policy', policies, 'RateLimit', `"${policy.name}";r=${left};t=${Math.ceil(wholeInMs / MS)}`];
  }
}
