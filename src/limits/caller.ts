import { isIPv4, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/cache.ts';

/** The bucket of everything that is not an address, which only a proxy can invent. */
const UNKNOWN = 'unknown';
const GROUPS = 8;
const BITS = 16;
/** The prefix of an IPv4 address that is written as IPv6. */
const MAPPED = [0, 0, 0, 0, 0, 0xff_ff];
/** `192.0.2.1:1024`, as some proxies write it. */
const IPV4_WITH_PORT = /^([\d.]+):\d{1,5}$/;
/** `[2001:db8::1]` and `[2001:db8::1]:1024` */
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d{1,5})?$/;
const ZONE = /%.+$/;
const NETWORK = /^([\da-f]+:[\da-f]+:[\da-f]+):[\da-f]+::\/64$/;

const groupsOf = (part: string): number[] =>
  part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));

/** An IPv4 address as the two groups that it takes up in an IPv6 address. */
const pairOf = (dotted: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

/** The eight groups of a valid IPv6 address. */
const allGroups = (address: string): number[] => {
  const [before = '', after] = address.replace(/[\d.]+\.\d+$/, pairOf).split('::');
  const first = groupsOf(before);
  if (after === undefined) return first;
  const last = groupsOf(after);
  return [...first, ...Array<number>(GROUPS - first.length - last.length).fill(0), ...last];
};

const dottedOf = (groups: readonly number[]): string =>
  groups.flatMap((group) => [group >> (BITS / 2), group & 0xff]).join('.');

/**
 * The subnet of a client: an IPv4 address, or the first 64 bits of an IPv6 address, below which a client chooses
 * addresses freely. An address has one subnet however it is written, with a port or without.
 */
export const clientSubnet = (address: string): string => {
  if (isIPv4(address)) return address;
  const [, withoutPort = ''] = IPV4_WITH_PORT.exec(address) ?? [];
  if (isIPv4(withoutPort)) return withoutPort;
  const plain = (IPV6_IN_BRACKETS.exec(address)?.[1] ?? address).replace(ZONE, '');
  if (!isIPv6(plain)) return UNKNOWN;
  const groups = allGroups(plain);
  if (MAPPED.every((group, index) => groups[index] === group)) return dottedOf(groups.slice(MAPPED.length));
  return `${groups
    .slice(0, GROUPS / 2)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
};

/** The site (a /48) that an IPv6 network belongs to, of which it may have 65 536; undefined for other owners. */
export const siteOf = (owner: string): string | undefined => {
  const prefix = NETWORK.exec(owner)?.[1];
  return prefix === undefined ? undefined : `${prefix}::/48`;
};

/** The characters of a key that tell it apart: too few to call with. */
const TOLD_APART = 16;
const REMEMBERED_KEYS = 10_000;

/** The users of keys that worked lately. */
const users = new LRUCache<string, string>(atMost(REMEMBERED_KEYS));

/** Remembers whose key an `Authorization` header holds. */
export const noteUser = (authorization: string, userId: string): void => {
  users.set(authorization.slice(-TOLD_APART), userId);
};

/**
 * The caller whose turn a request takes before it is authenticated: the user of its key, whatever number of keys they have,
 * the key itself as long as it is unknown, or a subnet.
 */
export const callerOf = (authorization: string | undefined, address: string): string => {
  if (authorization === undefined) return clientSubnet(address);
  const key = authorization.slice(-TOLD_APART);
  return users.get(key) ?? key;
};
