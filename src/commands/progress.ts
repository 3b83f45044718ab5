import { SingleBar } from 'cli-progress';

/** Shows on the standard error how far `work` is with so many rows, if that is a terminal. */
export const withProgress = async <T>(
  rows: number,
  work: (advance: (rows: number) => void) => Promise<T>,
): Promise<T> => {
  const bar = new SingleBar({
    format: '[{bar}] {percentage} % of {total} rows, {eta_formatted} left',
    clearOnComplete: true,
    // Else Ctrl-C would leave a terminal that no longer wraps lines.
    linewrap: true,
  });
  bar.start(rows, 0);
  try {
    return await work((more) => bar.increment(more));
  } finally {
    bar.stop();
  }
};
