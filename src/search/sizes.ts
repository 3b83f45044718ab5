/** How long what a search reads stays, once it is replaced; a search that took half as long may have missed something. */
export const GRACE_MS = 60_000;

/** How big the parts of the index grow. */
export interface Sizes {
  /** Rows of the tail that make a segment of level 0. */
  run: number;
  /** Segments of a level that make one of the next. */
  fanout: number;
  /** How long replaced segments stay, for searches that read them. */
  graceMs: number;
}

export const defaultSizes: Sizes = { run: 512, fanout: 16, graceMs: GRACE_MS };
