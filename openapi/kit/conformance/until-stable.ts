import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import type { Operation } from './contract/operation.ts';
import { Mismatch, Skip } from './findings/finding.ts';
import type { ListedPage } from './records.ts';
import type { VerifySession } from './session.ts';

/** Trials before a fault is reported: failures on unchanged data, or counts that did not change. */
export const MAX_TRIALS = 3;
/** The maximum number of trials that changes by others may disturb. */
const MAX_DISTURBANCES = 15;
const PAUSE_MS = 100;
/** Far longer than the deployment's work in the background takes. */
const PATIENCE_MS = 10_000;
const READING_PAUSE_MS = 250;

/**
 * Runs a check that compares several replies, while other callers may change the data. `watch` reads all data that the
 * check depends on: if it has changed after a failure, the check is repeated. A check fails after three failures on
 * unchanged data.
 * @throws Mismatch, and Skip if the data keeps changing
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

/**
 * Reads until the result is as expected.
 * @param wordsOf the expected result, the actual one, and its place
 * @throws Mismatch after too long a time
 */
export const eventually = async <T>(
  read: () => Promise<Answer<T>>,
  isWanted: (output: T) => boolean,
  wordsOf: (output: T) => readonly [expected: string, came: unknown, at?: string],
): Promise<void> => {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(READING_PAUSE_MS)) {
    const answer = await read();
    if (isWanted(answer.output)) return;
    answer.demand(Date.now() < deadline, ...wordsOf(answer.output));
  }
};

/**
 * Publishes, or deletes, until the service counts it: others may do the opposite meanwhile.
 * @param what the counted things, in words
 * @throws Mismatch if it does not count it
 */
export const demandCounted = async <T>(
  read: () => Promise<Answer<T>>,
  countIn: (output: T) => number,
  change: () => Promise<unknown>,
  what = '',
  at?: string,
  wanted: 'more' | 'fewer' = 'more',
): Promise<void> => {
  for (let trial = 1; ; trial += 1) {
    const before = countIn((await read()).output);
    await change();
    const answer = await read();
    const count = countIn(answer.output);
    if (wanted === 'more' ? count > before : count < before) return;
    answer.demand(trial < MAX_TRIALS, `${wanted} than ${before} ${what}after one ${wanted}`, count, at);
  }
};
