import { afterEach } from '@jest/globals';

const running = new Set<() => void>();

// A test that failed halfway leaves nobody calling.
afterEach(() => {
  for (const stop of running) stop();
  running.clear();
});

/** Has `stop` be called when the test ends, however it does. */
export const stopAfterTest = (stop: () => void): void => {
  running.add(stop);
};
