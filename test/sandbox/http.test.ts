/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exampleDelivery, exampleWebhook } from '../../contract/examples.ts';
import { sandboxKeys } from '../../src/sandbox/sandbox.ts';
import { sandboxWelcome } from '../../src/sandbox/welcome.ts';
import { until } from '../harness/until.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { type ServeProcess, startSandbox } from '../harness/app/program.ts';

describe('sandbox over HTTP', () => {
  describe('a service that is no sandbox', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startApp();
    });
    afterAll(() => app.stop());

    test.each([
      ['GET', '/sandbox'],
      ['POST', '/sandbox/reset'],
    ])('knows no %s %s', async (method, path) => {
      const response = await fetch(`${app.url}${path}`, { method });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { json: { data: { reason: 'ROUTE_NOT_FOUND' } } } });
    });

    test.each([
      ['X-Sandbox-Delay', 'no number'],
      ['X-Sandbox-Status', '503'],
      ['X-Sandbox-Fault', 'before=503'],
      ['X-Sandbox-Fault', 'after=reset'],
      ['X-Sandbox-Fault', 'nonsense'],
      ['X-Sandbox-Name', 'no name'],
      ['X-Sandbox-Space', 'no name'],
    ])('passes over %s: %s', async (name, value) => {
      const { status } = await app.send('game.getTypeStats', {}, undefined, { [name]: value });
      expect(status).toBe(200);
    });

    test('has one space', async () => {
      await app.aGame({ title: 'for all' });
      const { body } = await app.send('game.list', { limit: 1, page: 1, search: 'for all' }, undefined, {
        'X-Sandbox-Space': 'other',
      });
      expect(body.result.data.json.total).toBe(1);
    });
  });

  test('the message at its start tells of faults where it has a seed', () => {
    const start = { title: 'content-gateway', url: 'http://127.0.0.1:3000' };
    expect(sandboxWelcome(start, 7)).toContain('by the seed 7: http://127.0.0.1:3000/sandbox/faults lists them');
    expect(sandboxWelcome(start, undefined)).not.toContain('/sandbox/faults');
  });

  describe('the sandbox as a program', () => {
    let sandbox: ServeProcess;
    beforeAll(async () => {
      sandbox = await startSandbox();
    });

    test('the delivery of the examples is made again, to an endpoint that takes it', async () => {
      const call = async (id: string, json: object): Promise<Record<string, unknown>> => {
        const response = await fetch(`${sandbox.base}/api/trpc/${id}`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${sandboxKeys[0]?.key}` },
          body: JSON.stringify({ json }),
        });
        return ((await response.json()) as { result: { data: { json: Record<string, unknown> } } }).result.data.json;
      };
      const waiting = await call('webhook.redeliver', { deliveryId: exampleDelivery.id });
      expect(waiting).toMatchObject({ type: 'game.created', state: 'waiting', attempts: 0 });
      const again = async (): Promise<unknown> =>
        ((await call('webhook.deliveries', { id: exampleWebhook.id }))['items'] as { id: string }[]).find(
          ({ id }) => id === exampleDelivery.id,
        );
      await until(async () => ((await again()) as { state: string }).state === 'delivered');
      expect(await again()).toMatchObject({ attempts: 1, status: 200, answer: 'OK' });
    });

    test('has its spaces, and leaves them when it is told to stop', async () => {
      const totals: number[] = [];
      for (const space of [undefined, 'one', 'two']) {
        const response = await fetch(`${sandbox.base}/api/trpc/game.list`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...(space !== undefined && { 'X-Sandbox-Space': space }) },
          body: '{"json":{"limit":1,"page":1}}',
        });
        const body = (await response.json()) as { result: { data: { json: { total: number } } } };
        totals.push(body.result.data.json.total);
      }
      expect(new Set(totals).size).toBe(1);
      expect((await fetch(`${sandbox.base}/sandbox/reset`, { method: 'POST' })).status).toBe(204);
      const tail = await fetch(`${sandbox.base}/api/trpc/event.tail`, { headers: { 'X-Sandbox-Space': 'one' } });
      expect(await sandbox.stop()).toBe(0);
      expect([tail.status, await tail.text()]).toEqual([200, expect.stringMatching(/\nretry: \d+\n\n$/)]);
      expect(sandbox.log()).not.toMatch(/"level":[4-6]0(?!.*(?:"slow request"|gets no security fixes))/);
    });
  });
});
