import type { Procedure } from '../../../contract/index.ts';
import type { Context } from '../../../src/app/context.ts';
import { Deadline } from '../../../src/base/deadline.ts';
import type { ConcurrencyLimiter } from '../../../src/limits/overload/concurrency-limiter.ts';

/** Takes up all that a limiter lets run, until `over` resolves. */
export const fill = (limiter: ConcurrencyLimiter, over: Promise<unknown>): Promise<unknown> =>
  limiter.run({ caller: 'the test', cost: Number.MAX_SAFE_INTEGER, deadline: new Deadline() }, () => over);

/**
 * Takes up all that calls of these procedures may run on, until `over` resolves: others wait, or are refused where
 * `MAX_QUEUE_MS` is 0. Resolves when that is done.
 */
export const occupy = (
  { protection: { overload } }: Pick<Context, 'protection'>,
  procedures: readonly Procedure[],
  over: Promise<unknown>,
): Promise<unknown> =>
  Promise.all(
    [...new Set(procedures.flatMap((procedure) => overload.limitersOf(procedure)))].map((limiter) =>
      fill(limiter, over),
    ),
  );
