/**
 * @engines sqlite
 * @tier fault
 * @needs go
 */
import { writeFileSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { searchOrders } from '../histories/linearizable.ts';
import { judge } from './judge.ts';
import { hashOf, openBeginning } from './simulation.ts';

// As `seeds.test.ts`, of more seeds, and with the search for an order.

/** `npm run simulate` sets these. */
const { SIMULATION_SEED = '1000', SIMULATION_SEEDS = '120', SIMULATION_VERDICT, SIMULATION_TRACE } = process.env;
const SEEDS = Number(SIMULATION_SEEDS);

jest.setTimeout(120_000 + SEEDS * 5000);

test('simulations of many seeds keep all promises', async () => {
  const { trace, ...verdict } = await judge(await openBeginning(), {
    first: Number(SIMULATION_SEED),
    seeds: SEEDS,
    search: async (history) => (await searchOrders(history)).words,
  });
  if (SIMULATION_TRACE !== undefined)
    writeFileSync(SIMULATION_TRACE, `${trace.map((line) => line.replaceAll(/\s+/g, ' ')).join('\n')}\n`);
  if (SIMULATION_VERDICT !== undefined)
    writeFileSync(SIMULATION_VERDICT, JSON.stringify({ ...verdict, hash: hashOf({ trace }) }));
  expect(verdict.words).toBe('');
  expect(verdict.found).toEqual([]);
});
