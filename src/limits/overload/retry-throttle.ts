import { clearInterval, performance, setInterval } from '../../base/runtime.ts';

/** The shortest time for which refused callers must wait, in milliseconds. */
const AWAY_MS = 1000;
const TICK_MS = 10;
/** The refusals of each tick, in units of 125 µs of CPU: less than a tenth of the process' time. */
const UNITS = 6;

/** The cost of a refusal before and after authentication, in units. */
export const refusalCost = { early: 1, late: 4 } as const;

interface Delayed {
  cost: number;
  refuse: () => void;
}

/**
 * Delays the refusals of callers that ignored `Retry-After`: thousands of immediate repetitions would leave time only
 * for refusals. The first refusal of a connection is sent at once.
 */
export class RetryThrottle {
  /** The times until which callers must wait, by their connections. */
  readonly #away = new WeakMap<object, number>();
  #delayed: Delayed[] = [];
  #credit = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `answer`, which refuses a call on a connection, now or later. */
  refuse(connection: object, cost: number, answer: () => void): void {
    const refuse = (): void => {
      this.#away.set(connection, performance.now() + AWAY_MS);
      answer();
    };
    if (performance.now() >= (this.#away.get(connection) ?? 0)) {
      refuse();
      return;
    }
    this.#delayed.push({ cost, refuse });
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  /** Resolves when a caller may be refused. */
  turn(connection: object, cost: number): Promise<void> {
    return new Promise((resolve) => this.refuse(connection, cost, resolve));
  }

  #tick(): void {
    this.#credit = Math.min(this.#credit, 0) + UNITS;
    const index = this.#delayed.findIndex(({ cost }) => {
      if (this.#credit <= 0) return true;
      this.#credit -= cost;
      return false;
    });
    const due = this.#delayed.splice(0, index === -1 ? this.#delayed.length : index);
    for (const { refuse } of due) refuse();
    if (this.#delayed.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
