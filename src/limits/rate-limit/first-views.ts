import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../base/cache.ts';
import { performance, secureRandomBytes } from '../../base/runtime.ts';
import { VIEW_SECONDS } from '../../../contract/limits.ts';
import { clientSubnet } from '../caller.ts';
import type { Redis } from './stores/redis.ts';

/** The views that are remembered, some 150 bytes each; beyond, the oldest ones count again. */
const REMEMBERED = 100_000;

/** Tells the first view of a record by an address from later ones. It stores hashes of addresses only. */
export class FirstViews {
  readonly #redis: Redis | undefined;
  readonly #now: () => number;
  readonly #salt = secureRandomBytes(16).toString('base64url');
  /** The time of each view. */
  readonly #seen: LRUCache<string, number>;

  constructor(redis?: Redis, now: () => number = () => performance.now(), remembered = REMEMBERED) {
    this.#redis = redis;
    this.#now = now;
    this.#seen = new LRUCache(atMost(remembered));
  }

  /** Calls `count`, now or soon, if the address has not viewed the record within the period. */
  note(address: string, recordId: string, count: () => void): void {
    const view = `${clientSubnet(address)} ${recordId}`;
    if (!this.#isFirstHere(view)) return;
    if (this.#redis?.isThere) void this.#countShared(this.#redis, view, count);
    else count();
  }

  async #countShared(redis: Redis, view: string, count: () => void): Promise<void> {
    if ((await redis.isFirst(redis.nameOf('view', view), VIEW_SECONDS)) !== false) count();
  }

  #isFirstHere(view: string): boolean {
    const name = hash('sha256', this.#salt + view, 'base64url').slice(0, 22);
    const now = this.#now();
    const seen = this.#seen.get(name);
    if (seen !== undefined && now - seen < VIEW_SECONDS * 1000) return false;
    this.#seen.set(name, now);
    return true;
  }
}
