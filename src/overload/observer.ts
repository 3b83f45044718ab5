/** How much work a limiter runs and keeps waiting. */
export interface LimiterUsage {
  /** Work that runs, in units of cost. */
  running: number;
  /** How much may run at once, as found by its latency. */
  capacity: number;
  /** Work that waits, in pieces. */
  waiting: number;
}

/** Is told what becomes of the work of one limiter. */
export interface LimiterObserver {
  /** Work begins, after so many milliseconds in the queue. */
  began: (waitedMs: number) => void;
  refused: () => void;
}

/** Is told which work begins, and which is refused because of overload. */
export interface OverloadObserver {
  /** A limiter was made; `usage` tells its state. */
  limiter: (name: string, usage: () => LimiterUsage) => LimiterObserver;
  /** A request was refused before it was authenticated or read. */
  shed: () => void;
}
