import type { Logger } from 'pino';
import type { Observer } from '../../base/observer.ts';
import { LocalBuckets } from './buckets.ts';
import type { Quotas } from './policies.ts';
import { RateLimiter } from './limiter.ts';
import type { RedisStatus, Redis } from './stores/redis.ts';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../base/cache.ts';
import { performance, secureRandomBytes } from '../../base/runtime.ts';
import { VIEW_SECONDS } from '../../../contract/limits.ts';
import { clientSubnet } from '../caller.ts';

/** The limits on callers. */
export interface Limits {
  limiter: RateLimiter;
  firstViews: FirstViews;
  /** Undefined if this process counts alone. */
  redis: RedisStatus | undefined;
  close: () => void;
}

/** The Redis in which instances count together; `redisTimeoutMs` limits each wait for an answer. */
interface RedisSettings {
  redisUrl: string | undefined;
  redisTimeoutMs: number;
}

/**
 * Opens limits that this process counts alone or, with a Redis, together with other instances. `observer` receives
 * refusals and the round trips to Redis.
 */
export const openLimits = async (
  quotas: Quotas,
  { redisUrl, redisTimeoutMs }: RedisSettings,
  log: Logger,
  observer?: Pick<Observer, 'redis' | 'limited'>,
): Promise<Limits> => {
  const local = new LocalBuckets();
  if (redisUrl === undefined) {
    return {
      limiter: new RateLimiter(quotas, local, observer?.limited),
      firstViews: new FirstViews(),
      redis: undefined,
      close: () => undefined,
    };
  }
  // Loaded on demand for a fast start.
  const { Redis } = await import('./stores/redis.ts');
  const { SharedBuckets } = await import('./stores/shared.ts');
  const redis = await Redis.open(redisUrl, log, { patienceMs: redisTimeoutMs, observer: observer?.redis });
  return {
    limiter: new RateLimiter(quotas, new SharedBuckets(redis, local), observer?.limited),
    firstViews: new FirstViews(redis),
    redis,
    close: () => redis.close(),
  };
};

/** The most stored views, some 150 bytes each. Beyond, repeated views of the oldest count again. */
const REMEMBERED = 100_000;

/** Distinguishes the first view of a record by an address from later ones. It stores only hashes of addresses. */
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
    if (this.#redis?.isConnected) void this.#countShared(this.#redis, view, count);
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
