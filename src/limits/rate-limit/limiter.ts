import { AppError } from '../../base/errors.ts';
import type { Buckets, Charge, ChargeOutcome, Policy, RateLimitRefusal, RateLimitStatus } from './buckets.ts';
import type { Classified } from '../call-class.ts';
import { clientSubnet, siteOf } from '../caller.ts';
import { type Policies, policiesOf, type Quotas, type SharedPolicies, sharedPoliciesOf } from './policies.ts';

/** Called with the status of a caller under a policy. */
export type OnRateLimit = (status: RateLimitStatus) => void;

/** The owner whose calls are charged. */
export interface RateLimitKey {
  /** The id of a key, or a network. */
  owner: string;
  /** Whether the owner is a key. */
  isKnown: boolean;
  /** The group with which it shares further rates: the keys of a user, or the networks of an IPv6 site. */
  group: { name: string; policies: SharedPolicies } | undefined;
  note: OnRateLimit;
}

/** A caller with an API key, as limits see it. */
interface KeyHolder {
  userId: string;
  key: { id: string };
}

const MS = 1000;

/** `12 seconds` */
const inSeconds = (ms: number): string => {
  const seconds = Math.max(1, Math.ceil(ms / MS));
  return seconds === 1 ? 'a second' : `${seconds} seconds`;
};

const refused = ({ policy: { name, quota, seconds, sharers }, roomInMs }: RateLimitRefusal): AppError =>
  new AppError('RATE_LIMITED', {
    retryAfter: Math.max(1, Math.ceil(roomInMs / MS)),
    hint: `The limit \`${name}\` is ${quota} in ${seconds} seconds${sharers === undefined ? '' : ` for ${sharers} together`}. There is room again in ${inSeconds(roomInMs)}.`,
  });

/** A charge and, if the owner shares a rate with others, the same charge to their group. */
const chargesTo = ({ owner, group }: RateLimitKey, policy: Policy, cost: number): Charge[] => {
  const charge = { policy, owner, group: group?.name, cost };
  const shared = group?.policies.get(policy);
  return group && shared ? [charge, { ...charge, policy: shared, owner: group.name }] : [charge];
};

/** Omits statuses of groups that are not tighter than the preceding status of their owner. */
const withoutLooserGroups = (statuses: readonly RateLimitStatus[]): readonly RateLimitStatus[] =>
  statuses.filter(
    ({ policy, left }, index) => policy.sharers === undefined || left < (statuses[index - 1] as RateLimitStatus).left,
  );

/** Charges callers and refuses those without quota: by key and user, or by client subnet and its site. */
export class RateLimiter {
  readonly policies: Policies;
  readonly #shared: ReturnType<typeof sharedPoliciesOf>;
  readonly #buckets: Buckets;
  readonly #onRefusal: ((policy: string) => void) | undefined;

  /** `onRefusal` is called with the policy that refused a caller. */
  constructor(quotas: Quotas, buckets: Buckets, onRefusal?: (policy: string) => void) {
    this.policies = policiesOf(quotas);
    this.#shared = sharedPoliciesOf(this.policies);
    this.#buckets = buckets;
    this.#onRefusal = onRefusal;
  }

  /** The limit key of a caller with an API key, else of an address. */
  keyOf(caller: KeyHolder | undefined, address: string, note: OnRateLimit): RateLimitKey {
    if (caller) {
      const group = { name: caller.userId, policies: this.#shared.user };
      return { owner: caller.key.id, isKnown: true, group, note };
    }
    const owner = clientSubnet(address);
    const site = siteOf(owner);
    const group = site === undefined ? undefined : { name: site, policies: this.#shared.site };
    return { owner, isKnown: false, group, note };
  }

  /**
   * Charges a call of which only the effect is known. Answers synchronously if possible.
   * @throws AppError RATE_LIMITED
   */
  chargeCall(limitKey: RateLimitKey, effect: 'read' | 'write'): void | Promise<void> {
    return this.#charge(limitKey, [
      ...chargesTo(limitKey, this.#policyOf(limitKey, effect), 1),
      ...chargesTo(limitKey, this.policies.work, 0),
    ]);
  }

  /** Charges the part of a call's cost above 1, by its input, valid or not. @throws AppError RATE_LIMITED */
  chargeInput(limitKey: RateLimitKey, { callClass, charge }: Classified): void | Promise<void> {
    if (callClass === 'search') return this.#charge(limitKey, chargesTo(limitKey, this.policies.search, 1));
    if (charge > 1) {
      return this.#charge(limitKey, chargesTo(limitKey, this.#policyOf(limitKey, callClass), charge - 1));
    }
  }

  /** Charges milliseconds of work. */
  chargeWork(limitKey: RateLimitKey, ms: number): void {
    this.#add(chargesTo(limitKey, this.policies.work, ms));
  }

  /** The status of an address, before the caller is authenticated. */
  status(address: string): RateLimitStatus {
    return this.#buckets.status(this.policies.anonymous, clientSubnet(address));
  }

  /** Reserves key look-ups for an address, and refunds those of existing keys. */
  keyLookUp(address: string, note: OnRateLimit): { reserve: () => void | Promise<void>; refund: () => void } {
    const limitKey = this.keyOf(undefined, address, note);
    const charges = (cost: 1 | -1): Charge[] => chargesTo(limitKey, this.policies.keys, cost);
    return { reserve: () => this.#charge(limitKey, charges(1)), refund: () => this.#add(charges(-1)) };
  }

  #policyOf({ isKnown }: RateLimitKey, effect: 'read' | 'write'): Policy {
    if (effect === 'write') return this.policies.write;
    return isKnown ? this.policies.read : this.policies.anonymous;
  }

  #add(charges: readonly Charge[]): void {
    for (const charge of charges) this.#buckets.add(charge);
  }

  #charge(limitKey: RateLimitKey, charges: readonly Charge[]): void | Promise<void> {
    const outcome = this.#buckets.consume(charges);
    // A promise would cost as much as all other work where memory answers at once.
    if (outcome instanceof Promise) return outcome.then((later) => this.#settle(limitKey, later));
    this.#settle(limitKey, outcome);
  }

  #settle({ note }: RateLimitKey, { statuses, refusal }: ChargeOutcome): void {
    for (const status of withoutLooserGroups(statuses)) note(status);
    if (!refusal) return;
    this.#onRefusal?.(refusal.policy.name);
    throw refused(refusal);
  }
}
