import { ANSWER_LIMIT, type Reason } from '../../contract/index.ts';
import { AppError } from '../errors.ts';
import type { Procedure } from './procedures.ts';

/** What all batches together hold at most, in bytes: sixteen of the largest. */
const HELD_LIMIT = 16 * ANSWER_LIMIT;

/** How much the answers take up that wait, in the batches of one process, for others to go out with. */
export class ReplyBudget {
  bytes = 0;
}

/** The answers of one batch, which go out together, and therefore have to fit into memory together. */
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
   * Lets a call begin as long as every answer has found room.
   * @throws AppError ANSWER_TOO_LARGE, OVERLOADED
   */
  assertRoom(): void {
    if (this.#refusal) throw new AppError(this.#refusal);
  }

  /**
   * Takes the answer to a call. That to a write always finds room: what is done is not to be told as a failure.
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

  /**
   * Takes the answer to a call that failed: as `full`, or as `brief` where that finds no room, which does in any case.
   * `full` may list a thousand faults.
   */
  addFailure(full: Buffer, brief = () => full): Buffer {
    const answer = this.#refusalOf(full.length + 1) ? brief() : full;
    this.#hold(answer.length + 1);
    return answer;
  }

  /** To be called when they have gone out. */
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
