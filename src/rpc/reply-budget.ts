import { ANSWER_LIMIT, type Reason } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import type { Procedure } from './procedures.ts';

/** The bytes that all batches together may hold: sixteen of the largest. */
const HELD_LIMIT = 16 * ANSWER_LIMIT;

/** Counts the bytes of answers that wait in batches of one process to be sent. */
export class ReplyBudget {
  bytes = 0;
}

/** The answers of one batch, which are sent, and held in memory, together. */
export class BatchReplies {
  readonly #held: ReplyBudget;
  #bytes = 0;
  #refusal: Reason | undefined;

  constructor(held: ReplyBudget) {
    this.#held = held;
    // The bracket before the first one.
    this.#hold(1);
  }

  /**
   * Asserts that a further call may begin: all answers so far were held.
   * @throws AppError ANSWER_TOO_LARGE, OVERLOADED
   */
  assertRoom(): void {
    if (this.#refusal) throw new AppError(this.#refusal);
  }

  /**
   * Holds the answer to a call. An answer to a write is always held, since the write has happened.
   * @throws AppError ANSWER_TOO_LARGE, OVERLOADED
   */
  add({ effect }: Pick<Procedure, 'effect'>, answer: Buffer): Buffer {
    // With the comma or bracket that follows it.
    const bytes = answer.length + 1;
    const refusal = this.#refusalOf(bytes);
    this.#refusal ??= refusal;
    if (refusal && effect === 'read') throw new AppError(refusal);
    this.#hold(bytes);
    return answer;
  }

  /** Holds the failure of a call: `full`, which may list a thousand faults, or `brief` where that does not fit. */
  addFailure(full: Buffer, brief = () => full): Buffer {
    const answer = this.#refusalOf(full.length + 1) ? brief() : full;
    this.#hold(answer.length + 1);
    return answer;
  }

  /** Releases the bytes of the batch. Called when it is sent. */
  release(): void {
    this.#hold(-this.#bytes);
  }

  #refusalOf(bytes: number): Reason | undefined {
    if (this.#bytes + bytes > ANSWER_LIMIT) return 'ANSWER_TOO_LARGE';
    return this.#held.bytes + bytes > HELD_LIMIT ? 'OVERLOADED' : undefined;
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    this.#held.bytes += bytes;
  }
}
