import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/cache.ts';

/** The bucket of everything that is not an address. Only a proxy can send such a text. */
const UNKNOWN = 'unknown';
/** The number of 16-bit groups of a /64. */
const NETWORK_GROUPS = 4;
/** `192.0.2.1:1024`, as some proxies write it. */
const IPV4_WITH_PORT = /^([\d.]+):\d{1,5}$/;
/** `[2001:db8::1]` and `[2001:db8::1]:1024` */
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d{1,5})?$/;
const ZONE = /%.+$/;
const NETWORK = /^([\da-f]+:[\da-f]+:[\da-f]+):[\da-f]+::\/64$/;

/** An IPv4 address as the two groups that it occupies in an IPv6 address. */
const pairOf = (dotted: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

/**
 * The subnet of a client: an IPv4 address, or the first 64 bits of an IPv6 address, since clients freely choose the
 * other bits. All spellings of an address have the same subnet, with or without a port.
 */
export const clientSubnet = (address: string): string => {
  if (isIPv4(address)) return address;
  const [, withoutPort = ''] = IPV4_WITH_PORT.exec(address) ?? [];
  if (isIPv4(withoutPort)) return withoutPort;
  const plain = (IPV6_IN_BRACKETS.exec(address)?.[1] ?? address).replace(ZONE, '');
  if (!isIPv6(plain)) return UNKNOWN;
  // The parser takes `::192.0.2.1` for a mapped address, but not the same address without dots.
  const parsed = ipaddr.IPv6.parse(plain.replace(/[\d.]+\.\d+$/, pairOf));
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const network = parsed.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
};

/** The site (a /48) of an IPv6 network, which may have 65 536 networks; undefined for other owners. */
export const siteOf = (owner: string): string | undefined => {
  const prefix = NETWORK.exec(owner)?.[1];
  return prefix === undefined ? undefined : `${prefix}::/48`;
};

/** The characters of a key that identify it: too few to call with. */
const TOLD_APART = 16;
const REMEMBERED_KEYS = 10_000;

/** The users of recently valid keys. */
const users = new LRUCache<string, string>(atMost(REMEMBERED_KEYS));

/** Stores the user of the key in an `Authorization` header. */
export const noteUser = (authorization: string, userId: string): void => {
  users.set(authorization.slice(-TOLD_APART), userId);
};

/**
 * The caller whose turn a request takes before it is authenticated: the user of its key, independent of the number of
 * their keys; the key itself while its user is unknown; or a subnet.
 */
export const callerOf = (authorization: string | undefined, address: string): string => {
  if (authorization === undefined) return clientSubnet(address);
  const key = authorization.slice(-TOLD_APART);
  return users.get(key) ?? key;
};
