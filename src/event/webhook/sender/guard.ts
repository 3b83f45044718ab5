import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { performance, sleep } from '../../../base/runtime.ts';
import { type Address, type LookUp, nameLookUp } from './names.ts';

/** The hosts that webhooks may reach. */
export interface WebhookPolicy {
  /** Networks that are allowed in addition to the public ones, in CIDR notation. */
  allowed: readonly string[];
  ports: readonly number[];
  /** Whether http is allowed in addition to https. */
  allowsHttp: boolean;
}

/** A webhook may not use an address. The message gives the reason, in words for the owner. */
export class ForbiddenTarget extends Error {}

/** Tells an owner that a name cannot be called. One text for all reasons reveals nothing about the internal network. */
const NO_PUBLIC_ADDRESS = 'its name has no public address';
/** The minimum duration of a failed lookup, so that its timing does not reveal the reason either. */
const FAILED_LOOK_UP_MS = 1000;

const DEFAULT_PORTS: Record<string, number> = { 'https:': 443, 'http:': 80 };

type ParsedAddress = ReturnType<typeof ipaddr.parse>;

const isIn = (address: ParsedAddress, networks: readonly string[]): boolean =>
  networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return base.kind() === address.kind() && address.match(base, bits);
  });

/** All IPv6 addresses that are assigned to networks: RFC 4291, section 2.4. */
const GLOBAL_UNICAST = '2000::/3';

/** Public addresses that lead into a cloud's internal network: the platform of Azure, the services of IBM Cloud. */
const PLATFORMS = ['168.63.129.16/32', '161.26.0.0/16', '166.8.0.0/14'];

/** An IPv6 address that holds an IPv4 one by ISATAP, in any network: RFC 5214, section 6.1. */
const isIsatap = (address: ParsedAddress): boolean => {
  if (!(address instanceof ipaddr.IPv6)) return false;
  const [high = 0, low = 0] = address.parts.slice(4);
  // Two bits of the first word tell whether the IPv4 address is global and whether it is a group address.
  return (high & ~0x0300) === 0 && low === 0x5efe;
};

/**
 * Asserts that an IP address is public or allowed by the operator. Rejects private, loopback, link-local (cloud
 * metadata), shared, multicast and reserved addresses, those of a cloud's platform, and those that embed an IPv4
 * address (mapped, NAT64, 6to4, Teredo, ISATAP).
 * @throws ForbiddenTarget
 */
export const assertPublic = (address: string, { allowed }: Pick<WebhookPolicy, 'allowed'>): void => {
  const parsed = ipaddr.parse(address);
  if (isIn(parsed, allowed)) return;
  const isAssigned = parsed.kind() === 'ipv4' || isIn(parsed, [GLOBAL_UNICAST]);
  if (isAssigned && parsed.range() === 'unicast' && !isIn(parsed, PLATFORMS) && !isIsatap(parsed)) return;
  throw new ForbiddenTarget(`${address} is not a public address`);
};

/** Parses the URL of a webhook. @throws ForbiddenTarget where its form alone forbids it */
export const parseTarget = (text: string, { ports, allowsHttp, allowed }: WebhookPolicy): URL => {
  const url = URL.parse?.(text) ?? (URL.canParse(text) ? new URL(text) : null);
  if (!url) throw new ForbiddenTarget('it is not a URL');
  if (url.protocol !== 'https:' && !(allowsHttp && url.protocol === 'http:')) {
    throw new ForbiddenTarget(`it must begin with https://${allowsHttp ? ' or http://' : ''}`);
  }
  if (url.username !== '' || url.password !== '') throw new ForbiddenTarget('it must not hold a user or a password');
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol]! : Number(url.port);
  if (!ports.includes(port)) throw new ForbiddenTarget(`its port must be ${ports.join(' or ')}`);
  const host = hostOf(url);
  if (isIP(host) !== 0) assertPublic(host, { allowed });
  return url;
};

/** The host of a URL; an IPv6 address has no brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** The maximum number of addresses to try per IP version: an owner could configure thousands. */
const TRIED_OF_EACH = 3;

/** The addresses to try, IPv4 first: without IPv6, no time is lost. */
const toTry = (addresses: readonly Address[]): Address[] =>
  [4, 6].flatMap((version) => addresses.filter(({ family }) => family === version).slice(0, TRIED_OF_EACH));

/**
 * Resolves the IP addresses to connect to. The name is looked up once and each of its addresses must be allowed, so
 * that no later answer of a name server leads to another host. @throws ForbiddenTarget
 */
export const resolveTarget = async (
  url: URL,
  policy: WebhookPolicy,
  signal: AbortSignal,
  lookUp: LookUp = nameLookUp({ hasLocalNames: policy.allowed.length > 0 }),
): Promise<Address[]> => {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [{ address: host, family: isIP(host) }];
  const began = performance.now();
  try {
    const addresses = await lookUp(host, signal);
    for (const { address } of addresses) assertPublic(address, policy);
    const [first, ...others] = toTry(addresses);
    if (!first) throw new Error('there is no address');
    return [first, ...others];
  } catch (error) {
    const restMs = FAILED_LOOK_UP_MS - (performance.now() - began);
    if (restMs > 0) await sleep(restMs, undefined, { signal }).catch(() => undefined);
    throw new ForbiddenTarget(NO_PUBLIC_ADDRESS, { cause: error });
  }
};
