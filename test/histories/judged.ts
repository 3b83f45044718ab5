import { writeFileSync } from 'node:fs';
import { afterEach, expect, jest } from '@jest/globals';
import { type Account, openAccounts, recordHistory } from './clients.ts';
import { anomaliesIn } from './checks.ts';
import { type Entry, microseconds, wordsOf } from './history.ts';
import { searchOrders } from './linearizable.ts';
import { startVictim } from './nemeses.ts';
import { replicasShowWhatWas, withoutReplica } from './replicas.ts';
import type { Victim } from './victims/victim.ts';

/** `npm run histories` sets these. */
const {
  HISTORY_OPERATIONS = '2000',
  HISTORY_SEED = '1',
  HISTORY_NEMESIS = 'all',
  HISTORY_FILE,
  HISTORY_VERDICT,
} = process.env;
const OPERATIONS = Number(HISTORY_OPERATIONS);
/** At most, but of each nemesis there is one at least. */
const FAULTS = 50;
/** The parts of the calls in which there are faults, one after the other. */
const PARTS = 2;
/** The calls between two faults, at least. */
const RARE = 400;

/** The anomalies in a failure. */
const SHOWN = 10;
/** A call that takes this long was held up by a fault, whose pauses are longer. */
const LONG_US = 200_000;

/** What no call is to notice. The nemesis makes sure itself that it has an effect. */
const UNFELT = ['clock', 'redis', 'lag'];

/** A fault, and the time that it took. */
interface Fault {
  nemesis: string;
  call: number;
  return: number;
}

/** The calls that a fault has disturbed: they were sent again, failed, or took long. */
const disturbedBy = (fault: Fault, history: readonly Entry[]): number =>
  history.filter(
    (entry) =>
      entry.operation.includes('.') &&
      entry.call < fault.return &&
      entry.return > fault.call &&
      (entry.attempts > 1 || entry.outcome !== 'ok' || entry.return - entry.call > LONG_US),
  ).length;

/**
 * An entry whose fault is that of an older release, which lacks operations, and tells a caller of no scope that it does not know, and
 * fails.
 */
const withoutFaultOf = (older: readonly Fault[], entry: Entry): Entry =>
  ['INTERNAL', 'PROCEDURE_NOT_FOUND'].includes(entry.reason) &&
  older.some((fault) => entry.call < fault.return && entry.return > fault.call)
    ? { ...entry, reason: 'of an older release' }
    : entry;

/** An entry without `updatedAt`, which tells no order where clocks were set. */
const withoutTime = (entry: Entry): Entry =>
  entry.output ? { ...entry, output: { ...entry.output, updatedAt: undefined } } : entry;

jest.setTimeout(600_000 + OPERATIONS * 30);

let victim: Victim | undefined;
afterEach(() => victim?.remove());

/** Records a history on a set of database servers while nemeses harm it, and expects it to be one that the promises allow. */
export const expectAllowed = async (databases: string): Promise<void> => {
  let accounts: Account[] = [];
  const started = await startVictim(databases, HISTORY_NEMESIS, async (url) => {
    accounts = await openAccounts(url);
  });
  victim = started.victim;
  const { harms, webhookPort } = started;
  const count = Math.max(harms.length, Math.min(FAULTS, OPERATIONS / RARE));
  const faults: Fault[] = [];
  const recorded = await recordHistory({
    bases: victim.bases,
    url: victim.url,
    webhookPort,
    accounts,
    seed: HISTORY_SEED,
    operations: OPERATIONS,
    harm: async (from, to, answered) => {
      const own = Math.ceil(count / PARTS);
      for (let n = 0; n < own; n += 1) {
        await answered(from + ((n + 0.5) * (to - from)) / own);
        const { nemesis, harm } = harms[faults.length % harms.length]!;
        const call = microseconds();
        await harm();
        faults.push({ nemesis, call, return: microseconds() });
      }
    },
  });
  if (HISTORY_FILE !== undefined)
    writeFileSync(HISTORY_FILE, recorded.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const has = (name: string): boolean => harms.some(({ nemesis }) => nemesis === name);
  // Where limits are on, a view counts once an hour; and each instance stores those that it has counted when it likes.
  const isViewCountExact = !has('redis') && victim.bases.length === 1;
  const older = faults.filter(({ nemesis }) => nemesis === 'older');
  const history = recorded
    .map((entry) => withoutFaultOf(older, entry))
    .map((entry) => (has('clock') ? withoutTime(entry) : entry))
    .map((entry) => (isViewCountExact ? entry : { ...entry, isCalm: false }));
  const current = victim.hasReplicas ? history.map(withoutReplica) : history;
  const anomalies = [...anomaliesIn(current), ...(victim.hasReplicas ? replicasShowWhatWas(history) : [])];
  const verdict = await searchOrders(current);
  const disturbances = faults.map((fault) => ({ nemesis: fault.nemesis, calls: disturbedBy(fault, history) }));
  if (HISTORY_VERDICT !== undefined) {
    const ended = (outcome: string) => history.filter((entry) => entry.outcome === outcome).length;
    writeFileSync(
      HISTORY_VERDICT,
      JSON.stringify({
        ok: ended('ok'),
        refused: ended('refused'),
        unknown: ended('unknown'),
        faults: disturbances,
        histories: verdict.histories,
        found: [...new Set(anomalies.map(({ check }) => check)), ...(verdict.unexplained > 0 ? ['an order'] : [])],
      }),
    );
  }
  expect(anomalies.slice(0, SHOWN).map(wordsOf).join('\n')).toBe('');
  expect(verdict.words).toBe('');
  expect(verdict).toMatchObject({ unexplained: 0, undecided: 0 });
  expect(new Set(faults.map(({ nemesis }) => nemesis))).toEqual(new Set(harms.map(({ nemesis }) => nemesis)));
  expect(disturbances.filter(({ nemesis, calls }) => calls === 0 && !UNFELT.includes(nemesis))).toEqual([]);
};
