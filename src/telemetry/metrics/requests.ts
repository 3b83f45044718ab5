import type { Registry } from 'prom-client';
import { performance } from '../../base/runtime.ts';
import { type RequestObserver, ROUTE_GROUPS, type RouteGroup } from '../../base/observer.ts';
import { type Count, Numbers, type Distribution, expose, Histograms, register } from './cells.ts';

/** The label of input that is not HTTP. */
const NO_GROUP = 'none';
/** The status of a request whose caller left, as web servers log it. */
const LEFT = 499;

/** The counts of one group of routes. */
interface RequestCells {
  duration: Distribution;
  /** By status. */
  counts: Map<number, Count>;
}

/** Counts HTTP requests. */
export const requestMetrics = (registry: Registry): RequestObserver => {
  const requests = register(registry, new Numbers('http_requests_total'));
  const durations = register(registry, new Histograms('http_request_duration_seconds'));
  const groups = new Map<RouteGroup, RequestCells>(
    ROUTE_GROUPS.map((group) => [
      group,
      { duration: durations.at(group), counts: new Map([[200, requests.at(group, '200')]]) },
    ]),
  );
  let inFlight = 0;
  expose(registry, 'http_requests_in_flight', (set) => set(inFlight));

  return {
    begin: (_request, { group }) => {
      const began = performance.now();
      inFlight += 1;
      return {
        within: (work) => work(),
        end: (status = LEFT) => {
          inFlight -= 1;
          const { duration, counts } = groups.get(group) as RequestCells;
          duration.observe((performance.now() - began) / 1000);
          let count = counts.get(status);
          if (!count) counts.set(status, (count = requests.at(group, String(status))));
          count.n += 1;
        },
      };
    },
    unreadable: (status) => {
      requests.at(NO_GROUP, String(status)).n += 1;
    },
  };
};
