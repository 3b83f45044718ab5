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
import { Random } from '../../src/sandbox/seed/random.ts';
import { createUser } from '../../src/user/service.ts';
import { type Client, openClient } from '../harness/app/client.ts';
import { WEBHOOK_KEY } from '../harness/app/webhook-key.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';
import { anomaliesIn } from '../histories/checks.ts';
import { type Account, ActiveRecords, follow, readAll, type Reached, Session, Walker } from '../histories/clients.ts';
import type { Anomaly, Entry } from '../histories/history.ts';
import { callUntilAnswered, outputIn } from './calls.ts';
import { DEAD, Endpoints, LIVE } from './endpoints.ts';
import { Instance } from './instance.ts';
import { LongRun, RETENTION_DAYS, SEARCHES } from './long-run.ts';
import { Network } from './network.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

const USERS = 4;
/** The steps of the client of a user. */
const STEPS = 10;
const INSTANCES = ['one', 'two'];
const PATIENCE_MS = 20 * SECOND_MS;
const FOLLOWER_REST_MS = 400;

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
    const { nextCursor: cursor } = outputIn(await callUntilAnswered(client, 'event.list', {})) as {
      nextCursor: string;
    };
    await this.#callUnderFaults(accounts, reached);
    const longRun = new LongRun(this.#world, this.#db, this.#endpoints, client);
    await longRun.useUpQuota();
    await longRun.passDays();
    await longRun.checkWebhooks();
    await readAll(readers, 0);
    await longRun.passMonth(cursor);
    for (const { client: number, operation, call, return: end, outcome, reason, attempts, answer } of this.#history)
      this.#trace.push(`${call}–${end} ${number} ${operation} ${outcome} ${reason} ${attempts} ${answer}`);
    return {
      trace: this.#trace,
      history: this.#history,
      anomalies: [...longRun.anomalies, ...anomaliesIn(this.#history)],
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

  /** A client, which goes to the next instance when its connection breaks. */
  readonly #open = (client: number, key?: string): Client => {
    let turn = client;
    const connect = () => this.#network.connect(this.#instances[turn++ % INSTANCES.length]!, `10.0.0.${client + 1}`);
    const opened = openClient('http://content.test', key, { patienceMs: PATIENCE_MS, connect });
    this.#clients.push(opened);
    return opened;
  };

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
      const { id } = outputIn(await callUntilAnswered(client, 'webhook.create', { url, types }, url));
      // An answer that is lost takes the secret with it.
      let secret: string | null = null;
      for (let n = 0; secret === null; n += 1) {
        const rotated = await callUntilAnswered(client, 'webhook.rotateSecret', { id }, `${url} ${n}`);
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
