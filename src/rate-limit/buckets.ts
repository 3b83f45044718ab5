/** So much within so much time. */
export interface Policy {
  /** As callers see it. */
  readonly name: string;
  readonly quota: number;
  readonly seconds: number;
}

/** What is wanted of a bucket: the one that `owner` has for the policy. */
export interface Charge {
  policy: Policy;
  owner: string;
  /** Of the quota; 0 asks whether anything is left. */
  cost: number;
}

/** How an owner stands to a policy. */
export interface RateLimitStatus {
  policy: Policy;
  /** What is left of the quota. */
  left: number;
  /** Milliseconds until all of it is there again. */
  wholeInMs: number;
}

/** Why claims were not taken. */
export interface RateLimitRefusal {
  /** The policy that takes longest to have room. */
  policy: Policy;
  /** Milliseconds until there is room for all claims. */
  roomInMs: number;
}

/** What came of a claim, or of several together. */
export interface ChargeOutcome {
  /** For each claim, as it is now. */
  statuses: readonly RateLimitStatus[];
  /** Undefined where they were taken. */
  refusal: RateLimitRefusal | undefined;
}

/**
 * Leaky buckets: what is put in runs out at a steady rate, the quota within the policy's time, and what would make a bucket
 * overflow is refused. So nobody gets twice the quota around the end of some window, nor is forgiven what was overdrawn.
 */
export interface Buckets {
  /** Puts in what is claimed if there is room for all of it, else nothing. Answers at once where it can. */
  consume: (charges: readonly Charge[]) => ChargeOutcome | Promise<ChargeOutcome>;
  /** Puts it in whether there is room or not; takes it out again if the cost is negative. */
  add: (charge: Charge) => void;
  /** How an owner stands, as far as it is known here. */
  status: (policy: Policy, owner: string) => RateLimitStatus;
}

/** A debt, in quotas, beyond which no more is added: whoever overdrew waits for minutes, not for hours. */
export const MOST_DEBT = 5;
/** Milliseconds that sums of fractions may be off. */
const ROUNDING_MS = 0.001;

/** The name of a bucket. */
export const bucketOf = ({ policy, owner }: Pick<Charge, 'policy' | 'owner'>): string => `${policy.name} ${owner}`;

/** How long a full bucket takes to run out. */
export const fullMs = ({ seconds }: Policy): number => seconds * 1000;

/** How long a cost takes to run out. */
export const millisecondsOf = (policy: Policy, cost: number): number => (cost * fullMs(policy)) / policy.quota;

/** Likewise, for a claim. No call is dearer than all there is: it would never be let through. */
export const chargedMs = ({ policy, cost }: Charge): number => millisecondsOf(policy, Math.min(cost, policy.quota));

/** How an owner stands whose bucket takes so long to run out. */
export const statusOf = (policy: Policy, backlogMs: number): RateLimitStatus => {
  const left = ((fullMs(policy) - backlogMs + ROUNDING_MS) * policy.quota) / fullMs(policy);
  return { policy, left: Math.max(0, Math.floor(left)), wholeInMs: backlogMs };
};

/** Why claims cannot be taken from buckets that take so long to run out, if they cannot. */
export const refusalOf = (charges: readonly Charge[], backlogs: readonly number[]): RateLimitRefusal | undefined => {
  let refusal: RateLimitRefusal | undefined;
  for (const [index, charge] of charges.entries()) {
    const { policy } = charge;
    const roomInMs = (backlogs[index] as number) + chargedMs(charge) - fullMs(policy);
    if (roomInMs > (refusal?.roomInMs ?? ROUNDING_MS)) refusal = { policy, roomInMs };
  }
  return refusal;
};

/** What comes of claims on buckets that took so long to run out before. */
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
