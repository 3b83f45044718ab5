/**
 * @engines none
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { BatchLoader } from '../../../src/db/batching/batch-loader.ts';
import { Deadline } from '../../../src/base/deadline.ts';
import { AppError } from '../../../src/base/errors.ts';

/** A database that answers when it is told to. */
const aDatabase = () => {
  const batches: { requests: string[]; answer: () => void; fail: (error: unknown) => void }[] = [];
  const coalescer = new BatchLoader<string, string>({
    run: (requests) =>
      new Promise((resolve, reject) => {
        const answer = () => resolve(requests.map((request) => `answer to ${request}`));
        batches.push({ requests, answer, fail: reject });
      }),
  });
  return { coalescer, batches, sent: () => batches.map(({ requests }) => requests) };
};

/** Lets what is settled be heard of. */
const settle = () => sleep(0);
const names = (n: number): string[] => Array.from({ length: n }, (_, index) => `r${index}`);

describe('requests', () => {
  test('are sent at once, alone, while few are under way; then those that wait go together', async () => {
    const { coalescer, batches, sent } = aDatabase();
    const answers = names(5).map((name) => coalescer.load(name));
    expect(sent()).toEqual([['r0'], ['r1']]);
    batches[1]!.answer();
    await settle();
    expect(sent()).toEqual([['r0'], ['r1'], ['r2', 'r3', 'r4']]);
    answers.push(coalescer.load('r5'));
    expect(sent()).toHaveLength(3);
    for (const batch of batches) batch.answer();
    await settle();
    batches[3]!.answer();
    expect(await Promise.all(answers)).toEqual(names(6).map((name) => `answer to ${name}`));
  });

  test('that are equal have an answer each', async () => {
    const { coalescer, batches } = aDatabase();
    const requests = ['a', 'b', 'c', 'c', 'd'];
    const answers = requests.map((name) => coalescer.load(name));
    batches[0]!.answer();
    batches[1]!.answer();
    await settle();
    batches[2]!.answer();
    expect(await Promise.all(answers)).toEqual(requests.map((name) => `answer to ${name}`));
  });

  test('go 64 at a time', async () => {
    const { coalescer, batches, sent } = aDatabase();
    const answers = names(2 + 64 + 36).map((name) => coalescer.load(name));
    for (let index = 0; index < 4; index += 1) {
      batches[index]!.answer();
      await settle();
    }
    expect(sent().map(({ length }) => length)).toEqual([1, 1, 64, 36]);
    expect(await Promise.all(answers)).toEqual(names(102).map((name) => `answer to ${name}`));
  });

  test('share a batch with their group only, and wait for no other group', async () => {
    const { coalescer, batches, sent } = aDatabase();
    const requests = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'b4'];
    const answers = requests.map((name) => coalescer.load(name, undefined, name.charAt(0)));
    expect(sent()).toEqual([['a1'], ['a2'], ['b1'], ['b2']]);
    batches[2]!.answer();
    await settle();
    expect(sent().slice(4)).toEqual([['b3', 'b4']]);
    for (const batch of batches) batch.answer();
    await settle();
    expect(sent().slice(5)).toEqual([['a3', 'a4']]);
    batches[5]!.answer();
    await Promise.all(answers);
  });

  test('of a batch that fails each get an error of their own, and the next batch works', async () => {
    const { coalescer, batches } = aDatabase();
    const first = coalescer.load('a');
    const second = coalescer.load('b');
    const failing = ['c', 'd'].map((name) => coalescer.load(name).catch((error: unknown) => error));
    batches[0]!.answer();
    await settle();
    const cause = new AppError('DATABASE_UNAVAILABLE');
    batches[2]!.fail(cause);
    const errors = (await Promise.all(failing)) as AppError[];
    expect(errors.map(({ reason }) => reason)).toEqual(['DATABASE_UNAVAILABLE', 'DATABASE_UNAVAILABLE']);
    expect(new Set([cause, ...errors]).size).toBe(3);
    const later = coalescer.load('e');
    batches[1]!.answer();
    await settle();
    batches[3]!.answer();
    expect(await Promise.all([first, second, later])).toEqual(['answer to a', 'answer to b', 'answer to e']);
  });

  test('are refused when too many wait, and not sent when their time is over before their turn', async () => {
    const { coalescer, batches, sent } = aDatabase();
    const deadline = new Deadline();
    const [first, second, ...late] = names(5002).map((name, n) =>
      coalescer.load(name, n < 2 ? undefined : deadline).catch((error: AppError) => error.reason),
    );
    await expect(coalescer.load('one too many')).rejects.toThrow('OVERLOADED');
    deadline.end();
    for (const batch of batches.slice(0, 2)) batch.answer();
    await Promise.all([first, second]);
    expect(new Set(await Promise.all(late))).toEqual(new Set(['TIMEOUT']));
    expect(sent()).toHaveLength(2);
  });
});
