import type { Logger } from 'pino';
import { LocalBuckets } from './stores/memory.ts';
import type { Quotas } from './policies.ts';
import { RateLimiter } from './limiter.ts';
import { FirstViews } from './first-views.ts';
import type { RedisStatus } from './stores/redis.ts';
import type { RedisObserver } from './stores/round-trips.ts';

/** Observes rate limits. */
export interface RateLimitObserver {
  redis?: RedisObserver | undefined;
  /** Called when a policy refuses a caller. */
  limited: (policy: string) => void;
}

/** The limits that callers are held to. */
export interface Limits {
  limiter: RateLimiter;
  firstViews: FirstViews;
  /** Undefined where this process counts alone. */
  redis: RedisStatus | undefined;
  close: () => void;
}

/** The Redis in which instances count together; `redisTimeoutMs` bounds each wait for an answer. */
interface RedisSettings {
  redisUrl: string | undefined;
  redisTimeoutMs: number;
}

/**
 * Opens limits that this process counts alone or, with a Redis, together with other instances. `observer` sees refusals
 * and the round trips to Redis.
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
      redis: undefined,
      close: () => undefined,
    };
  }
  // Loaded on demand, to keep the start short.
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
