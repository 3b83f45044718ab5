/** Callers, the turns that they take, and the cost of their calls. */
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

/** The bucket of everything that is not an address, which only a proxy can invent. */
const UNKNOWN = 'unknown';
/** The groups of 16 bits of a /64. */
const NETWORK_GROUPS = 4;
/** `192.0.2.1:1024`, as some proxies write it. */
const IPV4_WITH_PORT = /^([\d.]+):\d{1,5}$/;
/** `[2001:db8::1]` and `[2001:db8::1]:1024` */
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d{1,5})?$/;
const ZONE = /%.+$/;
const NETWORK = /^([\da-f]+:[\da-f]+:[\da-f]+):[\da-f]+::\/64$/;

/** An IPv4 address as the two groups that it takes up in an IPv6 address. */
const pairOf = (dotted: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

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
  // The parser takes `::192.0.2.1` for a mapped address, but not the same one without dots.
  const parsed = ipaddr.IPv6.parse(plain.replace(/[\d.]+\.\d+$/, pairOf));
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const network = parsed.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
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

/** Queued work and its cost. */
export interface Queued {
  /** At least 1; a usual call costs 1. */
  readonly cost: number;
}

/** The work of one caller, in the order of its arrival. */
interface Flow<T> {
  readonly items: Set<T>;
  /** The cost of all of them. */
  cost: number;
  /** The cost that the flow may spend in its turn. */
  credit: number;
}

/**
 * A queue in which callers take turns, however many calls each sends: deficit round robin (Shreedhar and Varghese,
 * 1995).
 */
export class FairQueue<T extends Queued> {
  /** By caller; the one whose turn is next comes first. */
  readonly #flows = new Map<string, Flow<T>>();
  #cost = 0;
  #size = 0;

  /** The number of queued pieces of work. */
  get size(): number {
    return this.#size;
  }

  /** The cost that is served until further work of a caller has been. */
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

  /** Takes the next piece of work if `fits` agrees to it. */
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
      // The map is walked in the order of insertion, so that this flow is visited again behind the others.
      this.#toEnd(caller);
    }
    return undefined;
  }

  /** Removes work from the queue. Returns whether it was there. */
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
  /** The number of calls that its rate is charged with: the same, but more for a read of high cost. */
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

/** Classifies a call by its input as it was sent: the member `json` of the envelope, valid or not. */
export const classify = (procedure: Classifiable, input: unknown): Classified => {
  const cost = costOf(procedure, input);
  const charge = procedure.cost === 'high' ? READS_PER_HIGH_COST : cost;
  return { callClass: classOf(procedure, input), cost, charge };
};
