/** The usage of a limiter. */
export interface LimiterUsage {
  /** Work that runs, in units of cost. */
  running: number;
  /** The limit, in units of cost. */
  capacity: number;
  /** Work that waits, in pieces. */
  waiting: number;
}

/** Observes the work of one limiter. */
export interface LimiterObserver {
  /** Work begins, after `waitedMs` milliseconds in the queue. */
  began: (waitedMs: number) => void;
  refused: () => void;
}

/** Observes which work begins, and which is refused because of overload. */
export interface OverloadObserver {
  /** A limiter was made; `usage` tells its state. */
  limiter: (name: string, usage: () => LimiterUsage) => LimiterObserver;
  /** A request was refused before it was authenticated or read. */
  shed: () => void;
}
