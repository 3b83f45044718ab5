import { AppError } from '../../base/errors.ts';
import type { Buckets, Charge, ChargeOutcome, Policy, RateLimitRefusal, RateLimitStatus } from './buckets.ts';
import type { Classified } from './call-class.ts';
import { clientSubnet, siteOf } from '../caller.ts';
import { type Policies, policiesOf, type Quotas, sitePolicyOf } from './policies.ts';

/** Called with the status of a caller under a policy. */
export type OnRateLimit = (status: RateLimitStatus) => void;

/** The owner whom calls are charged to. */
export interface RateLimitKey {
  /** The id of a key, or a network. */
  owner: string;
  /** Whether the owner is a key. */
  isKnown: boolean;
  note: OnRateLimit;
}

const MS = 1000;

/** `12 seconds` */
const inSeconds = (ms: number): string => {
  const seconds = Math.max(1, Math.ceil(ms / MS));
  return seconds === 1 ? 'a second' : `${seconds} seconds`;
};

const refused = ({ policy: { name, quota, seconds }, roomInMs }: RateLimitRefusal): AppError =>
  new AppError('RATE_LIMITED', {
    retryAfter: Math.max(1, Math.ceil(roomInMs / MS)),
    hint: `The limit \`${name}\` is ${quota} in ${seconds} seconds. There is room again in ${inSeconds(roomInMs)}.`,
  });

/** Leaves out statuses of IPv6 sites that are not tighter than the status of the network before them. */
const withoutLooserSites = (
  statuses: readonly RateLimitStatus[],
  sites: ReadonlyMap<Policy, Policy>,
): readonly RateLimitStatus[] =>
  statuses.filter((status, index) => {
    const before = statuses[index - 1];
    return !before || sites.get(before.policy) !== status.policy || status.left < before.left;
  });

/** Charges callers and refuses those without quota: by key, or by client subnet, and by the site of that. */
export class RateLimiter {
  readonly policies: Policies;
  /** The policies of IPv6 sites, by those of their subnets. */
  readonly #sitePolicies: ReadonlyMap<Policy, Policy>;
  readonly #buckets: Buckets;
  readonly #onRefusal: ((policy: string) => void) | undefined;

  /** `onRefusal` is called with the policy that refused a caller. */
  constructor(quotas: Quotas, buckets: Buckets, onRefusal?: (policy: string) => void) {
    this.policies = policiesOf(quotas);
    const { anonymous, search, work, keys } = this.policies;
    this.#sitePolicies = new Map([anonymous, search, work, keys].map((policy) => [policy, sitePolicyOf(policy)]));
    this.#buckets = buckets;
    this.#onRefusal = onRefusal;
  }

  /** Every policy that may refuse a caller. */
  get allPolicies(): readonly Policy[] {
    return [...Object.values(this.policies), ...this.#sitePolicies.values()];
  }

  /** The limit key of an API key or, without one, of an address. */
  keyOf(keyId: string | undefined, address: string, note: OnRateLimit): RateLimitKey {
    return keyId === undefined
      ? { owner: clientSubnet(address), isKnown: false, note }
      : { owner: keyId, isKnown: true, note };
  }

  /**
   * Charges a call, of which only the effect is known. It answers synchronously where it can.
   * @throws AppError RATE_LIMITED
   */
  chargeCall(limitKey: RateLimitKey, effect: 'read' | 'write'): void | Promise<void> {
    const { owner } = limitKey;
    return this.#charge(limitKey, [
      { policy: this.#policyOf(limitKey, effect), owner, cost: 1 },
      { policy: this.policies.work, owner, cost: 0 },
    ]);
  }

  /** Charges what a call costs beyond one, by its input, valid or not. @throws AppError RATE_LIMITED */
  chargeInput(limitKey: RateLimitKey, { callClass, charge }: Classified): void | Promise<void> {
    const { owner } = limitKey;
    if (callClass === 'search') {
      return this.#charge(limitKey, [{ policy: this.policies.search, owner, cost: 1 }]);
    }
    if (charge > 1) {
      return this.#charge(limitKey, [{ policy: this.#policyOf(limitKey, callClass), owner, cost: charge - 1 }]);
    }
  }

  /** Charges milliseconds of work. */
  chargeWork({ owner }: RateLimitKey, ms: number): void {
    this.#add({ policy: this.policies.work, owner, cost: ms });
  }

  /** The status of an address, before the caller is authenticated. */
  status(address: string): RateLimitStatus {
    return this.#buckets.status(this.policies.anonymous, clientSubnet(address));
  }

  /** Reserves key look-ups for an address, and refunds those of keys that exist. */
  keyLookUp(address: string, note: OnRateLimit): { reserve: () => void | Promise<void>; refund: () => void } {
    const limitKey = this.keyOf(undefined, address, note);
    const charge: Charge = { policy: this.policies.keys, owner: limitKey.owner, cost: 1 };
    return {
      reserve: () => this.#charge(limitKey, [charge]),
      refund: () => this.#add({ ...charge, cost: -1 }),
    };
  }

  #policyOf({ isKnown }: RateLimitKey, effect: 'read' | 'write'): Policy {
    if (effect === 'write') return this.policies.write;
    return isKnown ? this.policies.read : this.policies.anonymous;
  }

  /** A charge, and the same charge to the site of its owner. */
  #withSite(charge: Charge): Charge[] {
    const owner = siteOf(charge.owner);
    const policy = owner === undefined ? undefined : this.#sitePolicies.get(charge.policy);
    return owner === undefined || policy === undefined ? [charge] : [charge, { ...charge, policy, owner }];
  }

  #add(charge: Charge): void {
    for (const one of this.#withSite(charge)) this.#buckets.add(one);
  }

  #charge(limitKey: RateLimitKey, charges: readonly Charge[]): void | Promise<void> {
    const outcome = this.#buckets.consume(charges.flatMap((charge) => this.#withSite(charge)));
    // A promise would cost as much as the rest where memory answers at once.
    if (outcome instanceof Promise) return outcome.then((later) => this.#settle(limitKey, later));
    this.#settle(limitKey, outcome);
  }

  #settle({ note }: RateLimitKey, { statuses, refusal }: ChargeOutcome): void {
    for (const status of withoutLooserSites(statuses, this.#sitePolicies)) note(status);
    if (!refusal) return;
    this.#onRefusal?.(refusal.policy.name);
    throw refused(refusal);
  }
}
