/**
 * @engines sqlite
 * @tier fast
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AppError } from '../../src/base/errors.ts';
import { type Reply, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { anInput, isReplay, repeating, writes } from '../harness/documents/repeating.ts';

// What callers are told when the connection breaks while a write is committed, which here it is.

let app: TestApp;
let user: TestUser;

beforeAll(async () => {
  app = await startApp();
  user = await app.aUser();
});
afterAll(() => app.stop());

/** What `work` comes to, during which every transaction is committed and nobody hears of it. */
const unheard = async <T>(work: () => Promise<T>): Promise<T> => {
  const { db } = app.context;
  const original = db.transaction;
  db.transaction = async (...args) => {
    await original.apply(db, args as never);
    throw new AppError('OUTCOME_UNKNOWN');
  };
  try {
    return await work();
  } finally {
    db.transaction = original;
  }
};

const detailsOf = ({ status, headers, body }: Reply) => ({
  status,
  reason: body.error.json.data.reason,
  retryAfter: headers['retry-after'],
  shouldRetry: headers['x-should-retry'],
});
const hintOf = ({ body }: Reply): string => body.error.json.data.hint;

describe.each(writes)('$id', (operation) => {
  const { id } = operation;

  test('without an Idempotency-Key is not to be repeated blindly', async () => {
    const input = await anInput(app, operation, user);
    const reply = await unheard(() => app.send(id, input, user.key));
    expect(detailsOf(reply)).toEqual({ status: 503, reason: 'OUTCOME_UNKNOWN', retryAfter: '1', shouldRetry: 'false' });
    expect(hintOf(reply)).toMatch(/^Look whether it is stored before you repeat/);
  });

  test('with one is to be repeated, and then answered', async () => {
    const input = await anInput(app, operation, user);
    const headers = repeating(randomUUID());
    const reply = await unheard(() => app.send(id, input, user.key, headers));
    expect(detailsOf(reply)).toEqual({ status: 503, reason: 'OUTCOME_UNKNOWN', retryAfter: '1', shouldRetry: 'true' });
    expect(hintOf(reply)).toMatch(/^Retry the request with the same `Idempotency-Key`/);
    const again = await app.send(id, input, user.key, headers);
    expect([again.status, isReplay(again)]).toEqual([200, true]);
  });
});
