import { performance, sleep } from '../../src/base/runtime.ts';

interface Options {
  withinMs?: number;
  everyMs?: number;
  /** Describes what came instead, for the error. */
  seen?: () => string;
}

/** Resolves when a condition holds. @throws Error when it does not in time */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  { withinMs = 150_000, everyMs = 20, seen }: Options = {},
): Promise<void> => {
  const late = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > late) throw new Error(`It does not hold after ${withinMs} ms${seen ? `: ${seen()}` : '.'}`);
    await sleep(everyMs);
  }
};
