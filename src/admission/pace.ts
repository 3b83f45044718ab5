/** How long whoever was refused was told to stay away at least, milliseconds. */
const AWAY_MS = 1000;
const TICK_MS = 10;
/** What is let go each tick, in units of 50 µs of this process' time: a tenth of it. */
const UNITS = 20;

/** The time that a refusal costs, in units: one of the listener's own, and one behind it. */
export const refusalCost = { early: 1, late: 4 } as const;

/** A refusal that waits. */
interface Held {
  cost: number;
  go: () => void;
}

/**
 * Has callers wait for their refusal who were refused just before and did not stay away as they were told: thousands that
 * ask again at once would leave time for nothing but refusals. The first refusal comes at once, however many there are.
 */
export class Pace {
  /** Until when callers were told to stay away, by their connections. */
  readonly #away = new WeakMap<object, number>();
  #held: Held[] = [];
  #credit = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Whether a caller is back too soon. */
  isEarly(connection: object): boolean {
    const until = this.#away.get(connection);
    return until !== undefined && performance.now() < until;
  }

  /** Has a caller refused by `refuse`, now or when it is its turn. */
  refuse(connection: object, cost: number, refuse: () => void): void {
    const go = (): void => {
      this.#away.set(connection, performance.now() + AWAY_MS);
      refuse();
    };
    if (!this.isEarly(connection)) {
      go();
      return;
    }
    this.#held.push({ cost, go });
    this.#timer ??= setInterval(() => this.#letGo(), TICK_MS);
  }

  /** Resolves when a caller is to be refused. */
  turn(connection: object, cost: number): Promise<void> {
    return new Promise((resolve) => this.refuse(connection, cost, resolve));
  }

  #letGo(): void {
    this.#credit = Math.min(this.#credit, 0) + UNITS;
    const index = this.#held.findIndex(({ cost }) => {
      if (this.#credit <= 0) return true;
      this.#credit -= cost;
      return false;
    });
    const gone = this.#held.splice(0, index === -1 ? this.#held.length : index);
    for (const { go } of gone) go();
    if (this.#held.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
