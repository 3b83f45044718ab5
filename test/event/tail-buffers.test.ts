/**
 * @engines sqlite
 * @tier long
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { eventsIn, openEventStream } from '../harness/http/event-stream.ts';
import { until } from '../harness/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
  app.context.lifecycle.relay.start();
});
afterAll(() => app.stop());

describe('a tail that is not read', () => {
  test('is cut off when too much is held for it, and resumes where it was', async () => {
    const author = await app.aUser();
    await app.context.lifecycle.relay.moveNow();
    const { nextCursor: after } = await app.call('event.list', { start: 'latest' });
    const { port } = new URL(app.url);
    const socket = connect(Number(port), '127.0.0.1');
    const input = encodeURIComponent('{"json":{"include":"record"}}');
    socket.write(`GET /api/trpc/event.tail?input=${input} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await until(() => app.context.tails.size === 1);
    socket.pause();
    const tagNames = Array.from({ length: 20 }, (_, n) => `a tag of many letters, number ${n}`);
    const games = Array.from({ length: 100 }, () => ({ title: '長'.repeat(200), tagNames }));
    let published = 0;
    while (app.context.tails.size === 1 && published < 10_000) {
      await app.call('game.batchCreate', { games }, author.key);
      published += games.length;
      await until(async () => (await app.call('event.list', { after, limit: 1 })).items.length > 0);
    }
    expect(app.context.tails.size).toBe(0);
    socket.destroy();

    await app.context.lifecycle.relay.moveNow();
    const stream = await openEventStream(app.url, { lastEventId: after });
    await until(() => eventsIn(stream.messages).length >= published);
    expect(eventsIn(stream.messages)).toHaveLength(published);
    stream.close();
  });
});
