import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { performance, sleep } from '../../src/base/runtime.ts';
import { until } from '../harness/until.ts';
import { type Entry, entryOf, microseconds, type Seen } from './history.ts';
import { eventIn, type Json, type Kind, kinds, seenIn, type Session, TRACE } from './session.ts';

// All that follows the feed: readers of its pages, a copy, and the endpoints of webhooks.

/** The pause of a follower at the end of the feed. */
const REST_MS = 50;
const LARGE_PAGE = 100;
/** More of the events that a filter leaves wait than a page holds. */
const SHORT_PAGE = 2;

/** Reads the feed page by page while it grows. */
export const follow = async (
  session: Session,
  types: readonly string[] | undefined,
  isStopped: () => boolean,
  restMs = REST_MS,
): Promise<void> => {
  let after: string | undefined;
  while (!isStopped()) {
    const page = await session.readEvents({
      limit: types ? SHORT_PAGE : LARGE_PAGE,
      ...(after !== undefined && { after }),
      ...(types && { types }),
    });
    after = page?.cursor ?? after;
    if (!page?.hasMore) await sleep(restMs);
  }
};

const copied = [
  ...['created', 'updated', 'deleted', 'reactionsChanged'].flatMap((name) => kinds.map((kind) => `${kind}.${name}`)),
  'user.updated',
];

interface CopiedRecord {
  kind: Kind;
  seen: Seen;
}

/** A copy of all records, as docs/events.md has it: a cursor first, then the lists, then the events. */
export class Copy {
  readonly #session: Session;
  readonly #records = new Map<string, CopiedRecord>();
  #after: string | undefined;
  /** The position of the last event that was applied. */
  #position = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  get hasBegun(): boolean {
    return this.#after !== undefined;
  }

  async begin(): Promise<void> {
    const page = await this.#session.readEvents({ start: 'recent' }, { isUnnoted: true });
    for (const kind of kinds) {
      const walk = await this.#session.walk(kind, { limit: LARGE_PAGE });
      for (const item of walk?.items ?? []) this.#put(kind, item);
    }
    this.#after = page?.cursor;
  }

  async run(isStopped: () => boolean): Promise<void> {
    await this.begin();
    while (!isStopped()) if (!(await this.#turn())) await sleep(REST_MS);
  }

  /** Resolves when all events are applied that it copies of these; then notes what it holds. */
  async noteAt(quiet: number, events: NonNullable<Entry['events']>): Promise<void> {
    const last = events.findLast(({ type }) => copied.includes(type))?.position ?? 0;
    await until(() => this.#position >= last);
    const { client, user } = this.#session;
    for (const [record, { kind, seen }] of this.#records)
      this.#session.note(entryOf('copy', { client, user, record, input: { kind }, output: { ...seen }, quiet }));
  }

  /** Whether more events follow. */
  async #turn(): Promise<boolean> {
    const page = await this.#session.readEvents(
      { ...(this.#after !== undefined && { after: this.#after }), types: copied, include: 'record' },
      { isUnnoted: true },
    );
    if (!page) return false;
    for (const event of page.items) this.#apply(event);
    this.#after = page.cursor;
    this.#position = page.entry.events?.at(-1)?.position ?? this.#position;
    return page.hasMore;
  }

  #apply(event: Json): void {
    const { kind, id } = event['record'] as { kind: Kind; id: string };
    const user = event['user'] as Json | null | undefined;
    if (user) {
      for (const { seen } of this.#records.values())
        if (seen.authorId === user['id']) seen.authorName = user['nickname'] as string;
      return;
    }
    const record = event[kind === 'game' ? 'game' : 'imagePost'] as Json | null;
    if (record) this.#put(kind, record);
    else this.#records.delete(id);
  }

  #put(kind: Kind, record: Json): void {
    this.#records.set(record['id'] as string, { kind, seen: seenIn(record) });
  }
}

/** The owners' choices of events: few enough for the fifty messages a second that an endpoint gets. */
export const CHOICES = [
  ['game.created', 'game.deleted'],
  ['user.updated', 'image.deleted'],
] as const;
/**
 * An endpoint refuses one message in this number, and takes one without an answer; no message twice, for which the service would
 * wait longer than `SILENCE_MS`.
 */
const MISHAP_EVERY = 20;
/** How long an endpoint is waited for that gets nothing. */
const SILENCE_MS = 20_000;
/** The messages of a webhook that are delivered again at a time. */
const MOST_AGAIN = 3;

interface Hook {
  types: readonly string[];
  session: Session;
  id: string;
  secret: string;
  positions: Set<number>;
}

/** The endpoint of webhooks: it notes each message that it takes. */
export class Endpoint {
  readonly #server: Server;
  readonly #hooks: Hook[] = [];
  /** The ids of the messages that were refused, or taken without an answer. */
  readonly #failed = new Set<string>();
  #taken = 0;
  #came = 0;
  /** Whether some of what was to come did not. */
  #isLacking = false;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async listen(port: number): Promise<Endpoint> {
    const endpoint = new Endpoint();
    endpoint.#server.listen(port, '127.0.0.1');
    await once(endpoint.#server, 'listening');
    return endpoint;
  }

  /** Has a user make a webhook for these events. Resolves when it is active. */
  async subscribe(session: Session, types: readonly string[]): Promise<void> {
    const { port } = this.#server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/${this.#hooks.length}`;
    const made = await session.perform('webhook.create', { url, types }, { key: url });
    const { id = '', secret = '' } = (made?.json ?? {}) as { id?: string; secret?: string };
    this.#hooks.push({ types, session, id, secret, positions: new Set() });
    await until(async () => {
      const list = await session.perform('webhook.list', {}, { isPatient: true, isUnnoted: true });
      return (
        (list?.json['items'] as Json[] | undefined)?.some((one) => one['id'] === id && one['state'] === 'active') ??
        false
      );
    });
  }

  /** Resolves when each webhook has got all of these events that it is to get, or nothing comes any more. */
  async untilServed(events: NonNullable<Entry['events']>): Promise<void> {
    let [taken, at] = [this.#taken, performance.now()];
    const isEnough = (): boolean => {
      if (this.#taken > taken) [taken, at] = [this.#taken, performance.now()];
      const isServed = this.#hooks.every(({ types, positions }) =>
        events.every(({ type, position }) => !types.includes(type) || positions.has(position)),
      );
      this.#isLacking ||= performance.now() - at > SILENCE_MS;
      return isServed || this.#isLacking;
    };
    // After a long history thousands wait, of which fifty come in a second.
    await until(isEnough, { withinMs: Number.POSITIVE_INFINITY });
  }

  /** Has some messages delivered again that tell of what was done to these records, as far as a page of deliveries shows them. */
  async askAgain(records: ReadonlySet<string>): Promise<void> {
    for (const { session, id } of this.#hooks) {
      const delivered = { id, state: 'delivered', limit: 100 };
      const page = await session.perform('webhook.deliveries', delivered, { isPatient: true });
      const deliveries = (page?.json['items'] ?? []) as { id: string; type: string; recordId: string }[];
      const wanted = deliveries
        .filter(({ type, recordId }) => records.has(recordId) && !type.endsWith('.deleted'))
        .slice(0, MOST_AGAIN);
      const before = this.#taken;
      for (const { id: deliveryId } of wanted)
        await session.perform('webhook.redeliver', { deliveryId }, { key: deliveryId });
      await until(() => this.#isLacking || this.#taken >= before + wanted.length);
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = microseconds();
    const body = await text(request).catch(() => '');
    const hook = this.#hooks[Number(request.url?.slice(1))];
    if (body === '') return void response.destroy();
    const { data } = JSON.parse(body) as { data: Json };
    if (data['challenge'] !== undefined) return void response.end(JSON.stringify({ challenge: data['challenge'] }));
    if (!hook) return void response.writeHead(404).end();
    this.#came += 1;
    const messageId = String(request.headers['webhook-id']);
    const mishap = this.#failed.has(messageId) ? undefined : ['refused', 'unanswered'][this.#came % MISHAP_EVERY];
    if (mishap) this.#failed.add(messageId);
    if (mishap === 'refused') return void response.writeHead(500).end();
    const event = eventIn(data);
    const { client, user } = hook.session;
    hook.session.note(
      entryOf('message', {
        client,
        user,
        record: event.record,
        input: { types: hook.types },
        events: [event],
        call,
        messageId,
        isSigned: this.#isSigned(hook, body, request),
        ...(body.toLowerCase().includes(TRACE) && { isTraced: true }),
      }),
    );
    hook.positions.add(event.position);
    this.#taken += 1;
    if (mishap === 'unanswered') response.destroy();
    else response.writeHead(204).end();
  }

  #isSigned({ secret }: Hook, body: string, { headers }: IncomingMessage): boolean {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  }
}
