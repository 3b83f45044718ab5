import { setTimeout as sleep } from 'node:timers/promises';
import { Mismatch, Skip } from './findings/finding.ts';
import type { Operation } from './contract/operation.ts';
import type { ListedPage, VerifySession } from './session.ts';

/** Failures on unchanged data until a fault is reported. */
const MAX_TRIALS = 3;
/** The maximum number of trials that changes by others disturb. */
const MAX_DISTURBANCES = 15;
const PAUSE_MS = 100;

/**
 * Runs a check that compares several replies, while other callers may change the data. `watch` reads all data that the check
 * depends on: if it has changed after a failure, the check is repeated. A check fails after three failures on unchanged data.
 * @throws Mismatch, and Skip when the data keeps changing
 */
export const steadily = async (watch: () => Promise<unknown>, run: () => Promise<void>): Promise<void> => {
  let [trials, disturbances] = [0, 0];
  for (;;) {
    const before = JSON.stringify(await watch());
    try {
      await run();
      return;
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      const isSame = before === JSON.stringify(await watch());
      if (isSame) trials += 1;
      else disturbances += 1;
      if (trials === MAX_TRIALS) throw error;
      if (disturbances === MAX_DISTURBANCES)
        throw new Skip('others change all the time what it looks at', { cause: error });
    }
    await sleep(PAUSE_MS * (trials + disturbances));
  }
};

/** Reads the first records of a list and its total, which other callers can change. */
export const watchList =
  (session: VerifySession, list: Operation, query: object, limit: number): (() => Promise<unknown>) =>
  async () => {
    const { items, total } = await session.prepare<ListedPage>(list, { page: 1, ...query, limit });
    return [total, items];
  };
