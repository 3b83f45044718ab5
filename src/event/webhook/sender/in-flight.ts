import type { DeliveryRow } from '../entity.ts';
import { type Answer, isTaken } from './send.ts';

/** A delivery that was attempted, and its answer. */
export interface Tried {
  delivery: DeliveryRow;
  answer: Answer;
}

/** The messages to an endpoint whose answers are not stored yet. */
export class InFlight {
  readonly #messages = new Map<string, Promise<void>>();
  #answered: Tried[] = [];
  #failuresInRow = 0;

  get size(): number {
    return this.#messages.size;
  }

  /** How many of the latest answers in a row report a failure. */
  get failuresInRow(): number {
    return this.#failuresInRow;
  }

  has({ id }: DeliveryRow): boolean {
    return this.#messages.has(id);
  }

  add(delivery: DeliveryRow, answer: Promise<Answer>): void {
    this.#messages.set(delivery.id, this.#await(delivery, answer));
  }

  async #await(delivery: DeliveryRow, answer: Promise<Answer>): Promise<void> {
    const tried = { delivery, answer: await answer };
    this.#failuresInRow = isTaken(tried.answer) ? 0 : this.#failuresInRow + 1;
    this.#answered.push(tried);
  }

  /** Resolves when all messages have an answer. */
  async all(): Promise<void> {
    await Promise.all(this.#messages.values());
  }

  /** Resolves when one message has an answer; never resolves if no message is in flight. */
  async any(): Promise<void> {
    await Promise.race(this.#messages.values());
  }

  /** Stores the answers so far, and only then forgets their messages: their deliveries look due until then. */
  async store(answers: (tried: readonly Tried[]) => Promise<void>): Promise<void> {
    const tried = this.#answered;
    if (tried.length === 0) return;
    this.#answered = [];
    await answers(tried);
    for (const { delivery } of tried) this.#messages.delete(delivery.id);
  }
}
