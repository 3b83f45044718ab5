/** Failures kept for each reason, and slow requests kept in all. */
const KEPT_OF_REASON = 5;
const KEPT_SLOW = 20;

/** A request that failed or was slow. */
export interface RecentRequest {
  at: Date;
  requestId: string;
  /** The procedure; undefined outside of procedures. */
  procedure: string | undefined;
  status: number;
  reason: string | undefined;
  ms: number;
}

/** The failures for one reason since the start of the process, and the last of them, latest first. */
export interface RecentFailures {
  reason: string;
  total: number;
  last: RecentRequest[];
}

/** Keeps the last failures by reason, and the last slow requests, for operators who look. Bounded in memory. */
export class RecentRequests {
  readonly #failures = new Map<string, RecentFailures>();
  readonly #slow: RecentRequest[] = [];
  readonly #slowMs: number;

  /** Requests that take `slowMs` or longer are slow; with 0, none is. */
  constructor(slowMs: number) {
    this.#slowMs = slowMs;
  }

  /** The failures by reason, the most frequent first. */
  get failures(): readonly RecentFailures[] {
    return [...this.#failures.values()].toSorted((a, b) => b.total - a.total);
  }

  /** The slow requests, latest first. */
  get slow(): readonly RecentRequest[] {
    return this.#slow;
  }

  note(request: RecentRequest): void {
    if (request.reason !== undefined) this.#noteFailure(request.reason, request);
    if (this.#slowMs > 0 && request.ms >= this.#slowMs) keep(this.#slow, request, KEPT_SLOW);
  }

  /** There are as many reasons as the contract has. */
  #noteFailure(reason: string, request: RecentRequest): void {
    const failures = this.#failures.get(reason) ?? { reason, total: 0, last: [] };
    this.#failures.set(reason, failures);
    failures.total += 1;
    keep(failures.last, request, KEPT_OF_REASON);
  }
}

const keep = (requests: RecentRequest[], request: RecentRequest, limit: number): void => {
  requests.unshift(request);
  requests.length = Math.min(requests.length, limit);
};
