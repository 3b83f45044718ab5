/** How a lane stands. */
export interface LaneUsage {
  /** Work under way, in units of cost. */
  running: number;
  /** How much may be. */
  capacity: number;
  /** Work that waits, in pieces. */
  waiting: number;
}

/** Hears what becomes of work in a lane. */
export interface LaneObserver {
  /** Work begins, after so many milliseconds. */
  began: (waitedMs: number) => void;
  refused: () => void;
}

/** Hears which work begins, and which is refused for want of room. */
export interface AdmissionObserver {
  /** There is a lane from now on; `usage` tells how it stands. */
  lane: (name: string, usage: () => LaneUsage) => LaneObserver;
  /** A request was refused before anything was done for it. */
  refusedAtGate: () => void;
}
