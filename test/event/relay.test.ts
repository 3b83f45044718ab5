/**
 * @engines all
 * @tier long
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { BackgroundJob } from '../../src/base/background-job.ts';
import { idFromBytes, newId, storedIdToBytes } from '../../src/db/values.ts';
import { readFeed } from '../../src/event/outbox/feed.ts';
import { recordEvents } from '../../src/event/outbox/record.ts';
import { EventRelay } from '../../src/event/outbox/relay.ts';
import type { Output } from '../harness/app/app.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { startServe } from '../harness/app/program.ts';
import { until } from '../harness/until.ts';

let app: TestApp;
const relays: EventRelay[] = [];
beforeEach(async () => {
  app = await startApp();
});
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
  await app.stop();
});

const aRelay = (onMoved?: () => void): EventRelay => {
  const { db, log, protection, now } = app.context;
  const relay = new EventRelay(db, { log, now, pause: protection.maintenance, ...(onMoved && { onMoved }) });
  relays.push(relay);
  relay.start();
  return relay;
};

const list = (after?: string): Promise<Output<'event.list'>> =>
  app.call('event.list', after === undefined ? {} : { after });

/** The number of events in the feed. */
const lastPosition = async (): Promise<number> => (await readFeed(app.context.db)).lastPosition;

/** Resolves when the feed has so many events. Returns how long that took, in milliseconds. */
const untilMoved = (events: number): Promise<void> => until(async () => (await lastPosition()) >= events);

describe('the relay', () => {
  test('gives positions without gaps, in which no reader ever sees a later one first, though transactions end in any order', async () => {
    const { db } = app.context;
    for (let n = 0; n < 2; n += 1) aRelay();
    const TRANSACTIONS = 300;
    const records = Array.from({ length: TRANSACTIONS }, () => storedIdToBytes(newId(new Date())));
    let isDone = false;
    const writing = Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        for (let n = writer; n < TRANSACTIONS; n += 16) {
          await db
            .transaction(async (tx) => {
              await recordEvents(tx, [{ type: 'game.created', record: records[n]! }], new Date());
              // It holds a lower number of the outbox than others that commit before it.
              await sleep(n % 7);
              if (n % 10 === 9) throw new Error('rolled back');
            })
            .catch((error: unknown) => {
              if ((error as Error).message !== 'rolled back') throw error;
            });
        }
      }),
    ).finally(() => (isDone = true));
    const positions: number[] = [];
    let cursor: string | undefined;
    while (!isDone || positions.length < TRANSACTIONS - TRANSACTIONS / 10) {
      const page = await list(cursor);
      positions.push(...page.items.map(({ position }) => position));
      cursor = page.nextCursor;
    }
    await writing;
    expect(positions).toEqual(Array.from({ length: TRANSACTIONS * 0.9 }, (_, index) => index + 1));
    await sleep(300);
    expect((await list(cursor)).items).toEqual([]);
  });

  test('moves events within a second', async () => {
    aRelay();
    const user = await app.aUser();
    await untilMoved(1);
    const pauses = jest.spyOn(BackgroundJob.prototype, 'pause');
    try {
      for (let n = 0; n < 10; n += 1) {
        const before = await lastPosition();
        await app.aGame({}, user);
        pauses.mockClear();
        await untilMoved(before + 1);
        // The last pause may begin after it has moved them.
        expect(pauses.mock.calls.slice(0, -1).reduce((sum, [ms]) => sum + ms, 0)).toBeLessThan(1000);
      }
    } finally {
      pauses.mockRestore();
    }
  });

  test('takes the lease of one that ended without a word, after half a second of pauses', async () => {
    const dead = storedIdToBytes(newId(new Date()));
    await app.context.db.transaction((tx) => tx.execute('UPDATE event_feed SET holder = ?', [dead]));
    const pauses = jest.spyOn(BackgroundJob.prototype, 'pause');
    const starts = jest.spyOn(BackgroundJob.prototype, 'start');
    try {
      let slept: number[] | undefined;
      // A pause that began before the event came ends when it comes, however long it was to be.
      const begunAfterwards = (): number[] => {
        const told = starts.mock.invocationCallOrder.at(-1)!;
        return pauses.mock.calls.flatMap(([ms], index) => (pauses.mock.invocationCallOrder[index]! > told ? [ms] : []));
      };
      aRelay(() => (slept ??= begunAfterwards()));
      await until(() => pauses.mock.calls.some(([ms]) => ms > 0));
      await app.aUser();
      await until(() => slept !== undefined);
      expect(starts).toHaveBeenCalledTimes(2);
      expect(slept?.length).toBeGreaterThan(0);
      expect(slept?.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(500);
    } finally {
      jest.restoreAllMocks();
    }
    expect((await readFeed(app.context.db)).holder).not.toBe(idFromBytes(dead));
  });

  test('takes the lease of one that ended without a word, also where only reactions wait', async () => {
    const user = await app.aUser();
    const game = await app.aGame({}, user);
    await app.context.lifecycle.relay.moveNow();
    const before = await lastPosition();
    const dead = storedIdToBytes(newId(new Date()));
    await app.context.db.transaction((tx) => tx.execute('UPDATE event_feed SET holder = ?', [dead]));
    aRelay();
    await app.call('game.toggleFavorite', { gameId: game.id }, user.key);
    await untilMoved(before + 1);
  });

  test('leaves the lease of another one alone while that moves events, and its own when it ends', async () => {
    const first = aRelay();
    await app.aUser();
    await untilMoved(1);
    const { holder } = await readFeed(app.context.db);
    aRelay();
    for (let n = 2; n < 5; n += 1) {
      await app.aUser();
      await untilMoved(n);
      await sleep(900);
      expect((await readFeed(app.context.db)).holder).toBe(holder);
    }
    await first.close();
    await app.aUser();
    await untilMoved(5);
  });

  test('yields to one that took its lease, for a while', async () => {
    const pauses = jest.spyOn(BackgroundJob.prototype, 'pause');
    try {
      const slept: number[] = [];
      aRelay(() => slept.push(pauses.mock.calls.length));
      await app.aUser();
      await until(() => slept.length === 1);
      const other = storedIdToBytes(newId(new Date()));
      await app.context.db.transaction((tx) => tx.execute('UPDATE event_feed SET holder = ?', [other]));
      pauses.mockClear();
      await app.aUser();
      await until(() => slept.length === 2);
      // One that did not yield would move them at once.
      expect(slept[1]).toBeGreaterThan(2);
    } finally {
      pauses.mockRestore();
    }
  });

  test('tells of the reactions to a record once a second at most', async () => {
    aRelay();
    const user = await app.aUser();
    const game = await app.aGame({}, user);
    const began = performance.now();
    let toggles = 0;
    while (performance.now() - began < 3500) {
      await app.call('game.toggleFavorite', { gameId: game.id }, user.key);
      toggles += 1;
    }
    await sleep(1500);
    const { items } = await app.call('event.list', { types: ['game.reactionsChanged'] });
    const seconds = (performance.now() - began) / 1000;
    expect(toggles).toBeGreaterThan(10);
    expect(items.length).toBeGreaterThanOrEqual(2);
    expect(items.length).toBeLessThanOrEqual(seconds + 1);
  });

  test('tells of the reactions to a record after its creation, also where more events wait than it moves at once', async () => {
    const { db, lifecycle } = app.context;
    const user = await app.aUser();
    await lifecycle.relay.moveNow();
    const record = storedIdToBytes(newId(new Date()));
    await db.transaction(async (tx) => {
      for (let n = 0; n < 200; n += 1) await recordEvents(tx, [{ type: 'game.updated', record }], new Date());
    });
    const { id } = await app.aGame({}, user);
    await app.call('game.toggleFavorite', { gameId: id }, user.key);
    await lifecycle.relay.moveNow();
    const { items } = await app.call('event.list', { recordId: id });
    expect(items.map(({ type }) => type)).toEqual(['game.created', 'game.reactionsChanged']);
  });

  test('moves the events of an import in little memory, at the next start', async () => {
    const [EVENTS, TRANSACTIONS] = [3000, 40];
    const { db } = app.context;
    const record = storedIdToBytes(newId(new Date()));
    const changes = Array.from({ length: EVENTS }, () => ({ type: 'game.created' as const, record, actor: record }));
    for (let n = 0; n < TRANSACTIONS; n += 1) await db.transaction((tx) => recordEvents(tx, changes, new Date()));
    const served = await startServe({ url: app.databaseUrl, env: { NODE_OPTIONS: '--max-old-space-size=96' } });
    const ended = once(served.child, 'exit');
    await Promise.race([untilMoved(EVENTS * TRANSACTIONS), ended]);
    expect(await lastPosition()).toBe(EVENTS * TRANSACTIONS);
    expect(await served.stop()).toBe(0);
  });

  test('moves few events at once, however many each transaction of an import has', async () => {
    const { db, log, protection, now } = app.context;
    const changes = Array.from({ length: 3000 }, () => ({
      type: 'game.created' as const,
      record: storedIdToBytes(newId(new Date())),
    }));
    const TRANSACTIONS = 4;
    for (let n = 0; n < TRANSACTIONS; n += 1) await db.transaction((tx) => recordEvents(tx, changes, new Date()));
    let moves = 0;
    const onMoved = (): void => void (moves += 1);
    const relay = new EventRelay(db, { log, now, pause: protection.maintenance, onMoved });
    expect(await relay.moveNow()).toBe(TRANSACTIONS * changes.length);
    expect(moves).toBe(TRANSACTIONS);
    const { items } = await list();
    expect(items[0]?.position).toBe(1);
    expect(await lastPosition()).toBe(TRANSACTIONS * changes.length);
  });

  test('moves nothing while the service takes no writes', async () => {
    const relay = aRelay();
    await app.aUser();
    await untilMoved(1);
    await relay.close();
    relays.splice(0);
    const { db, log, now } = app.context;
    const paused = new EventRelay(db, { log, now, pause: { isPermanent: false, isOn: () => Promise.resolve(true) } });
    relays.push(paused);
    paused.start();
    await app.aUser();
    await sleep(1500);
    expect(await lastPosition()).toBe(1);
  });
});
