const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/** Listens once for each signal, however many calls share it: Node.js warns of more than ten listeners. */
const listenersOf = (signal: AbortSignal): Set<() => void> => {
  const known = listeners.get(signal);
  if (known) return known;
  const made = new Set<() => void>();
  listeners.set(signal, made);
  signal.addEventListener('abort', () => made.forEach((listener) => listener()), { once: true });
  return made;
};

/** Calls the listener once the signal is aborted. Returns what ends that. */
export const onAbort = (signal: AbortSignal | undefined, listener: () => void): (() => void) => {
  if (!signal) return () => {};
  const all = listenersOf(signal).add(listener);
  return () => void all.delete(listener);
};
