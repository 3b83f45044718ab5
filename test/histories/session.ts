import { sleep } from '../../src/base/runtime.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient, reasonIn } from '../harness/app/client.ts';
import { type Entry, hashOf, markOf, microseconds, outcomeOf, type Seen, type SeenEvent } from './history.ts';

// One caller through HTTP, who notes each call and its answer.

const PATIENCE_MS = 20_000;
const LONGEST_REST_MS = 500;
const REST_AFTER_BREAK_MS = 50;

/** A word in all that the user publishes who is erased, and in nothing of others. */
export const TRACE = 'farewell';

export interface Account {
  id: string;
  key: string;
}

export type Json = Record<string, unknown>;
export type Kind = 'game' | 'image';
export const kinds: readonly Kind[] = ['game', 'image'];

const members = [
  'id',
  'title',
  'nickname',
  'avatar',
  'gameType',
  'favorited',
  'reaction',
  'favoriteCount',
  'likeCount',
  'dislikeCount',
  'viewCount',
  'gameCount',
  'imagePostCount',
  'updatedAt',
  'viewer',
] as const;

interface Shown {
  images?: string[];
  coverUrl?: string | null;
  title?: string;
  author?: { id: string; nickname: string };
  tags?: { slug: string }[];
}

/** What a record or user shows that a check reads. */
export const seenIn = (json: Json): Seen => {
  const { author, tags, ...shown } = json as Shown;
  const mark = markOf(shown);
  return {
    ...Object.fromEntries(members.filter((name) => json[name] !== undefined).map((name) => [name, json[name]])),
    ...(mark !== '' && { mark }),
    ...(author && { authorId: author.id, authorName: author.nickname }),
    ...(tags && { tags: tags.map(({ slug }) => slug).join(',') }),
  };
};

/** An event as it goes out. */
export const eventIn = ({ id, position, type, record, actorId }: Json): SeenEvent => ({
  id: id as string,
  position: position as number,
  type: type as string,
  record: (record as { id: string }).id,
  actorId: actorId as string | null,
});

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

/** A client of several instances, which sends its calls to one after the other, and repeats at another one. */
const openSpread = (bases: readonly string[], first: number, key?: string): Client => {
  const clients = bases.map((base) => openClient(base, key, { patienceMs: PATIENCE_MS }));
  let turn = first;
  const next = (): Client => {
    turn += 1;
    return clients[turn % clients.length]!;
  };
  return {
    get: (...request) => next().get(...request),
    call: (...request) => next().call(...request),
    batch: (...request) => next().batch(...request),
    close: () => {
      for (const client of clients) client.close();
    },
  };
};

/** Instances of the service at some addresses: refused calls are sent again early, since the test waits. */
export const reachedAt = (bases: readonly string[]): Reached => ({
  open: (client, key) => openSpread(bases, client, key),
  longestRestMs: LONGEST_REST_MS,
});

export interface Performance extends Pick<Entry, 'record' | 'mark' | 'key' | 'repeats' | 'quiet' | 'isCalm'> {
  /** Whether it is repeated until it is answered, as reads may be. */
  isPatient?: boolean;
  /** Whether it is left to the caller to note it. */
  isUnnoted?: boolean;
  /** Whether it is sent by GET. */
  isGet?: boolean;
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
    { isPatient = false, isUnnoted = false, isGet = false, ...about }: Performance = {},
  ): Promise<Answered | undefined> {
    const call = microseconds();
    let isUnknown = false;
    for (let attempts = 1; ; attempts += 1) {
      const ending = isGet
        ? await this.#http.get(`/api/trpc/${operation}?input=${encodeURIComponent(JSON.stringify({ json: input }))}`)
        : await this.#http.call(
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
      if (!isUnnoted) this.note(entry);
      if (outcome !== 'ok' || ending.kind !== 'answered') {
        if (ending.kind !== 'answered' || ending.status >= 500) await sleep(restAfter(ending, this.#longestRestMs));
        return undefined;
      }
      const { json } = (JSON.parse(ending.text) as { result: { data: { json: Json } } }).result.data;
      if (ending.text.toLowerCase().includes(TRACE)) entry.isTraced = true;
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

  /** The same, where the answer shows several. */
  async showAll(operation: ProcedureId, input: Json, about: Performance = {}): Promise<Entry | undefined> {
    const answered = await this.perform(operation, input, about);
    if (!answered) return undefined;
    const { entry, json } = answered;
    entry.items = (json['items'] as Json[]).map(seenIn);
    if (json['totalRelation'] === 'eq') entry.total = json['total'] as number;
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
      const { json } = answered;
      items.push(...(json['items'] as Json[]));
      cursor = json['nextCursor'] as string | null;
      if (json['totalRelation'] === 'eq') answered.entry.total = json['total'] as number;
      if (entry)
        Object.assign(entry, { return: answered.entry.return, ...(answered.entry.isTraced && { isTraced: true }) });
      else entry = answered.entry;
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
  ): Promise<{ cursor: string; hasMore: boolean; entry: Entry; items: Json[] } | undefined> {
    const answered = await this.perform('event.list', input, { ...about, isPatient: true });
    if (!answered) return undefined;
    const { entry, json } = answered;
    const items = json['items'] as Json[];
    entry.events = items.map(eventIn);
    return { cursor: json['nextCursor'] as string, hasMore: json['hasMore'] as boolean, entry, items };
  }

  note(entry: Entry): void {
    this.#history.push(entry);
  }

  close(): void {
    this.#isClosed = true;
    this.#http.close();
  }
}
