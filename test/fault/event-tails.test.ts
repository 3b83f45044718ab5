/**
 * @engines mariadb
 * @tier fault
 * @needs haproxy
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Output } from '../harness/app/app.ts';
import { openClient } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type PrintedBalancer, startHaproxy } from '../harness/faults/haproxy.ts';
import { startWriters } from '../harness/faults/writers.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { type EventStream, openEventStream } from '../harness/http/event-stream.ts';
import { aKey } from '../harness/http/load.ts';
import { quantile } from '../harness/quantile.mjs';
import { startTurns, turnsIn } from '../harness/faults/turns.ts';
import { until } from '../harness/until.ts';

type EventItem = Output<'event.list'>['items'][number];

const CLIENTS = 20;
const DISCONNECTS = 600;
const TAILS = 1000;
const IDLE_MS = 10_000;
const CLOCK_TICKS = 100;
const MIB = 2 ** 20;

let database: TestDatabase;
let served: ServeProcess[] = [];
let balancer: PrintedBalancer | undefined;

/** The positions that a client got which connects again and again. */
class Resumer {
  readonly positions: number[] = [];
  disconnects = 0;
  #lastId: string | undefined;
  #stream: EventStream | undefined;
  #isStopped = false;

  async run(base: string): Promise<void> {
    while (!this.#isStopped) {
      const options = { input: { start: 'earliest' }, lastEventId: this.#lastId };
      const stream = await openEventStream(base, options).catch(() => undefined);
      if (!stream || stream.response.statusCode !== 200) {
        await sleep(50);
        continue;
      }
      this.#stream = stream;
      stream.onMessage(({ event, data, id }) => {
        this.#lastId = id ?? this.#lastId;
        if (event === 'message') this.positions.push((JSON.parse(data) as { json: EventItem }).json.position);
      });
      await stream.ended;
      await sleep(Math.min(stream.retry() ?? 0, 200));
    }
  }

  breakOff(): void {
    if (!this.#stream) return;
    this.#stream.close();
    this.#stream = undefined;
    this.disconnects += 1;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stream?.close();
  }
}

/** The memory of a process in bytes, and the time that it has used of a core, in milliseconds. */
const usageOf = (pid: number): { rss: number; cpuMs: number } => {
  const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return { rss, cpuMs: ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS };
};

describe('tails of events', () => {
  afterEach(async () => {
    await balancer?.close();
    balancer = undefined;
    await Promise.all(served.map((one) => one.stop('SIGKILL')));
    served = [];
    await database.drop();
  });

  test('miss and repeat nothing after hundreds of disconnects, across two instances and a restart of both', async () => {
    database = await createDatabase();
    const key = await aKey(database.url);
    const ports = await freePorts(2);
    const start = (port: number): Promise<ServeProcess> =>
      startServe({ url: database.url, env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', PORT: String(port) } });
    served = await Promise.all(ports.map(start));
    balancer = await startHaproxy(ports);
    const { url } = balancer;
    const resumers = Array.from({ length: CLIENTS }, () => new Resumer());
    const running = resumers.map((one) => one.run(url));
    const writers = startWriters(url, key, { count: 4, obedient: true, restMs: 20 });
    const disconnected = (): number => resumers.reduce((sum, { disconnects }) => sum + disconnects, 0);
    for (let turn = 0; disconnected() < DISCONNECTS; turn += 1) {
      resumers[turn % CLIENTS]!.breakOff();
      await sleep(5 + (turn % 7) * 3);
      if (turn === 200 || turn === 400) {
        const index = turn / 200 - 1;
        await served[index]!.stop('SIGTERM');
        served[index] = await start(ports[index]!);
      }
    }
    await writers.stop();
    const client = openClient(url);
    const ending = await client.call('event.list', { limit: 1 });
    client.close();
    expect(ending.kind).toBe('answered');
    const last = (): number => Math.max(...resumers.map(({ positions }) => positions.at(-1) ?? 0));
    // All have what the first has, and that is all that was acknowledged.
    await until(
      () => {
        const count = last();
        return count >= writers.acknowledged.size && resumers.every(({ positions }) => positions.length >= count);
      },
      { withinMs: Number.POSITIVE_INFINITY },
    );
    for (const one of resumers) one.stop();
    await Promise.all(running);
    const count = last();
    const all = Array.from({ length: count }, (_, index) => index + 1);
    for (const { positions } of resumers) expect(positions).toEqual(all.slice(0, positions.length));
  });

  test('cost little while nothing happens, and get an event at once', async () => {
    database = await createDatabase();
    const key = await aKey(database.url);
    served = [await startServe({ url: database.url, env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off' } })];
    const { base, child } = served[0]!;
    const pid = child.pid!;
    const client = openClient(base, key);
    for (let n = 0; n < 50; n += 1) await client.call('game.create', { title: `before ${n}` });
    await sleep(2000);
    const alone = usageOf(pid);
    await sleep(IDLE_MS);
    const idle = usageOf(pid);

    const openMore = async (): Promise<EventStream[]> => {
      const opened: EventStream[] = [];
      while (opened.length < TAILS) {
        opened.push(...(await Promise.all(Array.from({ length: 50 }, () => openEventStream(base)))));
      }
      await until(() => opened.every(({ messages }) => messages.length > 0));
      await sleep(2000);
      return opened;
    };
    const streams = await openMore();
    const before = usageOf(pid);
    await sleep(IDLE_MS);
    const after = usageOf(pid);

    const turns = await startTurns();
    const worst: number[] = [];
    for (let n = 0; n < 10; n += 1) {
      const counted = streams.map(({ messages }) => messages.length);
      const ending = await client.call('game.create', { title: `event ${n}` });
      expect(ending.kind === 'answered' && ending.status).toBe(200);
      const acknowledgedAt = performance.now();
      const isTold = ({ messages }: EventStream, index: number): boolean =>
        messages.slice(counted[index]).some(({ event }) => event === 'message');
      await until(() => streams.every(isTold), { withinMs: Number.POSITIVE_INFINITY, everyMs: 5 });
      worst.push(turns.between(acknowledgedAt, performance.now()));
    }
    // The first ones found room in the garbage of the start.
    const { rss } = usageOf(pid);
    const more = await openMore();
    const memory = (usageOf(pid).rss - rss) / MIB;
    for (const stream of [...streams, ...more]) stream.close();
    client.close();

    const share = (after.cpuMs - before.cpuMs - (idle.cpuMs - alone.cpuMs)) / IDLE_MS;
    expect(memory).toBeLessThan(60);
    // If each asked once a second, it would be half a core.
    expect(share).toBeLessThan(0.1);
    expect(quantile(worst, 0.5)).toBeLessThan(turnsIn(500));
  });
});
