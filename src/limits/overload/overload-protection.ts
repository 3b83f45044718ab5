import type { Procedure } from '../../../contract/index.ts';
import type { AppError } from '../../base/errors.ts';
import type { OverloadObserver } from '../../base/observer.ts';
import type { CallClass } from '../call-class.ts';
import { ConcurrencyLimiter, overloadedFor } from './concurrency-limiter.ts';
import { RetryThrottle } from './retry-throttle.ts';

/**
 * Classes of work, with a separate limit for each router, so that a crowd in one class does not affect the others:
 * single records, lists, searches, other reads of high cost, and writes.
 */
type WorkClass = 'record' | 'list' | 'search' | 'expensive' | 'write';

/**
 * The calls that run at once: 64 records fill one query, and 64 writes one transaction. With 8 lists or searches, a
 * database 10 ms away answers 1.7 to 1.9 times as many as with 4. With 16, 256 callers of a near one get 0.6 times as
 * many answers, since fewer calls share a run (test/bench/RESULTS.md, "A fixed limit of lists").
 */
const CAPACITY: Record<WorkClass, number> = { record: 64, list: 8, search: 8, expensive: 4, write: 64 };

const workClassOf = (procedure: Procedure, callClass: CallClass): WorkClass => {
  if (callClass !== 'read') return callClass;
  if (procedure.cost === 'high') return 'expensive';
  return procedure.answersList ? 'list' : 'record';
};

/** Decides which calls of this process run, which wait, and which are refused because they would wait too long. */
export class OverloadProtection {
  readonly #maxQueueMs: number | undefined;
  readonly #observer: OverloadObserver | undefined;
  /** The limiters by router and class. */
  readonly #limiters = new Map<string, ConcurrencyLimiter>();
  /** The limiters of procedures whose class does not depend on their input, by id. */
  readonly #byProcedure = new Map<string, ConcurrencyLimiter>();
  readonly retries = new RetryThrottle();

  /** `maxQueueMs` is the maximum queue time in milliseconds. If undefined, no call waits. */
  constructor(maxQueueMs: number | undefined, observer?: OverloadObserver) {
    this.#maxQueueMs = maxQueueMs;
    this.#observer = observer;
  }

  /** The limiter of a call. */
  limiterFor(procedure: Procedure, callClass: CallClass): ConcurrencyLimiter {
    const known = this.#byProcedure.get(procedure.id);
    if (known) return known;
    const limiter = this.#limiter(procedure, workClassOf(procedure, callClass));
    if (procedure.searchMember === undefined) this.#byProcedure.set(procedure.id, limiter);
    return limiter;
  }

  /** The refusal of a call that would wait this long before any work on it, if any. */
  refusalOfWait(ms: number): AppError | undefined {
    return this.#maxQueueMs === undefined || ms <= this.#maxQueueMs ? undefined : overloadedFor(ms);
  }

  /** All limiters that calls of a procedure may belong to. */
  limitersOf(procedure: Procedure): readonly ConcurrencyLimiter[] {
    const classes = new Set([workClassOf(procedure, procedure.effect)]);
    if (procedure.searchMember !== undefined) classes.add('search');
    return [...classes].map((workClass) => this.#limiter(procedure, workClass));
  }

  /** Whether all calls wait for now, while new connections are accepted. */
  set isPaused(isPaused: boolean) {
    for (const limiter of this.#limiters.values()) limiter.isPaused = isPaused;
  }

  #limiter({ router }: Procedure, workClass: WorkClass): ConcurrencyLimiter {
    const name = `${router}.${workClass}`;
    const known = this.#limiters.get(name);
    if (known) return known;
    const options = { maxQueueMs: this.#maxQueueMs, capacity: CAPACITY[workClass] };
    const limiter = new ConcurrencyLimiter(options, (usage) => this.#observer?.limiter(name, usage));
    this.#limiters.set(name, limiter);
    return limiter;
  }
}
