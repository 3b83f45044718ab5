import type { Logger } from 'pino';
import type { RateLimitObserver } from './observer.ts';
import { LocalBuckets } from './stores/memory.ts';
import type { Quotas } from './policies.ts';
import { Rates } from './limiter.ts';
import { FirstViews } from './views.ts';

/** What callers are held to. */
export interface Limits {
  rates: Rates;
  views: FirstViews;
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
    return { rates: new Rates(quotas, local, observer?.limited), views: new FirstViews(), close: () => undefined };
  }
  // Loaded only where it is used: a start takes long enough.
  const { Redis } = await import('./stores/redis.ts');
  const { SharedBuckets } = await import('./stores/shared.ts');
  const redis = await Redis.open(redisUrl, redisTimeoutMs, log, observer?.redis);
  return {
    rates: new Rates(quotas, new SharedBuckets(redis, local), observer?.limited),
    views: new FirstViews(redis),
    close: () => redis.close(),
  };
};
