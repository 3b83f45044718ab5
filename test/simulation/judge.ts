import type { Snapshot } from '../../src/db/sqlite/files/snapshot.ts';
import { type Anomaly, type Entry, wordsOf } from '../histories/history.ts';
import { shrink } from './shrink.ts';
import { hashOf, type Outcome, simulate, STATEMENT } from './simulation.ts';

/** The lines of a trace that a failure shows. */
const SHOWN = 150;
const HOUR_MS = 3_600_000;
/** One seed in this number is simulated twice. */
const TWICE_EVERY = 10;
/** The program that searches takes 64 users; a seed has four. */
const SEARCHED_AT_ONCE = 10;

/** Searches an order of the operations of a history. Returns why there is none, in words; empty where there is one. */
type Search = (history: readonly Entry[]) => Promise<string>;

/** What was found in some seeds. */
export interface Verdict {
  seeds: number;
  hours: number;
  calls: number;
  cpuSeconds: number;
  /** The checks that failed, with the first seed that shows it. */
  found: string[];
  /** What a seed that failed shows, with only the calls and faults that it takes. */
  words: string;
  /** The trace of the last seed; of one that failed, with only these. */
  trace: string[];
}

/** What is kept of a seed for the search. */
type Kept = Pick<Outcome, 'history' | 'items'> & { seed: string };

/** The outcome of a seed with only the calls and faults that it takes to show something. */
const shrunk = async (
  seed: string,
  beginning: Snapshot,
  items: readonly string[],
  isShown: (outcome: Outcome) => Promise<boolean>,
): Promise<Outcome> => {
  const only = (kept: readonly string[]): Promise<Outcome> =>
    simulate(seed, beginning, new Set(items.filter((item) => !kept.includes(item))));
  return only(await shrink(items, async (kept) => isShown(await only(kept))));
};

const wordsIn = (words: readonly string[], { trace }: Outcome): string =>
  [...words, ...trace.filter((line) => !line.includes(STATEMENT)).slice(-SHOWN)].join('\n');

/** Simulates seeds one after the other until one fails. `search` searches an order in all histories together. */
export const judge = async (
  beginning: Snapshot,
  { first, seeds, search }: { first: number; seeds: number; search?: Search },
): Promise<Verdict> => {
  const verdict: Verdict = { seeds: 0, hours: 0, calls: 0, cpuSeconds: 0, found: [], words: '', trace: [] };
  const outcomes: Kept[] = [];
  for (let n = 0; n < seeds; n += 1) {
    const seed = String(first + n);
    const before = process.cpuUsage();
    const outcome = await simulate(seed, beginning);
    const { user, system } = process.cpuUsage(before);
    verdict.seeds += 1;
    verdict.cpuSeconds += (user + system) / 1e6;
    verdict.hours += outcome.simulatedMs / HOUR_MS;
    verdict.calls += outcome.history.length;
    verdict.trace = outcome.trace;
    outcomes.push({ seed, history: outcome.history, items: outcome.items });
    if (n % TWICE_EVERY === 0 && hashOf(await simulate(seed, beginning)) !== hashOf(outcome))
      verdict.found.push(`seed ${seed}: another trace at the second time`);
    const [anomaly] = outcome.anomalies;
    if (!anomaly) continue;
    const isSame = ({ check }: Anomaly): boolean => check === anomaly.check;
    const least = await shrunk(seed, beginning, outcome.items, async ({ anomalies }) => anomalies.some(isSame));
    verdict.found.push(`seed ${seed}: ${anomaly.check}`);
    verdict.words = wordsIn(least.anomalies.filter(isSame).map(wordsOf), least);
    return verdict;
  }
  if (search) await searchAll(beginning, verdict, outcomes, search);
  return verdict;
};

/** Searches an order in the histories of several seeds together, which is faster than one by one. */
const searchAll = async (
  beginning: Snapshot,
  verdict: Verdict,
  outcomes: readonly Kept[],
  search: Search,
): Promise<void> => {
  for (let start = 0; start < outcomes.length; start += SEARCHED_AT_ONCE) {
    const some = outcomes.slice(start, start + SEARCHED_AT_ONCE);
    if ((await search(some.flatMap(({ history }) => history))) === '') continue;
    for (const { seed, history, items } of some) {
      if ((await search(history)) === '') continue;
      const least = await shrunk(seed, beginning, items, async (one) => (await search(one.history)) !== '');
      verdict.found.push(`seed ${seed}: an order`);
      verdict.words = wordsIn([await search(least.history)], least);
      return;
    }
  }
};
