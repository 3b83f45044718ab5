/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { isStream, operations as described, scopes } from '../../contract/index.ts';
import { newId } from '../../src/db/values.ts';
import { createDemo } from '../../src/sandbox/records.ts';
import { insertSandboxExamples } from '../../src/sandbox/sandbox.ts';
import { webhookSecrets } from '../harness/app/webhook-key.ts';
import { demoKeyIn } from '../harness/app/demo.ts';
import { type ProcedureId, startApp } from '../harness/app/app.ts';

// What every operation owes its callers. The cases follow from the contract, so that a new operation has them at once.

const app = await startApp();
afterAll(() => app.stop());

const demoKey = await demoKeyIn(app.context.db, app.context.now());
/** Makes the webhook of the examples anew: what came before has changed it. */
const renewExampleWebhook = async (): Promise<void> => {
  await app.context.db.transaction((tx) => tx.execute('DELETE FROM webhooks'));
  await insertSandboxExamples(app.context.db, app.context.now(), webhookSecrets);
};
const badKeys = Object.entries(await app.badKeys());

const operations = described.map((operation) => {
  const { id, access, reasons, example } = operation;
  const input = example.input as Record<string, unknown>;
  return {
    id: id as ProcedureId,
    access,
    input,
    output: example.output as object,
    streams: isStream(operation),
    notFound: reasons.find((reason) => reason.endsWith('_NOT_FOUND')),
    /** The member of the input that names a record. */
    idMember: Object.keys(input).find((member) => member === 'id' || member.endsWith('Id')),
  };
});
const locked = operations.flatMap(({ access, ...rest }) => (access === 'public' ? [] : [{ ...rest, scope: access }]));
const addressed = operations.flatMap(({ idMember, ...rest }) =>
  idMember === undefined ? [] : [{ ...rest, idMember }],
);

test('a database with users gets no demo', async () => {
  expect(await createDemo(app.context.db, app.context.now(), { withKey: true })).toBeUndefined();
});

test('the contract has every operation of the specification', () => {
  expect(operations.map(({ id, access }) => `${id} ${access}`)).toEqual(
    expect.arrayContaining([
      'game.list public',
      'game.getById public',
      'game.create content:write',
      'game.batchCreate content:write',
      'game.toggleFavorite content:write',
      'game.toggleReaction content:write',
      'game.getTypeStats public',
      'game.getRelated public',
      'image.list public',
      'image.getById public',
      'image.create content:write',
      'image.batchCreate content:write',
      'image.update content:write',
      'image.toggleReaction content:write',
      'image.toggleFavorite content:write',
      'user.getProfile public',
      'user.me user:read',
      'user.updateProfile user:write',
      'user.updateAvatar user:write',
      'user.search user:read',
      'event.tail public',
    ]),
  );
});

// test/event/tail.test.ts reads the stream.
describe.each(operations.filter(({ streams }) => !streams))('$id', ({ id, access, input, output }) => {
  test.each(access === 'public' ? ['with a key', 'without'] : ['with a key'])(
    'answers its example with the members that the example shows, %s',
    async (how) => {
      if (id.startsWith('webhook.')) await renewExampleWebhook();
      const { status, body } = await app.send(id, input, how === 'without' ? undefined : demoKey);
      expect({ status, body }).toEqual({ status: 200, body: { result: { data: { json: expect.anything() } } } });
      expect(Object.keys(body.result.data.json).toSorted()).toEqual(Object.keys(output).toSorted());
    },
  );
});

describe.each(operations)('$id', ({ id, input }) => {
  test('names a member that it does not know', async () => {
    const { data, issues } = await app.fail(id, { ...input, unknownMember: null }, 400, demoKey);
    expect(data).toMatchObject({ code: 'BAD_REQUEST', reason: 'VALIDATION_FAILED', path: id });
    expect(issues).toEqual([
      { path: '/unknownMember', code: 'unrecognized_keys', message: 'is not a member of this input' },
    ]);
  });

  test.each(badKeys)('refuses a key: %s', async (reason, key) => {
    const failure = await app.fail(id, input, 401, key);
    expect(failure).toMatchObject({ code: -32001, data: { code: 'UNAUTHORIZED', reason, path: id } });
  });
});

describe.each(locked)('$id', ({ id, scope, input }) => {
  test('needs a key', async () => {
    const failure = await app.fail(id, input, 401);
    expect(failure).toMatchObject({ code: -32001, data: { code: 'UNAUTHORIZED', reason: 'KEY_MISSING', path: id } });
  });

  test(`needs the scope ${scope}`, async () => {
    const others = scopes.filter((other) => other !== scope);
    const { key } = await app.aUser({ scopes: others });
    const failure = await app.fail(id, input, 403, key);
    expect(failure).toMatchObject({ code: -32003, data: { code: 'FORBIDDEN', reason: 'SCOPE_MISSING', path: id } });
    expect(failure.data.hint).toBe(`This operation needs the scope ${scope}; the key has ${others.join(', ')}.`);
  });
});

test('the operations that name a record say that they may not find it', () => {
  for (const { id, notFound } of addressed) expect([id, notFound]).toEqual([id, expect.any(String)]);
});

describe.each(addressed)('$id', ({ id, idMember, input, notFound }) => {
  test.each([
    ['an unknown id', newId(new Date())],
    ['a malformed id', 'no such id'],
    ['an id in another case', String(input[idMember]).toUpperCase()],
    ['an id of 64 characters', '🎲'.repeat(64)],
  ])(`answers ${notFound} for %s`, async (_, unknown) => {
    const failure = await app.fail(id, { ...input, [idMember]: unknown }, 404, demoKey);
    expect(failure).toMatchObject({ code: -32004, data: { code: 'NOT_FOUND', reason: notFound, path: id } });
  });
});
