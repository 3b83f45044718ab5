import { openSync, readSync } from 'node:fs';

const NS_PER_MS = 1_000_000;

const open = (): number | undefined => {
  try {
    return openSync('/proc/thread-self/schedstat', 'r');
  } catch {
    return undefined;
  }
};

/**
 * Tells how many milliseconds the thread that makes it has waited for the machine, which did other work: time that no
 * statement took. Only Linux knows; elsewhere it is none.
 */
export const waitClock = (): (() => number) => {
  const file = open();
  if (file === undefined) return () => 0;
  const text = Buffer.alloc(64);
  return () => {
    // The time that it ran, the time that it waited to, in nanoseconds, and how often.
    const length = readSync(file, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, length).split(' ')[1]) / NS_PER_MS;
  };
};
