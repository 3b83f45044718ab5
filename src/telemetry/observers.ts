import type { Observer } from '../base/observer.ts';

interface Within {
  within: <T>(work: () => T) => T;
}

/** Runs work in the context of the first observation, and within it in that of the next one. */
const within =
  (begun: readonly Within[]): Within['within'] =>
  (work) =>
    begun.reduceRight((inner, one) => () => one.within(inner), work)();

/** Combines observers into one that calls them in order; undefined for none. */
export const observerOf = (all: readonly Observer[]): Observer | undefined => {
  if (all.length < 2) return all[0];
  return {
    requests: {
      begin: (request, route) => {
        const begun = all.map(({ requests }) => requests.begin(request, route));
        return { within: within(begun), end: (status) => begun.forEach((one) => one.end(status)) };
      },
      unreadable: (status) => all.forEach(({ requests }) => requests.unreadable(status)),
    },
    calls: {
      begin: (procedure) => {
        const begun = all.map(({ calls }) => calls.begin(procedure));
        return {
          within: within(begun),
          sent: (bytes) => begun.forEach((one) => one.sent(bytes)),
          answered: (bytes) => begun.forEach((one) => one.answered(bytes)),
          failed: (error) => begun.forEach((one) => one.failed(error)),
        };
      },
      replayed: (procedure) => all.forEach(({ calls }) => calls.replayed(procedure)),
      shared: (outcome) => all.forEach(({ calls }) => calls.shared(outcome)),
    },
    overload: {
      limiter: (name, usage) => {
        const limiters = all.map(({ overload }) => overload.limiter(name, usage));
        return {
          began: (waitedMs) => limiters.forEach((one) => one.began(waitedMs)),
          refused: () => limiters.forEach((one) => one.refused()),
        };
      },
      shed: () => all.forEach(({ overload }) => overload.shed()),
    },
    database: {
      pool: (name, usage) => {
        const pools = all.map(({ database }) => database.pool(name, usage));
        return {
          waited: (ms) => pools.forEach((one) => one.waited(ms)),
          statement: (sql) => {
            const begun = pools.map((one) => one.statement(sql));
            return {
              sent: (server) => begun.forEach((one) => one.sent(server)),
              end: (error) => begun.forEach((one) => one.end(error)),
            };
          },
        };
      },
      failed: (fault) => all.forEach(({ database }) => database.failed(fault)),
      retried: (cause) => all.forEach(({ database }) => database.retried(cause)),
      coalesced: (reads) => {
        const batches = all.map(({ database }) => database.coalesced(reads));
        return (requests) => batches.forEach((batch) => batch(requests));
      },
    },
    redis: all.find(({ redis }) => redis)?.redis,
    limited: (policy) => all.forEach((one) => one.limited(policy)),
    identified: (requestId) => all.forEach((one) => one.identified?.(requestId)),
    traceId: () => all.map((one) => one.traceId?.()).find((id) => id !== undefined),
  };
};
