/** So much within so much time. */
export interface Policy {
  /** As callers see it. */
  readonly name: string;
  readonly quota: number;
  readonly seconds: number;
}

/** What is wanted of a bucket: the one that `owner` has for the policy. */
export interface Claim {
  policy: Policy;
  owner: string;
  /** Of the quota; 0 asks whether anything is left. */
  cost: number;
}

/** How an owner stands to a policy. */
export interface Standing {
  policy: Policy;
  /** What is left of the quota. */
  left: number;
  /** Milliseconds until all of it is there again. */
  wholeInMs: number;
}

/** Why claims were not taken. */
export interface Refusal {
  /** The policy that takes longest to have room. */
  policy: Policy;
  /** Milliseconds until there is room for all claims. */
  roomInMs: number;
}

/** What came of a claim, or of several together. */
export interface Outcome {
  /** For each claim, as it is now. */
  standings: readonly Standing[];
  /** Undefined where they were taken. */
  refusal: Refusal | undefined;
}

/**
 * Leaky buckets: what is put in runs out at a steady rate, the quota within the policy's time, and what would make a bucket
 * overflow is refused. So nobody gets twice the quota around the end of some window, nor is forgiven what was overdrawn.
 */
export interface Buckets {
  /** Puts in what is claimed if there is room for all of it, else nothing. Answers at once where it can. */
  take: (claims: readonly Claim[]) => Outcome | Promise<Outcome>;
  /** Puts it in whether there is room or not; takes it out again if the cost is negative. */
  add: (claim: Claim) => void;
  /** How an owner stands, as far as it is known here. */
  standing: (policy: Policy, owner: string) => Standing;
}

/** A debt, in quotas, beyond which no more is added: whoever overdrew waits for minutes, not for hours. */
export const MOST_DEBT = 5;
/** Milliseconds that sums of fractions may be off. */
const ROUNDING_MS = 0.001;

/** The name of a bucket. */
export const bucketOf = ({ policy, owner }: Pick<Claim, 'policy' | 'owner'>): string => `${policy.name} ${owner}`;

/** How long a full bucket takes to run out. */
export const fullMs = ({ seconds }: Policy): number => seconds * 1000;

/** How long a cost takes to run out. */
export const millisecondsOf = (policy: Policy, cost: number): number => (cost * fullMs(policy)) / policy.quota;

/** Likewise, for a claim. No call is dearer than all there is: it would never be let through. */
export const claimedMs = ({ policy, cost }: Claim): number => millisecondsOf(policy, Math.min(cost, policy.quota));

/** How an owner stands whose bucket takes so long to run out. */
export const standingOf = (policy: Policy, backlogMs: number): Standing => {
  const left = ((fullMs(policy) - backlogMs + ROUNDING_MS) * policy.quota) / fullMs(policy);
  return { policy, left: Math.max(0, Math.floor(left)), wholeInMs: backlogMs };
};

/** Why claims cannot be taken from buckets that take so long to run out, if they cannot. */
export const refusalOf = (claims: readonly Claim[], backlogs: readonly number[]): Refusal | undefined => {
  let refusal: Refusal | undefined;
  for (const [index, claim] of claims.entries()) {
    const { policy } = claim;
    const roomInMs = (backlogs[index] as number) + claimedMs(claim) - fullMs(policy);
    if (roomInMs > (refusal?.roomInMs ?? ROUNDING_MS)) refusal = { policy, roomInMs };
  }
  return refusal;
};

/** What comes of claims on buckets that took so long to run out before. */
export const outcomeOf = (
  claims: readonly Claim[],
  backlogs: readonly number[],
  refusal: Refusal | undefined,
): Outcome => ({
  refusal,
  standings: claims.map((claim, index) =>
    standingOf(claim.policy, (backlogs[index] as number) + (refusal ? 0 : claimedMs(claim))),
  ),
});
