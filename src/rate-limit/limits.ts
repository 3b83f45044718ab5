import type { Logger } from 'pino';
import type { RateLimitObserver } from './observer.ts';
import { LocalBuckets } from './stores/memory.ts';
import type { Quotas } from './policies.ts';
import { RateLimiter } from './limiter.ts';
import { FirstViews } from './first-views.ts';

/** What callers are held to. */
export interface Limits {
  limiter: RateLimiter;
  firstViews: FirstViews;
  close: () => void;
}

/** Where instances count together; `redisTimeoutMs` bounds each wait for an answer. */
interface RedisSettings {
  redisUrl: string | undefined;
  redisTimeoutMs: number;
}

/**
 * Limits that this process counts alone or, with the address of a Redis, together with all that have the same one.
 * `observer` hears which policy refused a caller, and what Redis is asked.
 */
export const openLimits = async (
  quotas: Quotas,
  { redisUrl, redisTimeoutMs }: RedisSettings,
  log: Logger,
  observer?: RateLimitObserver,
): Promise<Limits> => {
  const local = new LocalBuckets();
  if (redisUrl === undefined) {
    return {
      limiter: new RateLimiter(quotas, local, observer?.limited),
      firstViews: new FirstViews(),
      close: () => undefined,
    };
  }
  // Loaded only where it is used: a start takes long enough.
  const { Redis } = await import('./stores/redis.ts');
  const { SharedBuckets } = await import('./stores/shared.ts');
  const redis = await Redis.open(redisUrl, redisTimeoutMs, log, observer?.redis);
  return {
    limiter: new RateLimiter(quotas, new SharedBuckets(redis, local), observer?.limited),
    firstViews: new FirstViews(redis),
    close: () => redis.close(),
  };
};
