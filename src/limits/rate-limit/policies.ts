import {
  RATE_SECONDS,
  rates,
  type RateName,
  SITE_FACTOR,
  UNKNOWN_KEYS,
  USER_FACTOR,
} from '../../../contract/limits.ts';
import type { Policy } from './buckets.ts';

/** The quota of each rate. */
export type Quotas = Readonly<Record<RateName, number>>;

/** The policies that apply to callers. */
export type Policies = Readonly<Record<RateName | 'keys', Policy>>;

const policy = (name: string, quota: number): Policy => ({ name, quota, seconds: RATE_SECONDS });

export const policiesOf = (quotas: Quotas): Policies => ({
  read: policy('read', quotas.read),
  anonymous: policy('anonymous', quotas.anonymous),
  write: policy('write', quotas.write),
  search: policy('search', quotas.search),
  work: policy('work', quotas.work),
  keys: policy('keys', UNKNOWN_KEYS),
});

/** The shared policies of several callers, by the policies of one caller. */
export type SharedPolicies = ReadonlyMap<Policy, Policy>;

const shared = (policies: readonly Policy[], suffix: string, factor: number, sharers: string): SharedPolicies =>
  new Map(policies.map((own) => [own, { ...policy(`${own.name}-${suffix}`, factor * own.quota), sharers }]));

/** The policies that the subnets of an IPv6 site share, and those that the keys of a user share. */
export const sharedPoliciesOf = ({ anonymous, read, write, search, work, keys }: Policies) => ({
  site: shared([anonymous, search, work, keys], '48', SITE_FACTOR, 'all networks of an IPv6 /48'),
  user: shared([read, write, search, work], 'user', USER_FACTOR, 'all keys of a user'),
});

const MOST = 1_000_000;
const NAMES = Object.keys(rates) as RateName[];
const isName = (text: string): text is RateName => Object.hasOwn(rates, text);

/** An invalid setting of rates; the message explains the fault. */
export class QuotaError extends Error {}

/**
 * Parses quotas: `read=600,search=60` sets these, and the others keep their defaults. Undefined for `off`.
 * @throws QuotaError
 */
export const parseQuotas = (text: string): Quotas | undefined => {
  if (text === 'off') return undefined;
  const quotas: Record<RateName, number> = { ...rates };
  if (text === 'on') return quotas;
  const seen = new Set<string>();
  for (const part of text.split(',')) {
    const [, name = '', number = ''] = /^ *([a-z]+) *= *([0-9]+) *$/.exec(part) ?? [];
    if (!isName(name)) {
      throw new QuotaError(
        `must be on, off, or a comma-separated list such as read=600,write=120 of ${NAMES.join(', ')}`,
      );
    }
    if (seen.has(name)) throw new QuotaError(`has ${name} twice`);
    seen.add(name);
    const quota = Number(number);
    if (quota < 1 || quota > MOST) throw new QuotaError(`has ${name}=${number}, which must be from 1 to ${MOST}`);
    quotas[name] = quota;
  }
  return quotas;
};
