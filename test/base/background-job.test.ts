/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { BackgroundJob } from '../../src/base/background-job.ts';
import { until } from '../harness/until.ts';

const HOUR_MS = 3_600_000;

/** A job whose turns end as `outcomes` say, the last of them for ever, with what it logs. */
const aJob = (...outcomes: (number | undefined | Error)[]) => {
  const logged: string[] = [];
  const counts = { turns: 0 };
  const log = pino(
    { base: null },
    { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const job = new BackgroundJob({
    turn: async () => {
      const outcome = outcomes[Math.min(counts.turns, outcomes.length - 1)];
      counts.turns += 1;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    retryMs: 1,
    log,
    failure: 'not yet',
  });
  return { job, logged, counts };
};

describe('a job in the background', () => {
  test('takes one turn after the other, and none after it was closed', async () => {
    const { job, counts } = aJob(1, 1, HOUR_MS);
    job.start();
    await until(() => counts.turns === 3);
    await job.close();
    job.start();
    job.wake();
    await job.close();
    expect(counts.turns).toBe(3);
  });

  test('goes on at once when it is woken', async () => {
    const { job, counts } = aJob(HOUR_MS);
    job.start();
    await until(() => counts.turns === 1);
    job.wake();
    await until(() => counts.turns === 2);
    await job.close();
  });

  test('goes on without a pause when it is woken in a turn', async () => {
    let turns = 0;
    const job: BackgroundJob = new BackgroundJob({
      turn: async () => {
        turns += 1;
        if (turns === 1) job.wake();
        return HOUR_MS;
      },
      retryMs: 1,
      log: undefined,
      failure: '',
    });
    job.start();
    await until(() => turns === 2);
    await job.close();
  });

  test('ends where nothing is left, until it is started again', async () => {
    const { job, counts } = aJob(undefined);
    job.start();
    await until(() => counts.turns === 1);
    await Promise.resolve();
    job.wake();
    job.start();
    await until(() => counts.turns === 2);
    await job.close();
  });

  test('goes on where it is started while its last turn ends', async () => {
    let turns = 0;
    const job: BackgroundJob = new BackgroundJob({
      turn: async () => {
        turns += 1;
        if (turns === 1) job.start();
        return undefined;
      },
      retryMs: 1,
      log: undefined,
      failure: '',
    });
    job.start();
    await until(() => turns === 2);
    await job.close();
    expect(turns).toBe(2);
  });

  test('tells of a failure that lasts once, and of the next one again', async () => {
    const failure = new Error('down');
    const { job, counts, logged } = aJob(failure, failure, failure, 1, failure, HOUR_MS);
    job.start();
    await until(() => counts.turns === 6);
    await job.close();
    expect(logged).toEqual(['not yet', 'not yet']);
  });
});
