/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { ANSWER_LIMIT } from '../../contract/index.ts';
import { BatchReplies, ReplyBudget } from '../../src/rpc/trpc/batch.ts';

const read = { effect: 'read' } as const;
const write = { effect: 'write' } as const;
const small = Buffer.alloc(10);
/** With the brackets around it, all that a batch may answer. */
const largest = Buffer.alloc(ANSWER_LIMIT - 2);
const refusal = (reason: string) => expect.objectContaining({ reason });

describe('reply budget', () => {
  test('an answer finds room up to the limit, and none begins to be made when one found none', () => {
    const answers = new BatchReplies(new ReplyBudget());
    expect(() => answers.add(read, Buffer.alloc(ANSWER_LIMIT - 1))).toThrow(refusal('ANSWER_TOO_LARGE'));
    expect(() => answers.assertRoom()).toThrow(refusal('ANSWER_TOO_LARGE'));
    expect(answers.add(read, largest)).toBe(largest);
  });

  test('the answer to a write always finds room, and takes it from the others', () => {
    const held = new ReplyBudget();
    const answers = new BatchReplies(held);
    answers.add(read, largest);
    answers.assertRoom();
    expect(answers.add(write, small)).toBe(small);
    expect(() => answers.assertRoom()).toThrow(refusal('ANSWER_TOO_LARGE'));
    expect(() => answers.add(read, small)).toThrow(refusal('ANSWER_TOO_LARGE'));
    expect(held.bytes).toBe(ANSWER_LIMIT + small.length + 1);
  });

  test('sixteen of the largest batches are held at once, and a seventeenth when one has gone out', () => {
    const held = new ReplyBudget();
    const batches = Array.from({ length: 16 }, () => new BatchReplies(held));
    for (const answers of batches) answers.add(read, largest);
    const next = new BatchReplies(held);
    expect(() => next.add(read, small)).toThrow(refusal('OVERLOADED'));
    expect(() => next.assertRoom()).toThrow(refusal('OVERLOADED'));
    expect(next.add(write, small)).toBe(small);
    next.release();
    batches.pop()?.release();
    expect(new BatchReplies(held).add(read, Buffer.alloc(ANSWER_LIMIT - 2))).toHaveLength(ANSWER_LIMIT - 2);
    for (const answers of batches) answers.release();
    // The last one alone.
    expect(held.bytes).toBe(ANSWER_LIMIT);
  });

  test('a failure takes room too: what it lists is left out where there is none', () => {
    const held = new ReplyBudget();
    const answers = new BatchReplies(held);
    const [full, brief] = [Buffer.alloc(1000), Buffer.alloc(10)];
    expect(answers.addFailure(full, () => brief)).toBe(full);
    expect(held.bytes).toBe(1 + 1001);
    answers.add(write, largest);
    expect(answers.addFailure(full, () => brief)).toBe(brief);
    answers.release();
    expect(held.bytes).toBe(0);
  });
});
