import { sleep } from '../../src/base/runtime.ts';
import type { Database } from '../../src/db/database.ts';
import { outboxIn } from '../../src/event/outbox/entity.ts';
import { readFeed } from '../../src/event/outbox/feed.ts';
import { deliveriesIn, webhooksIn } from '../../src/event/webhook/entity.ts';
import { type Client, reasonIn } from '../harness/app/client.ts';
import type { VirtualWorld } from '../harness/virtual-world.ts';
import type { Anomaly } from '../histories/history.ts';
import { type Answered, callUntilAnswered, outputIn } from './calls.ts';
import { DEAD, type Endpoints } from './endpoints.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The searches that a caller may make in a minute. */
export const SEARCHES = 3;
export const RETENTION_DAYS = 30;
/** How long an answer is kept for repetitions. */
const KEPT_MS = DAY_MS;
/** All attempts of a delivery are made by then, and how many these are. */
const LONGEST_DELIVERY_MS = 7 * DAY_MS;
const ATTEMPTS = 10;
/** The time between two sweeps is shorter. */
const SWEEP_MS = 10 * MINUTE_MS;

/** Lets minutes, days and a month pass by leaps, and checks what the service does after such a time. */
export class LongRun {
  readonly #world: VirtualWorld;
  readonly #db: Database;
  readonly #endpoints: Endpoints;
  readonly #client: Client;
  readonly anomalies: Anomaly[] = [];

  /** `client` is that of the user who has the webhooks. */
  constructor(world: VirtualWorld, db: Database, endpoints: Endpoints, client: Client) {
    this.#world = world;
    this.#db = db;
    this.#endpoints = endpoints;
    this.#client = client;
  }

  /** A caller who uses up a quota is refused with the time to wait, and served after that. */
  async useUpQuota(): Promise<void> {
    const search = (): Promise<Answered> => callUntilAnswered(this.#client, 'user.search', { query: 'user', limit: 1 });
    let last = await search();
    // Each instance counts by itself, and a connection may break.
    for (let n = 0; n < 2 * SEARCHES && last.status === 200; n += 1) last = await search();
    const seconds = Number(last.retryAfter);
    if (last.status !== 429 || !(seconds >= 1 && seconds <= 60))
      this.#found('quotas', `${2 * SEARCHES} searches ended with ${last.status} and Retry-After ${last.retryAfter}`);
    this.#world.leap(seconds * SECOND_MS);
    const { status } = await search();
    if (status !== 200) this.#found('quotas', `a search after the time to wait got ${status}`);
  }

  /** Lets days pass until all deliveries have ended. Within them, an answer is kept for a day. */
  async passDays(): Promise<void> {
    const rename = (nickname: string, key: string) =>
      callUntilAnswered(this.#client, 'user.updateProfile', { nickname }, key);
    const began = this.#world.now;
    const first = await rename('kept for a day', 'first');
    await rename('changed since', 'second');
    const moments = [KEPT_MS - HOUR_MS / 10, KEPT_MS + HOUR_MS / 10];
    while (this.#world.now - began < LONGEST_DELIVERY_MS) {
      const next = await this.#nextDelivery();
      const moment = began + (moments[0] ?? Number.POSITIVE_INFINITY);
      if (Math.min(next, moment) === Number.POSITIVE_INFINITY) return;
      if (next <= moment) {
        // Beyond it, so that what is due at about that time goes together.
        await this.#leapTo(next + Math.max(0, next - this.#world.now) * 0.2);
        await sleep(SECOND_MS / 4);
        continue;
      }
      moments.shift();
      await this.#leapTo(moment);
      const { text, headers } = await rename('kept for a day', 'first');
      const isKept = headers['idempotency-replayed'] === 'true' && text === first.text;
      if (isKept !== moment - began < KEPT_MS)
        this.#found('kept answers', `${isKept ? 'are' : 'are not'} there ${(moment - began) / HOUR_MS} hours later`);
    }
    this.#found('webhooks', 'deliveries have not ended after a week');
  }

  #found(check: string, found: string): void {
    this.anomalies.push({ check, found, entries: [] });
  }

  /** Lets the machine sleep until a time. */
  async #leapTo(time: number): Promise<void> {
    if (time > this.#world.now) this.#world.leap(time - this.#world.now);
    await sleep(1);
  }

  /** When something is to be delivered next; infinite if never. */
  async #nextDelivery(): Promise<number> {
    const active = await webhooksIn(this.#db).find({ where: { state: 'active' } });
    const { lastPosition } = await readFeed(this.#db);
    const isBehind = active.some(({ position }) => position < lastPosition) || (await outboxIn(this.#db).exists());
    if (isBehind) return this.#world.now;
    const waiting = await deliveriesIn(this.#db).find({ where: { state: 'waiting' } });
    const due = active.filter(({ id }) => waiting.some(({ webhookId }) => webhookId === id));
    return Math.min(...due.map(({ nextAt }) => nextAt.getTime()));
  }

  /** Of two webhooks, that of the endpoint that takes nothing is paused by now, after all its attempts. */
  async checkWebhooks(): Promise<void> {
    const { items } = outputIn(await callUntilAnswered(this.#client, 'webhook.list', {})) as {
      items: { url: string; state: string }[];
    };
    for (const { url, state } of items)
      if (state !== (url === DEAD ? 'paused' : 'active')) this.#found('webhooks', `${url} is ${state}`);
    const attempts = this.#endpoints.attempts(DEAD);
    if (attempts < ATTEMPTS) this.#found('webhooks', `${DEAD} was tried ${attempts} times`);
  }

  /** Lets a month pass, after which nothing is left of what is kept for a time. */
  async passMonth(cursor: string): Promise<void> {
    this.#endpoints.isSound = true;
    for (let next = await this.#nextDelivery(); next < Number.POSITIVE_INFINITY; next = await this.#nextDelivery()) {
      await this.#leapTo(next);
      await sleep(SECOND_MS / 4);
    }
    await this.#leapTo(this.#world.now + (RETENTION_DAYS + 1) * DAY_MS);
    // What is delivered only now goes with a later sweep.
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await sleep(SECOND_MS / 2);
      await this.#leapTo(this.#world.now + SWEEP_MS);
    }
    await sleep(SECOND_MS / 2);
    // What waits for a webhook that is paused goes on with it.
    const kept = ['events', 'idempotency_records', 'failed_calls', "webhook_deliveries WHERE state <> 'waiting'"];
    for (const table of kept) {
      const [row] = await this.#db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`);
      if (row!.n > 0) this.#found('sweeps', `${table}: ${row!.n} rows are still there`);
    }
    const reason = reasonIn(await callUntilAnswered(this.#client, 'event.list', { after: cursor }));
    if (reason !== 'EVENTS_GONE') this.#found('sweeps', `a cursor of the feed from a month ago got ${reason}`);
  }
}
