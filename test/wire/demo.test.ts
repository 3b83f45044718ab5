import { afterAll, expect, test } from '@jest/globals';
import { procedures } from '../../contract/index.ts';
import { createDemo } from '../../src/demo/records.ts';
import { type ProcedureId, startApp } from '../support/app.ts';

const app = await startApp();
afterAll(() => app.stop());

const key = (await createDemo(app.context.db, new Date())) ?? '';

test.each(procedures)('the example of $id works as it stands', async ({ id, example }) => {
  const { status, body } = await app.send(id as ProcedureId, example.input, key);
  expect({ status, body }).toEqual({ status: 200, body: { result: { data: { json: expect.anything() } } } });
});

test('a database with users gets no demo', async () => {
  expect(await createDemo(app.context.db, new Date())).toBeUndefined();
});
