import { setTimeout as sleep } from 'node:timers/promises';
import { Mismatch, Skip } from './findings/finding.ts';
import type { Operation } from './contract/operation.ts';
import type { ListedPage, VerifySession } from './session.ts';

/** So often something that nobody touched has to fail. */
const MAX_TRIALS = 3;
/** So often others may come between. */
const MAX_DISTURBANCES = 15;
const PAUSE_MS = 100;

/**
 * Makes a check of what several requests answer together, while others may publish, look at and like what there is.
 * `watch` reads all that the check looks at: where it reads something else after a failure than before, others came
 * between, and the check is made again. A fault is what shows three times while nobody did.
 * @throws Mismatch, and Skip when others come between each time
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

/** Reads of the first records of a list what others can change, and how many there are. */
export const watchList =
  (session: VerifySession, list: Operation, query: object, limit: number): (() => Promise<unknown>) =>
  async () => {
    const { items, total } = await session.prepare<ListedPage>(list, { page: 1, ...query, limit });
    return [total, items];
  };
