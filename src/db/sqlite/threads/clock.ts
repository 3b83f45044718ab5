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
 * Makes a clock of the milliseconds in which the calling thread was ready to run but waited for a CPU. No statement
 * took that time. Only Linux provides it; on other systems the clock returns 0.
 */
export const waitClock = (): (() => number) => {
  const file = open();
  if (file === undefined) return () => 0;
  const text = Buffer.alloc(64);
  return () => {
    // Fields: time run and time waited, in nanoseconds, and the number of time slices.
    const length = readSync(file, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, length).split(' ')[1]) / NS_PER_MS;
  };
};
