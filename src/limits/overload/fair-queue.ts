/** Queued work and its cost. */
export interface Queued {
  /** At least 1; a usual call costs 1. */
  readonly cost: number;
}

/** The work of one caller, in order of arrival. */
interface Flow<T> {
  readonly items: Set<T>;
  /** The total cost of the work. */
  cost: number;
  /** The cost that the flow may spend in its turn. */
  credit: number;
}

/**
 * A queue in which callers take turns, independent of their number of calls: deficit round robin (Shreedhar and
 * Varghese, 1995).
 */
export class FairQueue<T extends Queued> {
  /** The flows by caller; the next one to take its turn is the first. */
  readonly #flows = new Map<string, Flow<T>>();
  #cost = 0;
  #size = 0;

  /** The number of queued pieces of work. */
  get size(): number {
    return this.#size;
  }

  /** The cost that is served until further work of a caller, with this cost, has been served. */
  costUntil(caller: string, cost: number): number {
    const flow = this.#flows.get(caller);
    const flows = this.#flows.size + (flow ? 0 : 1);
    return Math.min(this.#cost + cost, ((flow?.cost ?? 0) + cost) * flows);
  }

  push(caller: string, item: T): void {
    const flow = this.#flows.get(caller) ?? { items: new Set<T>(), cost: 0, credit: 0 };
    this.#flows.set(caller, flow);
    flow.items.add(item);
    this.#count(flow, item, 1);
  }

  /** Takes the next piece of work if `fits` accepts it. */
  shift(fits: (item: T) => boolean = () => true): T | undefined {
    for (const [caller, flow] of this.#flows) {
      const [item] = flow.items as Iterable<T>;
      if (!item) continue;
      if (flow.credit < item.cost) flow.credit += 1;
      if (flow.credit >= item.cost) {
        if (!fits(item)) return undefined;
        flow.credit -= item.cost;
        this.delete(caller, item);
        this.#toEnd(caller);
        return item;
      }
      // The map iterates in insertion order, so this flow is visited again after the others.
      this.#toEnd(caller);
    }
    return undefined;
  }

  /** Removes work from the queue. Returns whether it was queued. */
  delete(caller: string, item: T): boolean {
    const flow = this.#flows.get(caller);
    if (!flow?.items.delete(item)) return false;
    this.#count(flow, item, -1);
    if (flow.items.size === 0) this.#flows.delete(caller);
    return true;
  }

  #count(flow: Flow<T>, { cost }: T, sign: 1 | -1): void {
    flow.cost += sign * cost;
    this.#cost += sign * cost;
    this.#size += sign;
  }

  #toEnd(caller: string): void {
    const flow = this.#flows.get(caller);
    if (!flow) return;
    this.#flows.delete(caller);
    this.#flows.set(caller, flow);
  }
}
