import type { Registry } from 'prom-client';
import type { RequestObserver } from '../hooks.ts';
import { type Count, Counters, type Distribution, Histograms, register } from './cells.ts';
import { type Door, doorOf, DOORS } from '../../http/routes.ts';
import { gauge } from './gauges.ts';

/** Of what could not be read as HTTP. */
const NO_DOOR = 'none';
/** Of a request whose caller left before it was answered, as web servers write it. */
const LEFT = 499;

/** What is counted of one door. */
interface Cells {
  duration: Distribution;
  /** By status. */
  counts: Map<number, Count>;
}

/** Counts HTTP requests. */
export const requestMetrics = (registry: Registry): RequestObserver => {
  const requests = register(registry, new Counters('http_requests_total'));
  const durations = register(registry, new Histograms('http_request_duration_seconds'));
  const doors = new Map<Door, Cells>(
    DOORS.map((door) => [door, { duration: durations.at(door), counts: new Map([[200, requests.at(door, '200')]]) }]),
  );
  let inFlight = 0;
  gauge(registry, 'http_requests_in_flight', (set) => set(inFlight));

  return {
    begin: ({ url = '' }) => {
      const began = performance.now();
      const door = doorOf(url);
      inFlight += 1;
      return {
        within: (work) => work(),
        end: (status = LEFT) => {
          inFlight -= 1;
          const { duration, counts } = doors.get(door) as Cells;
          duration.observe((performance.now() - began) / 1000);
          let count = counts.get(status);
          if (!count) counts.set(status, (count = requests.at(door, String(status))));
          count.n += 1;
        },
      };
    },
    unreadable: (status) => {
      requests.at(NO_DOOR, String(status)).n += 1;
    },
  };
};
