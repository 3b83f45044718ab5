import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The hosts that webhooks may reach. */
export interface WebhookPolicy {
  /** Networks that are allowed beside the public ones, in CIDR notation. */
  allowed: readonly string[];
  ports: readonly number[];
  /** Whether http is allowed beside https. */
  allowsHttp: boolean;
}

/** An address that a webhook may not have: the message says why, in words for its owner. */
export class ForbiddenTarget extends Error {}

const DEFAULT_PORTS: Record<string, number> = { 'https:': 443, 'http:': 80 };

type Address = ReturnType<typeof ipaddr.parse>;

const isIn = (address: Address, networks: readonly string[]): boolean =>
  networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return base.kind() === address.kind() && address.match(base, bits);
  });

/** All addresses of IPv6 that are assigned to networks: RFC 4291, section 2.4. */
const GLOBAL_UNICAST = '2000::/3';

/**
 * Asserts that an IP address is a public one, or allowed by the operator. Not those that are private, loopback, link-local (the
 * metadata of clouds), shared, multicast, reserved, or that hold an IPv4 address (mapped, NAT64, 6to4, Teredo).
 * @throws ForbiddenTarget
 */
export const assertPublic = (address: string, { allowed }: Pick<WebhookPolicy, 'allowed'>): void => {
  const parsed = ipaddr.parse(address);
  if (isIn(parsed, allowed)) return;
  const isAssigned = parsed.kind() === 'ipv4' || isIn(parsed, [GLOBAL_UNICAST]);
  if (isAssigned && parsed.range() === 'unicast') return;
  throw new ForbiddenTarget(`${address} is not a public address`);
};

/** The URL of a webhook. @throws ForbiddenTarget where its form alone forbids it */
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

/** The host of a URL, an IPv6 address without brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/**
 * The IP address to connect to: the name is resolved once, and each address that it has must be allowed, so that no later answer of
 * a name server leads elsewhere. @throws ForbiddenTarget, and the errors of the look-up
 */
export const resolveTarget = async (
  url: URL,
  policy: WebhookPolicy,
  resolve: (host: string) => Promise<{ address: string; family: number }[]> = (host) => lookup(host, { all: true }),
): Promise<{ address: string; family: number }> => {
  const host = hostOf(url);
  const addresses = isIP(host) === 0 ? await resolve(host) : [{ address: host, family: isIP(host) }];
  for (const { address } of addresses) assertPublic(address, policy);
  const [first] = addresses;
  if (!first) throw new ForbiddenTarget(`${host} has no address`);
  return first;
};
