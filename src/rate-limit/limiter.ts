import { AppError } from '../errors.ts';
import type { KeyLookUp } from '../auth/verifier.ts';
import type { Buckets, Charge, ChargeOutcome, Policy, RateLimitRefusal, RateLimitStatus } from './buckets.ts';
import { classOf, costOf } from './call-class.ts';
import { clientSubnet, siteOf } from './client-subnet.ts';
import { type Policies, policiesOf, type Quotas, sitePolicyOf } from './policies.ts';

/** Hears how a caller stands to a policy. */
export type OnRateLimit = (standing: RateLimitStatus) => void;

/** Whom calls are charged to. */
export interface RateLimitKey {
  /** The id of a key, or a network. */
  owner: string;
  /** Whether it is that of a key. */
  isKnown: boolean;
  note: OnRateLimit;
}

/** A procedure, as far as its calls cost something. */
type Costly = Parameters<typeof classOf>[0] & Parameters<typeof costOf>[0];

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

/** Leaves those of IPv6 sites out that are not tighter than those of the networks, each of which comes before its site's. */
const telling = (
  standings: readonly RateLimitStatus[],
  sites: ReadonlyMap<Policy, Policy>,
): readonly RateLimitStatus[] =>
  standings.filter((standing, index) => {
    const before = standings[index - 1];
    return !before || sites.get(before.policy) !== standing.policy || standing.left < before.left;
  });

/** Holds callers to their rates: each by its key, or by the network it calls from, and by the site of that. */
export class RateLimiter {
  readonly policies: Policies;
  /** Those of IPv6 sites, by those of their networks. */
  readonly #sitePolicies: ReadonlyMap<Policy, Policy>;
  readonly #buckets: Buckets;
  readonly #onRefusal: ((policy: string) => void) | undefined;

  /** `onRefusal` hears which policy refused a caller. */
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

  /** The account of a key or, without one, of an address. */
  keyOf(keyId: string | undefined, address: string, note: OnRateLimit): RateLimitKey {
    return keyId === undefined
      ? { owner: clientSubnet(address), isKnown: false, note }
      : { owner: keyId, isKnown: true, note };
  }

  /**
   * Charges a call, before anything is known of it but whether it writes. Answers at once where it can.
   * @throws AppError RATE_LIMITED
   */
  chargeCall(account: RateLimitKey, effect: 'read' | 'write'): void | Promise<void> {
    const { owner } = account;
    return this.#charge(account, [
      { policy: this.#policyOf(account, effect), owner, cost: 1 },
      { policy: this.policies.work, owner, cost: 0 },
    ]);
  }

  /**
   * Charges what a call is found to cost besides, by its input, valid or not.
   * @throws AppError RATE_LIMITED
   */
  chargeInput(account: RateLimitKey, procedure: Costly, input: unknown): void | Promise<void> {
    const { owner } = account;
    if (classOf(procedure, input) === 'search') {
      return this.#charge(account, [{ policy: this.policies.search, owner, cost: 1 }]);
    }
    const cost = costOf(procedure, input) - 1;
    if (cost > 0) return this.#charge(account, [{ policy: this.#policyOf(account, procedure.effect), owner, cost }]);
  }

  /** Charges milliseconds of work that was done. */
  chargeWork({ owner }: RateLimitKey, ms: number): void {
    this.#add({ policy: this.policies.work, owner, cost: ms });
  }

  /** How an address stands from which somebody calls who is not known yet. */
  status(address: string): RateLimitStatus {
    return this.#buckets.status(this.policies.anonymous, clientSubnet(address));
  }

  /** Asks for look-ups of keys from an address: those of keys that exist cost nothing. */
  keyLookUp(address: string, note: OnRateLimit): KeyLookUp {
    const account = this.keyOf(undefined, address, note);
    const claim: Charge = { policy: this.policies.keys, owner: account.owner, cost: 1 };
    return {
      reserve: () => this.#charge(account, [claim]),
      refund: () => this.#add({ ...claim, cost: -1 }),
    };
  }

  #policyOf({ isKnown }: RateLimitKey, effect: 'read' | 'write'): Policy {
    if (effect === 'write') return this.policies.write;
    return isKnown ? this.policies.read : this.policies.anonymous;
  }

  /** A claim, and the same of the site that its owner belongs to. */
  #withSite(claim: Charge): Charge[] {
    const owner = siteOf(claim.owner);
    const policy = owner === undefined ? undefined : this.#sitePolicies.get(claim.policy);
    return owner === undefined || policy === undefined ? [claim] : [claim, { ...claim, policy, owner }];
  }

  #add(claim: Charge): void {
    for (const one of this.#withSite(claim)) this.#buckets.add(one);
  }

  #charge(account: RateLimitKey, claims: readonly Charge[]): void | Promise<void> {
    const outcome = this.#buckets.consume(claims.flatMap((claim) => this.#withSite(claim)));
    // A promise would take as long as all else where memory answers at once.
    if (outcome instanceof Promise) return outcome.then((later) => this.#settle(account, later));
    this.#settle(account, outcome);
  }

  #settle({ note }: RateLimitKey, { standings, refusal }: ChargeOutcome): void {
    for (const standing of telling(standings, this.#sitePolicies)) note(standing);
    if (!refusal) return;
    this.#onRefusal?.(refusal.policy.name);
    throw refused(refusal);
  }
}
