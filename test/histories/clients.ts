import { scopes } from '../../contract/index.ts';
import { sleep } from '../../src/base/runtime.ts';
import { createKey } from '../../src/auth/service.ts';
import { Random } from '../../src/testkit/seed/random.ts';
import { createUser } from '../../src/user/service.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient, reasonIn } from '../harness/app/client.ts';
import { stopAfterTest } from '../harness/faults/running.ts';
import { withDatabase } from '../harness/http/load.ts';
import { until } from '../harness/until.ts';
import { type Entry, hashOf, microseconds, outcomeOf, type Seen, type SeenEvent } from './history.ts';

// Clients of several users, which call through HTTP alone and note each call and its answer.

const USERS = 4;
const CLIENTS = 12;
/** Records that clients work on at a time, of each kind: few, so that they meet. */
const ACTIVE = 3;
/** The calls after which a record is left alone: the search for an order takes longer with each open outcome. */
const USES = 150;
/** The records of a tag, which clients walk. */
const WAVE = 40;
const PATIENCE_MS = 20_000;
const LONGEST_REST_MS = 500;
const REST_AFTER_BREAK_MS = 50;
/** The pause of a follower at the end of the feed. */
const FOLLOWER_REST_MS = 50;
/** The records of a page of a walk: the records of a tag take some pages. */
const PAGE = 10;
const LARGE_PAGE = 100;
/** More of the events that a filter leaves wait than a page holds. */
const SHORT_PAGE = 2;

export interface Account {
  id: string;
  key: string;
}

/** New users with keys of all scopes; the database is migrated first. */
export const openAccounts = (url: string): Promise<Account[]> =>
  withDatabase(url, async (db) => {
    await db.migrate();
    const now = new Date();
    return Promise.all(
      Array.from({ length: USERS }, async (_, n) => {
        const id = await createUser(db, `user ${n}`, now);
        const { key } = await createKey(db, { userId: id, name: 'histories', scopes, expiresAt: null }, now);
        return { id, key };
      }),
    );
  });

type Json = Record<string, unknown>;
type Kind = 'game' | 'image';
const kinds: readonly Kind[] = ['game', 'image'];

const members = [
  'id',
  'title',
  'nickname',
  'gameType',
  'favorited',
  'reaction',
  'favoriteCount',
  'likeCount',
  'dislikeCount',
  'gameCount',
  'imagePostCount',
  'updatedAt',
  'viewer',
] as const;

const seenIn = (json: Json): Seen => {
  const { images, author, title } = json as { images?: string[]; author?: { id: string }; title?: string };
  const mark = images?.[0] ?? title;
  return {
    ...Object.fromEntries(members.filter((name) => json[name] !== undefined).map((name) => [name, json[name]])),
    ...(mark !== undefined && { mark }),
    ...(author && { authorId: author.id }),
  };
};

const eventsIn = (items: readonly Json[]): SeenEvent[] =>
  items.map(({ id, position, type, record, actorId }) => ({
    id: id as string,
    position: position as number,
    type: type as string,
    record: (record as { id: string }).id,
    actorId: actorId as string | null,
  }));

const isWorthRepeating = (ending: Ending): boolean => {
  if (ending.kind !== 'answered') return true;
  const advice = ending.headers['x-should-retry'];
  return advice === undefined ? ending.status === 503 || ending.status === 429 : advice === 'true';
};

const restAfter = (ending: Ending, longestMs: number): number => {
  const seconds = ending.kind === 'answered' ? Number(ending.retryAfter) : Number.NaN;
  return Number.isNaN(seconds) ? REST_AFTER_BREAK_MS : Math.min(seconds * 1000, longestMs);
};

/** How clients reach the service. */
export interface Reached {
  open: (client: number, key?: string) => Client;
  /** The longest pause after a refusal, which may ask for more. */
  longestRestMs: number;
}

/** The service at an address: refused calls are sent again early, since the test waits. */
const reachedAt = (base: string): Reached => ({
  open: (_client, key) => openClient(base, key, { patienceMs: PATIENCE_MS }),
  longestRestMs: LONGEST_REST_MS,
});

interface Performance extends Pick<Entry, 'record' | 'mark' | 'key' | 'repeats' | 'quiet'> {
  /** Whether it is repeated until it is answered, as reads may be. */
  isPatient?: boolean;
  /** Whether it is left to the caller to note it. */
  isUnnoted?: boolean;
}

/** The answer of a call that succeeded, and its entry. */
interface Answered {
  entry: Entry;
  json: Json;
}

/** One caller, who sends one call after the other. */
export class Session {
  readonly client: number;
  readonly user: string;
  readonly #http: Client;
  readonly #history: Entry[];
  readonly #longestRestMs: number;
  #isClosed = false;

  constructor(history: Entry[], { open, longestRestMs }: Reached, client: number, account?: Account) {
    this.client = client;
    this.user = account?.id ?? '';
    this.#history = history;
    this.#http = open(client, account?.key);
    this.#longestRestMs = longestRestMs;
  }

  /** Makes a call, again and again under its key until it is answered, and notes it. Undefined unless it succeeded. */
  async perform(
    operation: ProcedureId,
    input: Json,
    { isPatient = false, isUnnoted = false, ...about }: Performance = {},
  ): Promise<Answered | undefined> {
    const call = microseconds();
    let isUnknown = false;
    for (let attempts = 1; ; attempts += 1) {
      const ending = await this.#http.call(
        operation,
        input,
        about.key === undefined ? undefined : { 'Idempotency-Key': about.key },
      );
      const reason = reasonIn(ending);
      const outcome = outcomeOf(ending, reason);
      isUnknown ||= outcome === 'unknown';
      if (outcome !== 'ok' && (about.key !== undefined || isPatient) && isWorthRepeating(ending) && !this.#isClosed) {
        await sleep(restAfter(ending, this.#longestRestMs));
        continue;
      }
      const entry: Entry = {
        client: this.client,
        operation,
        user: this.user,
        input,
        ...about,
        call,
        return: microseconds(),
        attempts,
        outcome: outcome === 'refused' && isUnknown ? 'unknown' : outcome,
        reason,
      };
      if (!isUnnoted) this.#history.push(entry);
      if (outcome !== 'ok' || ending.kind !== 'answered') {
        if (ending.kind !== 'answered' || ending.status >= 500) await sleep(restAfter(ending, this.#longestRestMs));
        return undefined;
      }
      const { json } = (JSON.parse(ending.text) as { result: { data: { json: Json } } }).result.data;
      if (about.key !== undefined) {
        entry.answer = hashOf(ending.text);
        entry.isReplayed = ending.headers['idempotency-replayed'] === 'true';
      }
      return { entry, json };
    }
  }

  /** The same, where the answer shows one record or user. */
  async show(operation: ProcedureId, input: Json, about: Performance = {}): Promise<Entry | undefined> {
    const answered = await this.perform(operation, input, about);
    if (!answered) return undefined;
    const { entry, json } = answered;
    entry.output = seenIn(json);
    return entry;
  }

  /** Walks a list to its end, which is one entry. Returns the entry and the records. */
  async walk(kind: Kind, input: Json, about: Performance = {}): Promise<{ entry: Entry; items: Json[] } | undefined> {
    const items: Json[] = [];
    let entry: Entry | undefined;
    for (let cursor: string | null = ''; cursor !== null;) {
      const place = cursor === '' ? { page: 1 } : { cursor };
      const unnoted = { ...about, isPatient: true, isUnnoted: true };
      const answered = await this.perform(`${kind}.list`, { ...input, ...place }, unnoted);
      if (!answered) return undefined;
      items.push(...(answered.json['items'] as Json[]));
      cursor = answered.json['nextCursor'] as string | null;
      entry = { ...(entry ?? answered.entry), return: answered.entry.return };
    }
    if (!entry) return undefined;
    entry = { ...entry, input, walked: items.map(({ id }) => id as string) };
    this.note(entry);
    return { entry, items };
  }

  /** Reads a page of the feed, and notes its events. */
  async readEvents(
    input: Json,
    about: Performance = {},
  ): Promise<{ cursor: string; hasMore: boolean; entry: Entry } | undefined> {
    const answered = await this.perform('event.list', input, { ...about, isPatient: true });
    if (!answered) return undefined;
    const { entry, json } = answered;
    entry.events = eventsIn(json['items'] as Json[]);
    return { cursor: json['nextCursor'] as string, hasMore: json['hasMore'] as boolean, entry };
  }

  note(entry: Entry): void {
    this.#history.push(entry);
  }

  close(): void {
    this.#isClosed = true;
    this.#http.close();
  }
}

interface ActiveRecord {
  id: string;
  ownerId: string;
  uses: number;
}

/** The records that clients know and work on. */
export class ActiveRecords {
  readonly #records: Record<Kind, ActiveRecord[]> = { game: [], image: [] };
  #created = 0;

  lacks(kind: Kind): boolean {
    return this.#records[kind].length < ACTIVE;
  }

  add(kind: Kind, id: string, ownerId: string): void {
    if (this.lacks(kind)) this.#records[kind].push({ id, ownerId, uses: 0 });
  }

  /** Any of a kind, rather one of an owner who is named. */
  take(kind: Kind, random: Random, ownerId?: string): string | undefined {
    const all = this.#records[kind];
    if (all.length === 0) return undefined;
    const own = all.filter((record) => record.ownerId === ownerId);
    const record = random.pick(own.length > 0 ? own : all);
    record.uses += 1;
    if (record.uses >= USES) all.splice(all.indexOf(record), 1);
    return record.id;
  }

  nextTag(): string {
    this.#created += 1;
    return this.tag;
  }

  get tag(): string {
    return `wave-${Math.floor(this.#created / WAVE)}`;
  }
}

/** A client: it takes one step after the other, as its random numbers say. */
export class Walker {
  readonly #random: Random;
  readonly #session: Session;
  readonly #anonymous: Session;
  readonly #records: ActiveRecords;
  readonly #name: string;
  /** Clients of one user use different keys, those of different users the same ones. */
  readonly #seat: number;
  #n = 0;
  #last: { operation: ProcedureId; input: Json; about: Performance } | undefined;

  constructor(
    history: Entry[],
    reached: Reached,
    records: ActiveRecords,
    client: number,
    account: Account,
    seed: string,
  ) {
    this.#random = new Random(`${seed} ${client}`);
    this.#session = new Session(history, reached, client, account);
    this.#anonymous = new Session(history, reached, client);
    this.#records = records;
    this.#name = `${client}`;
    this.#seat = Math.floor(client / USERS);
  }

  close(): void {
    this.#session.close();
    this.#anonymous.close();
  }

  async step(): Promise<void> {
    const lacking = kinds.filter((kind) => this.#records.lacks(kind));
    if (lacking.length > 0 && this.#random.chance(0.3)) return this.#create(this.#random.pick(lacking));
    const kind = this.#random.pick(kinds);
    const steps: readonly [number, () => Promise<void>][] = [
      [30, () => this.#read(kind, this.#session)],
      [12, () => this.#read(kind, this.#anonymous)],
      [18, () => this.#toggle(kind, 'toggleFavorite', {})],
      [18, () => this.#toggle(kind, 'toggleReaction', { type: this.#random.pick(['like', 'dislike']) })],
      [8, () => this.#update()],
      [2, () => this.#rename()],
      [4, () => this.#profile()],
      [3, () => this.#create(kind)],
      [1, () => this.#walk(kind)],
      [4, () => this.#repeat()],
    ];
    let drawn = this.#random.between(
      1,
      steps.reduce((sum, [weight]) => sum + weight, 0),
    );
    for (const [weight, step] of steps) {
      drawn -= weight;
      if (drawn <= 0) return step();
    }
  }

  /** Most writes have a key, and are repeated until they are answered; the others are sent once. */
  async #write(
    operation: ProcedureId,
    input: Json,
    about: Performance,
    { isOnce = false } = {},
  ): Promise<Entry | undefined> {
    this.#n += 1;
    const hasKey = isOnce || this.#random.chance(0.75);
    const entry = await this.#session.show(operation, input, {
      ...about,
      ...(hasKey && { key: `${this.#seat}-${this.#n}` }),
    });
    if (entry && hasKey) this.#last = { operation, input, about: { ...about, key: `${this.#seat}-${this.#n}` } };
    return entry;
  }

  async #create(kind: Kind): Promise<void> {
    const title = `${kind} ${this.#name}-${this.#n + 1}`;
    const image = `https://images.example.com/${this.#name}-${this.#n + 1}.png`;
    const tagNames = [this.#records.nextTag()];
    const input =
      kind === 'game'
        ? { title, tagNames, gameType: `T${this.#random.between(0, 2)}` }
        : { title, tagNames, images: [image] };
    const entry = await this.#write(`${kind}.create`, input, { mark: kind === 'game' ? title : image });
    if (!entry?.output?.id) return;
    entry.record = entry.output.id;
    this.#records.add(kind, entry.record, this.#session.user);
  }

  async #read(kind: Kind, session: Session): Promise<void> {
    const id = this.#records.take(kind, this.#random);
    if (id !== undefined) await session.show(`${kind}.getById`, { id }, { record: id });
  }

  async #toggle(kind: Kind, name: 'toggleFavorite' | 'toggleReaction', more: Json): Promise<void> {
    const id = this.#records.take(kind, this.#random);
    if (id === undefined) return;
    await this.#write(`${kind}.${name}`, { [kind === 'game' ? 'gameId' : 'imagePostId']: id, ...more }, { record: id });
  }

  async #update(): Promise<void> {
    const id = this.#records.take('image', this.#random, this.#session.user);
    if (id === undefined) return;
    await this.#write('image.update', { id, title: `title ${this.#name}-${this.#n + 1}` }, { record: id });
  }

  /** Names are never left open: users are the same all the time. */
  async #rename(): Promise<void> {
    const nickname = `name ${this.#name}-${this.#n + 1}`;
    await this.#write('user.updateProfile', { nickname }, { record: this.#session.user }, { isOnce: true });
  }

  async #profile(): Promise<void> {
    const session = this.#random.pick([this.#session, this.#anonymous]);
    await session.show('user.getProfile', { id: this.#session.user }, { record: this.#session.user });
  }

  async #walk(kind: Kind): Promise<void> {
    const sorts = kind === 'game' ? ['latest', 'oldest'] : ['latest'];
    await this.#session.walk(kind, { sortBy: this.#random.pick(sorts), tagSlugs: [this.#records.tag], limit: PAGE });
  }

  /** Sends the last write with a key again, or another one with the same key. */
  async #repeat(): Promise<void> {
    const last = this.#last;
    if (!last) return;
    const { title, type } = last.input as { title?: string; type?: string };
    const isOther = this.#random.chance(0.3) && (title !== undefined || type !== undefined);
    const other = title === undefined ? { type: type === 'like' ? 'dislike' : 'like' } : { title: `${title}, again` };
    await this.#session.show(last.operation, isOther ? { ...last.input, ...other } : last.input, {
      ...last.about,
      repeats: isOther ? 'other input' : 'same input',
    });
  }
}

/** The types that the second follower asks for. */
const FILTER = ['game.created', 'image.updated'];

/** Reads the feed page by page while it grows. */
export const follow = async (
  session: Session,
  types: readonly string[] | undefined,
  isStopped: () => boolean,
): Promise<void> => {
  let after: string | undefined;
  while (!isStopped()) {
    const page = await session.readEvents({
      limit: types ? SHORT_PAGE : LARGE_PAGE,
      ...(after !== undefined && { after }),
      ...(types && { types }),
    });
    after = page?.cursor ?? after;
    if (!page?.hasMore) await sleep(FOLLOWER_REST_MS);
  }
};

/** Reads everything while no client writes: each user's lists and profile, the counts of types, and the whole feed. */
export const readAll = async (sessions: readonly Session[], quiet: number): Promise<void> => {
  const [first] = sessions as [Session, ...Session[]];
  // Events come in order: when those of this record are there, all earlier ones are.
  const title = `marker ${quiet}`;
  const marker = await first.show('game.create', { title }, { mark: title, key: title });
  const id = marker?.output?.id ?? '';
  if (marker) marker.record = id;
  await first.show('game.toggleFavorite', { gameId: id }, { record: id, key: title });
  await until(async () => {
    const page = await first.readEvents({ recordId: id }, { isUnnoted: true });
    const types = page?.entry.events?.map(({ type }) => type) ?? [];
    return types.includes('game.created') && types.includes('game.reactionsChanged');
  });
  for (const session of sessions) {
    for (const kind of kinds) {
      const walk = await session.walk(kind, { sortBy: 'latest', limit: LARGE_PAGE }, { quiet });
      if (!walk) continue;
      const { walked: _, ...entry } = walk.entry;
      for (const item of walk.items) session.note({ ...entry, record: item['id'] as string, output: seenIn(item) });
    }
    await session.show('user.getProfile', { id: session.user }, { record: session.user, quiet, isPatient: true });
  }
  const stats = await first.perform('game.getTypeStats', {}, { quiet, isPatient: true });
  if (stats) {
    const items = stats.json['items'] as { gameType: string | null; count: number }[];
    stats.entry.types = Object.fromEntries(items.map(({ gameType, count }) => [String(gameType), count]));
  }
  const whole = await first.readEvents({}, { quiet });
  for (let page = whole; whole && page?.hasMore;) {
    page = await first.readEvents({ after: page.cursor }, { quiet, isUnnoted: true });
    whole.entry.events = [...(whole.entry.events ?? []), ...(page?.entry.events ?? [])];
  }
};

interface Run {
  base: string;
  accounts: readonly Account[];
  seed: string;
  /** The calls that are to succeed. */
  operations: number;
  /** Harms the service while clients call, between these numbers of calls. */
  harm: (from: number, to: number, answered: (calls: number) => Promise<void>) => Promise<void>;
}

/** The moments at which clients pause, so that everything can be read. */
const MOMENTS = 2;

/** Has clients call until enough has succeeded. Returns all that they did, in the order of the answers. */
export const recordHistory = async ({ base, accounts, seed, operations, harm }: Run): Promise<Entry[]> => {
  const history: Entry[] = [];
  const reached = reachedAt(base);
  const records = new ActiveRecords();
  const walkers = Array.from(
    { length: CLIENTS },
    (_, client) => new Walker(history, reached, records, client, accounts[client % USERS]!, seed),
  );
  const readers = accounts.map((account, n) => new Session(history, reached, CLIENTS + n, account));
  const followers = [0, 1].map((n) => new Session(history, reached, CLIENTS + USERS + n));
  let [isOver, isEnough] = [false, false];
  const following = Promise.all(followers.map((one, n) => follow(one, n === 0 ? undefined : FILTER, () => isOver)));
  let [counted, succeeded] = [0, 0];
  const count = (): number => {
    for (; counted < history.length; counted += 1) {
      const { client, outcome } = history[counted]!;
      if (client < CLIENTS && outcome === 'ok') succeeded += 1;
    }
    return succeeded;
  };
  // The time that a test may take ends it.
  const answered = (calls: number): Promise<void> =>
    until(() => isOver || count() >= calls, { everyMs: 5, withinMs: Number.POSITIVE_INFINITY });
  const end = (): void => {
    [isOver, isEnough] = [true, true];
    for (const one of [...walkers, ...readers, ...followers]) one.close();
  };
  stopAfterTest(end);
  try {
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const [from, to] = [moment, moment + 1].map((part) => Math.floor((operations * part) / MOMENTS)) as [
        number,
        number,
      ];
      isEnough = false;
      const walking = Promise.all(
        walkers.map(async (walker) => {
          while (!isEnough) await walker.step();
        }),
      );
      await Promise.race([walking, Promise.all([harm(from, to, answered), answered(to)])]);
      isEnough = true;
      await walking;
      await readAll(readers, moment);
    }
  } finally {
    end();
    await following;
  }
  return history;
};
