/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { BackgroundJob } from '../../src/base/background-job.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

const HOUR_MS = 3_600_000;
/** Any number of short pauses, and no long one. */
const WHILE_MS = 1000;

type Outcome = number | undefined | Error;

/** A job whose turns end as `outcomes` say, the last of them for ever, with what it logs. A function is called in its turn. */
const aJob = (...outcomes: (Outcome | ((job: BackgroundJob) => Outcome))[]) => {
  const logged: string[] = [];
  const counts = { turns: 0 };
  const log = pino(
    { base: null },
    { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const job: BackgroundJob = new BackgroundJob({
    turn: async () => {
      const said = outcomes[Math.min(counts.turns, outcomes.length - 1)];
      counts.turns += 1;
      const outcome = typeof said === 'function' ? said(job) : said;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    retryMs: 5,
    log,
    failure: 'not yet',
  });
  return { job, logged, counts };
};

let world: VirtualWorld;
beforeEach(() => {
  world = new VirtualWorld();
});
afterEach(() => world.end());

describe('a job in the background', () => {
  test('takes one turn after the other, and none after it was closed', async () => {
    const { job, counts } = aJob(1, 1, HOUR_MS);
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(3);
    await job.close();
    job.start();
    job.wake();
    await job.close();
    expect(counts.turns).toBe(3);
  });

  test('goes on at once when it is woken', async () => {
    const { job, counts } = aJob(HOUR_MS);
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(1);
    job.wake();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(2);
    await job.close();
  });

  test('goes on without a pause when it is woken in a turn', async () => {
    const wakes = (job: BackgroundJob): number => {
      job.wake();
      return HOUR_MS;
    };
    const { job, counts } = aJob(wakes, HOUR_MS);
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(2);
    await job.close();
  });

  test('ends where nothing is left, until it is started again', async () => {
    const { job, counts } = aJob(undefined);
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(1);
    await Promise.resolve();
    job.wake();
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(2);
    await job.close();
  });

  test('goes on where it is started while its last turn ends', async () => {
    const starts = (job: BackgroundJob): undefined => {
      job.start();
    };
    const { job, counts } = aJob(starts, undefined);
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(2);
    await job.close();
    expect(counts.turns).toBe(2);
  });

  test('tells of a failure that lasts once, and of the next one again', async () => {
    const failure = new Error('down');
    const { job, counts, logged } = aJob(failure, failure, failure, 1, failure, HOUR_MS);
    job.start();
    await world.pass(WHILE_MS);
    expect(counts.turns).toBe(6);
    await job.close();
    expect(logged).toEqual(['not yet', 'not yet']);
  });
});
