import { createHash } from 'node:crypto';
import { eventTypes, scopes } from '../../contract/index.ts';
import { schema } from '../../src/app/schema.ts';
import { createKey } from '../../src/auth/service.ts';
import { currentDate, sleep } from '../../src/base/runtime.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Connection } from '../../src/db/connection.ts';
import { Database } from '../../src/db/database.ts';
import { Snapshot } from '../../src/db/sqlite/files/snapshot.ts';
import { openSqlite } from '../../src/db/sqlite/open.ts';
import { outboxIn } from '../../src/event/outbox/entity.ts';
import { readFeed } from '../../src/event/outbox/feed.ts';
import { deliveriesIn, webhooksIn } from '../../src/event/webhook/entity.ts';
import { Random } from '../../src/testkit/seed/random.ts';
import { createUser } from '../../src/user/service.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient, reasonIn } from '../harness/app/client.ts';
import { WEBHOOK_KEY } from '../harness/app/webhook-key.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';
import { anomaliesIn } from '../histories/checks.ts';
import { type Account, ActiveRecords, follow, readAll, type Reached, Session, Walker } from '../histories/clients.ts';
import type { Anomaly, Entry } from '../histories/history.ts';
import type { Json } from '../histories/session.ts';
import { Endpoints } from './endpoints.ts';
import { Instance } from './instance.ts';
import { Network } from './network.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const USERS = 4;
/** The steps of the client of a user. */
const STEPS = 10;
const INSTANCES = ['one', 'two'];
/** The searches that a caller may make in a minute. */
const SEARCHES = 3;
const RETENTION_DAYS = 30;
/** How long an answer is kept for repetitions. */
const KEPT_MS = DAY_MS;
/** All attempts of a delivery are made by then, and how many these are. */
const LONGEST_DELIVERY_MS = 7 * DAY_MS;
const ATTEMPTS = 10;
/** The time between two sweeps is shorter. */
const SWEEP_MS = 10 * MINUTE_MS;
const PATIENCE_MS = 20 * SECOND_MS;
const FOLLOWER_REST_MS = 400;

const LIVE = 'https://live.example.com/';
const DEAD = 'https://dead.example.com/';
const webhooks = [
  { url: LIVE, types: eventTypes.filter((type) => type !== 'user.created') },
  { url: DEAD, types: ['user.updated'] },
];

const settings = {
  DATABASE_URL: 'sqlite::memory:',
  LOG_LEVEL: 'silent',
  RATE_LIMIT: `search=${SEARCHES}`,
  REQUEST_TIMEOUT_MS: '5000',
  EVENT_RETENTION_DAYS: String(RETENTION_DAYS),
  WEBHOOK_SECRET_KEY: WEBHOOK_KEY,
};

/** Marks the statements in a trace. */
export const STATEMENT = '> ';

type Answered = Ending & { kind: 'answered' };

const outputIn = ({ text }: Answered): Json =>
  (JSON.parse(text) as { result: { data: { json: Json } } }).result.data.json;

/** The tables of a new service, with which each simulation begins. */
export const openBeginning = async (): Promise<Snapshot> => {
  const db = await Database.open('sqlite::memory:', schema);
  await db.migrate();
  const snapshot = new Snapshot(db.dataSource);
  await db.close();
  return snapshot;
};

/** The calls `client:step` and faults `fault:turn` that are left out. */
export type Skipped = ReadonlySet<string>;

/** What happened in a simulation. */
export interface Outcome {
  /** Each statement, fault and call, with its time in milliseconds. */
  trace: string[];
  history: Entry[];
  anomalies: Anomaly[];
  /** The calls and faults that were made, by the names under which they can be left out. */
  items: string[];
  simulatedMs: number;
}

export const hashOf = ({ trace }: Pick<Outcome, 'trace'>): string =>
  createHash('sha256').update(trace.join('\n')).digest('hex').slice(0, 16);

/**
 * Two instances of the service on one database, clients that repeat calls as the SDKs do, and endpoints of webhooks, in one
 * process. Time is virtual. All that differs from one simulation to another follows from a seed: what clients ask, which
 * connections break, how late the database answers, when an instance is killed.
 */
class Simulation {
  readonly #seed: string;
  readonly #skipped: Skipped;
  readonly #world: VirtualWorld;
  readonly #began: number;
  readonly #db: Database;
  readonly #network: Network;
  readonly #endpoints: Endpoints;
  readonly #instances: Instance[];
  readonly #clients: Client[] = [];
  readonly #trace: string[] = [];
  readonly #history: Entry[] = [];
  readonly #anomalies: Anomaly[] = [];
  readonly #items: string[] = [];

  constructor(
    seed: string,
    skipped: Skipped,
    world: VirtualWorld,
    { db, shared }: { db: Database; shared: Connection },
  ) {
    this.#seed = seed;
    this.#skipped = skipped;
    this.#world = world;
    this.#began = world.now;
    this.#db = db;
    const random = new Random(`${seed} delays`);
    this.#network = new Network(random);
    this.#endpoints = new Endpoints(random, this.#history);
    const { deliver } = this.#endpoints;
    const surroundings = { config: readConfig(settings), database: shared, deliver, random, note: this.#noteStatement };
    this.#instances = INSTANCES.map((name) => new Instance(name, surroundings));
  }

  async run(): Promise<Outcome> {
    const accounts = await this.#openAccounts();
    const owner = accounts.pop()!;
    for (const instance of this.#instances) await instance.start();
    const reached: Reached = { open: this.#open, longestRestMs: MINUTE_MS };
    const readers = accounts.map((account, n) => new Session(this.#history, reached, USERS + n, account));
    const client = this.#open(2 * USERS, owner.key);
    await this.#createWebhooks(client, owner);
    const { nextCursor: cursor } = outputIn(await this.#call(client, 'event.list', {})) as { nextCursor: string };
    await this.#callUnderFaults(accounts, reached);
    await this.#useUpQuota(client);
    await this.#passDays(client);
    await this.#checkWebhooks(client);
    await readAll(readers, 0);
    await this.#passMonth(client, cursor);
    this.#anomalies.push(...anomaliesIn(this.#history));
    for (const { client: number, operation, call, return: end, outcome, reason, attempts, answer } of this.#history)
      this.#trace.push(`${call}–${end} ${number} ${operation} ${outcome} ${reason} ${attempts} ${answer}`);
    return {
      trace: this.#trace,
      history: this.#history,
      anomalies: this.#anomalies,
      items: this.#items,
      simulatedMs: this.#world.now - this.#began,
    };
  }

  /** Ends all that still runs. */
  close(): void {
    for (const instance of this.#instances) this.#kill(instance);
    for (const client of this.#clients) client.close();
  }

  readonly #note = (line: string): void => {
    this.#trace.push(`${(this.#world.now - this.#began).toFixed(2)} ${line}`);
  };

  readonly #noteStatement = (text: string): void => this.#note(`${STATEMENT}${text}`);

  #found(check: string, found: string): void {
    this.#anomalies.push({ check, found, entries: [] });
  }

  /** A client, which goes to the next instance when its connection breaks. */
  readonly #open = (client: number, key?: string): Client => {
    let turn = client;
    const connect = () => this.#network.connect(this.#instances[turn++ % INSTANCES.length]!, `10.0.0.${client + 1}`);
    const opened = openClient('http://content.test', key, { patienceMs: PATIENCE_MS, connect });
    this.#clients.push(opened);
    return opened;
  };

  /** Calls until it is answered, as the SDKs do. */
  async #call(client: Client, operation: ProcedureId, input: object, key?: string): Promise<Answered> {
    for (;;) {
      const ending = await client.call(operation, input, key === undefined ? {} : { 'Idempotency-Key': key });
      if (ending.kind === 'answered' && (ending.status < 500 || ending.headers['x-should-retry'] === 'false'))
        return ending;
      await sleep(SECOND_MS / 10);
    }
  }

  /** Users with keys. The last one has the webhooks, and is no client of the history. */
  async #openAccounts(): Promise<Account[]> {
    const accounts: Account[] = [];
    for (let n = 0; n <= USERS; n += 1) {
      const id = await createUser(this.#db, `user ${n}`, currentDate());
      const wanted = { userId: id, name: 'simulation', scopes, expiresAt: null };
      accounts.push({ id, key: (await createKey(this.#db, wanted, currentDate())).key });
    }
    return accounts;
  }

  async #createWebhooks(client: Client, { id: user }: Account): Promise<void> {
    for (const { url, types } of webhooks) {
      const { id } = outputIn(await this.#call(client, 'webhook.create', { url, types }, url));
      // An answer that is lost takes the secret with it.
      let secret: string | null = null;
      for (let n = 0; secret === null; n += 1) {
        const rotated = await this.#call(client, 'webhook.rotateSecret', { id }, `${url} ${n}`);
        ({ secret } = outputIn(rotated) as { secret: string | null });
      }
      this.#endpoints.subscribe(url, { user, types, secret, isDead: url === DEAD });
    }
    // They get what happens once they have answered the challenge.
    await sleep(5 * SECOND_MS);
  }

  /** Has clients call while things go wrong. In the end nothing does. */
  async #callUnderFaults(accounts: readonly Account[], reached: Reached): Promise<void> {
    const records = new ActiveRecords();
    let isOver = false;
    const follower = new Session(this.#history, reached, 3 * USERS);
    const others = [this.#injectFaults(() => isOver), follow(follower, undefined, () => isOver, FOLLOWER_REST_MS)];
    await Promise.all(
      accounts.map(async (account, client) => {
        const walker = new Walker(this.#history, reached, records, client, account, this.#seed);
        for (let step = 0; step < STEPS; step += 1) {
          if (this.#takes(`${client}:${step}`)) await walker.step();
          else walker.skip();
        }
      }),
    );
    isOver = true;
    await Promise.all(others);
  }

  #takes(item: string): boolean {
    if (this.#skipped.has(item)) return false;
    this.#items.push(item);
    return true;
  }

  async #injectFaults(isOver: () => boolean): Promise<void> {
    for (let turn = 0; !isOver(); turn += 1) {
      const random = new Random(`${this.#seed} fault ${turn}`);
      await sleep(random.between(50, 500));
      if (!isOver() && this.#takes(`fault:${turn}`)) await this.#injectFault(random);
    }
    for (const instance of this.#instances) instance.skewMs = 0;
  }

  async #injectFault(random: Random): Promise<void> {
    const instance = random.pick(this.#instances);
    const fault = random.pick(['kill', 'stall', 'unreachable', 'cut', 'hold', 'skew', 'suspend'] as const);
    // Some are longer than calls and statements may take.
    const ms = random.pick([random.between(10, 300), random.between(300, 7000)]);
    this.#note(`${fault} ${instance.name} ${ms}`);
    switch (fault) {
      case 'kill':
        this.#kill(instance);
        await sleep(ms);
        return instance.start();
      case 'stall':
      case 'unreachable':
        return instance.link?.fail(fault, ms);
      case 'cut':
        return this.#network.cut(instance);
      case 'hold':
        return this.#network.hold(instance, ms);
      case 'skew':
        instance.skewMs = random.between(-2000, 2000);
        return;
      case 'suspend':
        // The whole machine sleeps, longer than a lease lasts at times.
        this.#world.leap(10 * ms);
    }
  }

  #kill(instance: Instance): void {
    instance.kill();
    this.#network.cut(instance);
  }

  /** A caller who uses up a quota is refused with the time to wait, and served after that. */
  async #useUpQuota(client: Client): Promise<void> {
    const search = (): Promise<Answered> => this.#call(client, 'user.search', { query: 'user', limit: 1 });
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
  async #passDays(client: Client): Promise<void> {
    const rename = (nickname: string, key: string) => this.#call(client, 'user.updateProfile', { nickname }, key);
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
  async #checkWebhooks(client: Client): Promise<void> {
    const { items } = outputIn(await this.#call(client, 'webhook.list', {})) as {
      items: { url: string; state: string }[];
    };
    for (const { url, state } of items)
      if (state !== (url === DEAD ? 'paused' : 'active')) this.#found('webhooks', `${url} is ${state}`);
    const attempts = this.#endpoints.attempts(DEAD);
    if (attempts < ATTEMPTS) this.#found('webhooks', `${DEAD} was tried ${attempts} times`);
  }

  /** Lets a month pass, after which nothing is left of what is kept for a time. */
  async #passMonth(client: Client, cursor: string): Promise<void> {
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
    const reason = reasonIn(await this.#call(client, 'event.list', { after: cursor }));
    if (reason !== 'EVENTS_GONE') this.#found('sweeps', `a cursor of the feed from a month ago got ${reason}`);
  }
}

/** Simulates a seed to its end. */
export const simulate = async (seed: string, beginning: Snapshot, skipped: Skipped = new Set()): Promise<Outcome> => {
  const world = new VirtualWorld(seed);
  try {
    const shared = await openSqlite('sqlite::memory:', schema);
    beginning.fill(shared.dataSource);
    const db = await Database.open('sqlite::memory:', schema, { connect: () => Promise.resolve(shared) });
    const simulation = new Simulation(seed, skipped, world, { db, shared });
    const outcome = await world.settled(simulation.run());
    simulation.close();
    await world.settled(shared.close());
    return outcome;
  } finally {
    world.end();
  }
};
