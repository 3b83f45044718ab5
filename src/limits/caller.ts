/** Callers, their turns, and the cost of their calls. */
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/cache.ts';
import {
  MAX_BATCH_RECORDS,
  type ProcedureMetadata,
  READS_PER_HIGH_COST,
  RECORDS_PER_WRITE,
} from '../../contract/index.ts';

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

/** Queued work and its cost. */
export interface Queued {
  /** At least 1; a usual call costs 1. */
  readonly cost: number;
}

/** The work of one caller, in order of arrival. */
interface Flow<T> {
  readonly items: Set<T>;
  /** The total cost of the work. */
  cost: number;
  /** The cost that the flow may spend in its turn. */
  credit: number;
}

/**
 * A queue in which callers take turns, independent of their number of calls: deficit round robin (Shreedhar and
 * Varghese, 1995).
 */
export class FairQueue<T extends Queued> {
  /** The flows by caller; the next one to take its turn is the first. */
  readonly #flows = new Map<string, Flow<T>>();
  #cost = 0;
  #size = 0;

  /** The number of queued pieces of work. */
  get size(): number {
    return this.#size;
  }

  /** The cost that is served until further work of a caller, with this cost, has been served. */
  costUntil(caller: string, cost: number): number {
    const flow = this.#flows.get(caller);
    const flows = this.#flows.size + (flow ? 0 : 1);
    return Math.min(this.#cost + cost, ((flow?.cost ?? 0) + cost) * flows);
  }

  push(caller: string, item: T): void {
    const flow = this.#flows.get(caller) ?? { items: new Set<T>(), cost: 0, credit: 0 };
    this.#flows.set(caller, flow);
    flow.items.add(item);
    this.#count(flow, item, 1);
  }

  /** Takes the next piece of work if `fits` accepts it. */
  shift(fits: (item: T) => boolean = () => true): T | undefined {
    for (const [caller, flow] of this.#flows) {
      const [item] = flow.items as Iterable<T>;
      if (!item) continue;
      if (flow.credit < item.cost) flow.credit += 1;
      if (flow.credit >= item.cost) {
        if (!fits(item)) return undefined;
        flow.credit -= item.cost;
        this.delete(caller, item);
        this.#toEnd(caller);
        return item;
      }
      // The map iterates in insertion order, so this flow is visited again after the others.
      this.#toEnd(caller);
    }
    return undefined;
  }

  /** Removes work from the queue. Returns whether it was queued. */
  delete(caller: string, item: T): boolean {
    const flow = this.#flows.get(caller);
    if (!flow?.items.delete(item)) return false;
    this.#count(flow, item, -1);
    if (flow.items.size === 0) this.#flows.delete(caller);
    return true;
  }

  #count(flow: Flow<T>, { cost }: T, sign: 1 | -1): void {
    flow.cost += sign * cost;
    this.#cost += sign * cost;
    this.#size += sign;
  }

  #toEnd(caller: string): void {
    const flow = this.#flows.get(caller);
    if (!flow) return;
    this.#flows.delete(caller);
    this.#flows.set(caller, flow);
  }
}

/** A `read` of few records by their keys or an index, a `search` for words, or a `write`. */
export type CallClass = 'read' | 'search' | 'write';

/** The class and the cost of a call, for rate limits and overload protection. */
export interface Classified {
  callClass: CallClass;
  /** The number of usual calls of its class that a call counts as: 1, and a tenth more for each record of a batch. */
  cost: number;
  /** The number of calls charged to its rate: the same, but more for a read of high cost. */
  charge: number;
}

type Classifiable = Pick<ProcedureMetadata, 'effect' | 'cost' | 'searchMember' | 'recordsMember'>;

const memberOf = (input: unknown, name: string | undefined): unknown =>
  name !== undefined && typeof input === 'object' && input !== null && Object.hasOwn(input, name)
    ? (input as Record<string, unknown>)[name]
    : undefined;

const classOf = ({ effect, searchMember }: Classifiable, input: unknown): CallClass => {
  if (effect === 'write') return 'write';
  const words = memberOf(input, searchMember);
  return typeof words === 'string' && words.trim() !== '' ? 'search' : 'read';
};

const costOf = ({ recordsMember }: Classifiable, input: unknown): number => {
  const records = memberOf(input, recordsMember);
  return Array.isArray(records) ? 1 + Math.min(records.length, MAX_BATCH_RECORDS) / RECORDS_PER_WRITE : 1;
};

/** Classifies a call by its input as sent: the member `json` of the envelope, valid or not. */
export const classify = (procedure: Classifiable, input: unknown): Classified => {
  const cost = costOf(procedure, input);
  const charge = procedure.cost === 'high' ? READS_PER_HIGH_COST : cost;
  return { callClass: classOf(procedure, input), cost, charge };
};
