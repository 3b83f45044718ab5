import type { Registry } from 'prom-client';
import type { OverloadObserver, LimiterUsage } from '../../limits/overload/observer.ts';
import { Counters, Histograms, register } from './cells.ts';
import { gauge } from './gauges.ts';

/** Stands for the limiters of calls that are refused before they are authenticated and read. */
const EARLY = 'early';

/** Counts work that begins, waits, or is refused because of overload. */
export const overloadMetrics = (registry: Registry): OverloadObserver => {
  const shed = register(registry, new Counters('shed_total'));
  const waits = register(registry, new Histograms('limiter_wait_seconds'));
  const early = shed.at(EARLY);
  const limiters = new Map<string, () => LimiterUsage>();
  const read = (member: keyof LimiterUsage) => (set: (value: number, name: string) => void) => {
    for (const [name, usage] of limiters) set(usage()[member], name);
  };
  gauge(registry, 'limiter_running', read('running'));
  gauge(registry, 'limiter_capacity', read('capacity'));
  gauge(registry, 'limiter_waiting', read('waiting'));

  return {
    limiter: (name, usage) => {
      limiters.set(name, usage);
      const [wait, refusals] = [waits.at(name), shed.at(name)];
      return {
        began: (waitedMs) => wait.observe(waitedMs / 1000),
        refused: () => {
          refusals.n += 1;
        },
      };
    },
    shed: () => {
      early.n += 1;
    },
  };
};
