import { SingleBar } from 'cli-progress';

/** Shows a progress bar for `work` on the standard error, if that is a terminal. It counts rows, or `unit`. */
export const withProgress = async <T>(
  total: number,
  work: (advance: (more: number) => void) => Promise<T>,
  unit = 'rows',
): Promise<T> => {
  const bar = new SingleBar({
    format: `[{bar}] {percentage} % of {total} ${unit}, {eta_formatted} left`,
    clearOnComplete: true,
    // Otherwise Ctrl-C would leave a terminal that no longer wraps lines.
    linewrap: true,
  });
  bar.start(total, 0);
  try {
    return await work((more) => bar.increment(more));
  } finally {
    bar.stop();
  }
};
