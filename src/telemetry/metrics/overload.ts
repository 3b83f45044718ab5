import type { Registry } from 'prom-client';
import type { OverloadObserver, LimiterUsage } from '../../overload/observer.ts';
import { Counters, Histograms, register } from './cells.ts';
import { gauge } from './gauges.ts';

const GATE = 'gate';

/** Counts what begins, waits, and is refused because of overload. */
export const overloadMetrics = (registry: Registry): OverloadObserver => {
  const shed = register(registry, new Counters('shed_total'));
  const waits = register(registry, new Histograms('lane_wait_seconds'));
  const atGate = shed.at(GATE);
  const lanes = new Map<string, () => LimiterUsage>();
  const read = (member: keyof LimiterUsage) => (set: (value: number, workload: string) => void) => {
    for (const [workload, usage] of lanes) set(usage()[member], workload);
  };
  gauge(registry, 'lane_running', read('running'));
  gauge(registry, 'lane_capacity', read('capacity'));
  gauge(registry, 'lane_waiting', read('waiting'));

  return {
    limiter: (name, usage) => {
      lanes.set(name, usage);
      const [wait, refusals] = [waits.at(name), shed.at(name)];
      return {
        began: (waitedMs) => wait.observe(waitedMs / 1000),
        refused: () => {
          refusals.n += 1;
        },
      };
    },
    shed: () => {
      atGate.n += 1;
    },
  };
};
