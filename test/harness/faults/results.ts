import { appendFileSync } from 'node:fs';

/** What a test has seen of a fault: a row of the table that results-reporter.mjs prints. */
export interface FaultResult {
  /** What failed, how, and for how long. */
  fault: string;
  /** How often. */
  rounds: number;
  /** Who called meanwhile. */
  load: string;
  acknowledged: number;
  lost: number;
  duplicated: number;
  /** The longest time without a success, where there should have been some. */
  longestOutageMs?: number;
  /** What else was measured, in words. */
  seen?: string;
}

/** Adds a row to the table at the end of the run. */
export const noteResult = (result: FaultResult): void => {
  const { FAULT_RESULTS } = process.env;
  if (FAULT_RESULTS === undefined) return;
  appendFileSync(FAULT_RESULTS, `${JSON.stringify({ engine: globalThis.TEST_ENGINE.name, ...result })}\n`);
};
