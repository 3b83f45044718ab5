import type { Registry } from 'prom-client';
import type { AdmissionObserver, LaneUsage } from '../admission/observer.ts';
import { Counters, Histograms, register } from './cells.ts';
import { gauge } from './gauges.ts';

const GATE = 'gate';

/** Counts what begins, waits, and is refused for want of room. */
export const admissionMetrics = (registry: Registry): AdmissionObserver => {
  const shed = register(registry, new Counters('shed_total'));
  const waits = register(registry, new Histograms('lane_wait_seconds'));
  const atGate = shed.at(GATE);
  const lanes = new Map<string, () => LaneUsage>();
  const read = (member: keyof LaneUsage) => (set: (value: number, lane: string) => void) => {
    for (const [lane, usage] of lanes) set(usage()[member], lane);
  };
  gauge(registry, 'lane_running', read('running'));
  gauge(registry, 'lane_capacity', read('capacity'));
  gauge(registry, 'lane_waiting', read('waiting'));

  return {
    lane: (name, usage) => {
      lanes.set(name, usage);
      const [wait, refusals] = [waits.at(name), shed.at(name)];
      return {
        began: (waitedMs) => wait.observe(waitedMs / 1000),
        refused: () => {
          refusals.n += 1;
        },
      };
    },
    refusedAtGate: () => {
      atGate.n += 1;
    },
  };
};
