/**
 * @engines sqlite server
 * @tier fault
 * @needs go
 */
import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { engine } from '../harness/app/database.ts';
import { type Account, openAccounts, recordHistory } from './clients.ts';
import { anomaliesIn } from './checks.ts';
import { wordsOf } from './history.ts';
import { searchOrders } from './linearizable.ts';
import { startVictim, type Victim } from './nemeses.ts';

// Whole histories: all that clients asked and were answered while the service and its database were killed and paused.

/** `npm run histories` sets these. */
const {
  HISTORY_OPERATIONS = '2000',
  HISTORY_SEED = '1',
  HISTORY_NEMESIS = 'all',
  HISTORY_FILE,
  HISTORY_VERDICT,
} = process.env;
const OPERATIONS = Number(HISTORY_OPERATIONS);
/** The calls between two faults. */
const EVERY = Math.max(400, OPERATIONS / 50);

/** The anomalies in a failure. */
const SHOWN = 10;

jest.setTimeout(90_000 + OPERATIONS * 20);

let victim: Victim | undefined;

describe('a history under faults', () => {
  afterEach(() => victim?.remove());

  test('is one that the promises allow', async () => {
    let accounts: Account[] = [];
    victim = await startVictim(HISTORY_NEMESIS, async (url) => {
      accounts = await openAccounts(url);
    });
    const { base, url, webhookPort, harm } = victim;
    let faults = 0;
    const history = await recordHistory({
      base,
      url,
      webhookPort,
      accounts,
      seed: HISTORY_SEED,
      operations: OPERATIONS,
      harm: async (from, to, answered) => {
        for (let calls = from + EVERY / 2; calls < to; calls += EVERY) {
          await answered(calls);
          await harm(faults);
          faults += 1;
        }
      },
    });
    if (HISTORY_FILE !== undefined)
      writeFileSync(HISTORY_FILE, history.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const anomalies = anomaliesIn(history);
    const verdict = await searchOrders(history);
    const count = (outcome: string) => history.filter((entry) => entry.outcome === outcome).length;
    const found = [...new Set(anomalies.map(({ check }) => check)), ...(verdict.unexplained > 0 ? ['an order'] : [])];
    if (HISTORY_VERDICT !== undefined) {
      const { histories, operations, undecided } = verdict;
      const outcomes = { ok: count('ok'), refused: count('refused'), unknown: count('unknown') };
      writeFileSync(
        HISTORY_VERDICT,
        JSON.stringify({ engine, faults, ...outcomes, histories, operations, undecided, found }),
      );
    }
    expect(anomalies.slice(0, SHOWN).map(wordsOf).join('\n')).toBe('');
    expect(verdict.words).toBe('');
    expect(verdict).toMatchObject({ unexplained: 0, undecided: 0 });
    expect(faults).toBeGreaterThan(0);
  });
});
