import { performance } from './runtime.ts';

/**
 * Options of an `LRUCache` that grows up to a number of entries. The option `max` allocates all of them at once: 6 ms and 2.8 MB for
 * 100,000.
 */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 }) as const;

/**
 * Options of an `LRUCache` whose entries expire after milliseconds by the clock of the service. By default, such a cache keeps the
 * time with a timer of its own.
 */
export const expiringAfter = (ttl: number) => ({ ttl, ttlResolution: 0, perf: performance }) as const;
