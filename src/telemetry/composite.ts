import type { Observer } from './hooks.ts';

/** A method that calls those of two observers in turn. */
const both = <Watcher extends object, Name extends keyof Watcher>(
  one: Watcher,
  other: Watcher,
  name: Name,
): Watcher[Name] =>
  ((...given: unknown[]): void => {
    for (const watcher of [one, other]) Reflect.apply(watcher[name] as () => void, watcher, given);
  }) as Watcher[Name];

const join = (one: Observer, other: Observer): Observer => ({
  requests: {
    begin: (request, route) => {
      const [a, b] = [one.requests.begin(request, route), other.requests.begin(request, route)];
      return { within: (work) => a.within(() => b.within(work)), end: both(a, b, 'end') };
    },
    unreadable: both(one.requests, other.requests, 'unreadable'),
  },
  calls: {
    begin: (procedure) => {
      const [a, b] = [one.calls.begin(procedure), other.calls.begin(procedure)];
      return {
        within: (work) => a.within(() => b.within(work)),
        sent: both(a, b, 'sent'),
        answered: both(a, b, 'answered'),
        failed: both(a, b, 'failed'),
      };
    },
    replayed: both(one.calls, other.calls, 'replayed'),
    shared: both(one.calls, other.calls, 'shared'),
  },
  overload: {
    limiter: (name, usage) => {
      const [a, b] = [one.overload.limiter(name, usage), other.overload.limiter(name, usage)];
      return { began: both(a, b, 'began'), refused: both(a, b, 'refused') };
    },
    shed: both(one.overload, other.overload, 'shed'),
  },
  database: {
    pool: (name, usage) => {
      const [a, b] = [one.database.pool(name, usage), other.database.pool(name, usage)];
      return {
        waited: both(a, b, 'waited'),
        statement: (sql) => {
          const [first, second] = [a.statement(sql), b.statement(sql)];
          return { sent: both(first, second, 'sent'), end: both(first, second, 'end') };
        },
      };
    },
    failed: both(one.database, other.database, 'failed'),
    retried: both(one.database, other.database, 'retried'),
    coalesced: (reads) => {
      const [a, b] = [one.database.coalesced(reads), other.database.coalesced(reads)];
      return (requests) => {
        a(requests);
        b(requests);
      };
    },
  },
  // Only traces observe Redis.
  redis: one.redis ?? other.redis,
  limited: both(one, other, 'limited'),
  identified: (requestId) => {
    one.identified?.(requestId);
    other.identified?.(requestId);
  },
  traceId: () => one.traceId?.() ?? other.traceId?.(),
});

/** Joins two observers, where there are two. */
export const compositeObserver = (one: Observer | undefined, other: Observer | undefined): Observer | undefined =>
  one && other ? join(one, other) : (one ?? other);
