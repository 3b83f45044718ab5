import type { Logger } from 'pino';
import type { WritePause } from '../db/batching/write-buffer.ts';
import type { Parameter, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { inList } from '../db/sql/in-list.ts';
import { insertInto, insertValues } from '../db/sql/insert.ts';
import { type Bytes, newId, storedIdToBytes, timeFromDb } from '../db/values.ts';
import { type FeedColumns, lockFeed, readFeed } from './feed.ts';
import { InterruptibleSleep } from './interruptible-sleep.ts';
import { type RecordedEvent, slugKey } from './record.ts';

/** The pause after events were moved, in which the next ones gather: each move is a transaction. */
const GATHER_MS = 100;
/** How often the holder of the lease looks for events of other processes. */
const POLL_MS = 100;
/** How often it does, where there are no other processes. */
const ALONE_MS = 3_600_000;
/** How often the others look whether events wait. */
const WATCH_MS = 500;
/** How often they do, while the same event waits. */
const STUCK_MS = 100;
/** After this time without a move, another relay takes the lease. A holder that is only slow loses nothing by it. */
const LEASE_MS = 400;
/** How often reactions become events: one for each record at most. */
const REACTIONS_MS = 1000;
/** The pause after a failure. */
const RETRY_MS = 1000;
/** Transactions whose events are moved at once. */
const OUTBOX_ROWS = 200;
const REACTION_ROWS = 500;

const insertion = insertInto('events', ['position', 'id', 'type', 'record_id', 'slug', 'actor_id', 'happened_at']);

interface OutboxColumns {
  seq: number;
  happened_at: string;
  events: string;
}

interface ReactionColumns {
  record_id: Bytes;
  type: number;
  happened_at: string;
}

/** An event that gets a position. */
interface NextEvent {
  type: number;
  recordId: Bytes;
  slug: string | null;
  actorId: Bytes | null;
  happenedAt: string;
}

const HEX_ID = /^[0-9a-f]{32}$/;
/** The types of tags, which are named by their slugs. */
const FIRST_TAG_TYPE = 31;

const eventsOf = ({ happened_at: happenedAt, events }: OutboxColumns): NextEvent[] =>
  (JSON.parse(events) as RecordedEvent[]).map(([type, record, actor]) => {
    const isTag = type >= FIRST_TAG_TYPE || !HEX_ID.test(record);
    return {
      type,
      recordId: isTag ? slugKey(record) : Buffer.from(record, 'hex'),
      slug: isTag ? record : null,
      actorId: actor === undefined ? null : Buffer.from(actor, 'hex'),
      happenedAt,
    };
  });

interface Moved {
  events: number;
  /** Whether no more wait. */
  isAll: boolean;
}

interface RelayOptions {
  log: Logger;
  /** While it is on, events wait. */
  pause: WritePause;
  now: () => Date;
  /** Whether no other process writes into the database: then it waits until this one has recorded events. */
  isAlone?: boolean | undefined;
  /** Called when events were moved. */
  onMoved?: () => void;
}

/**
 * Moves events into the feed, where each gets the next position after its transaction was committed: a reader sees no event
 * before an earlier one. Of all relays on a database, the holder of a lease does so; when nothing moves for a while, another
 * one takes the lease. Two that both take themselves for the holder do no harm: each move locks the feed.
 */
export class EventRelay {
  readonly #db: Database;
  readonly #options: RelayOptions;
  readonly #id: Bytes;
  #running: Promise<void> | undefined;
  #isStopped = false;
  readonly #sleep = new InterruptibleSleep();
  /** Whether this process has recorded events since the last turn. */
  #isNotified = false;
  /** Whether it waits for events. */
  #isPolling = false;
  #isHolder = false;
  /** Whether the last move found the lease taken by another relay. */
  #isReplaced = false;
  #reactionsAt = Number.NEGATIVE_INFINITY;
  /** The events that wait without being moved, as seen by a relay without the lease, and since when. */
  #stuck: { what: string | undefined; since: number } = { what: undefined, since: 0 };

  constructor(db: Database, options: RelayOptions) {
    this.#db = db;
    this.#options = options;
    this.#id = storedIdToBytes(newId(options.now()));
  }

  /** Moves events until it is closed, unless there are none. */
  start(): void {
    if (!this.#db.events.isOn || this.#options.pause.isPermanent) return;
    this.#db.events.onRecorded = () => this.#notify();
    if (!this.#options.isAlone) this.#running ??= this.#run();
  }

  /** Moves all events that wait, reactions included, with or without the lease. Returns how many. */
  async moveNow(): Promise<number> {
    let moved = 0;
    for (;;) {
      const { events, isAll } = await this.#move({ withReactions: true, isForced: true });
      moved += events;
      if (isAll) return moved;
    }
  }

  /** Stops when the move under way has ended, and leaves the lease to others. Never rejects. */
  async close(): Promise<void> {
    this.#isStopped = true;
    this.#db.events.onRecorded = undefined;
    this.#sleep.wake();
    await this.#running;
  }

  #notify(): void {
    this.#isNotified = true;
    this.#running ??= this.#run();
    if (this.#isPolling) this.#sleep.wake();
  }

  async #run(): Promise<void> {
    let isFailing = false;
    while (!this.#isStopped) {
      let pauseMs = RETRY_MS;
      try {
        pauseMs = await this.#turn();
        isFailing = false;
      } catch (error) {
        // A fault that lasts is told of once.
        if (!isFailing) this.#options.log.warn({ err: error }, 'events could not be moved into the feed yet');
        isFailing = true;
      }
      await this.#rest(pauseMs);
    }
    await this.#leave().catch(() => undefined);
  }

  /** Moves events, if it is this relay's part. Returns how long to wait. */
  async #turn(): Promise<number> {
    this.#isPolling = false;
    if (await this.#options.pause.isOn()) return WATCH_MS;
    this.#isNotified = false;
    const oldest = await this.#oldest();
    if (!this.#isHolder && !(await this.#mayTake(oldest))) {
      this.#isPolling = this.#stuck.what === undefined;
      return this.#isPolling ? WATCH_MS : STUCK_MS;
    }
    const withReactions = performance.now() - this.#reactionsAt >= REACTIONS_MS && (await this.#hasReactions());
    if (this.#isHolder && oldest === null && !withReactions) {
      this.#isPolling = true;
      return this.#options.isAlone ? ALONE_MS : POLL_MS;
    }
    const { isAll } = await this.#move({ withReactions, isForced: !this.#isHolder });
    this.#isHolder = !this.#isReplaced;
    return isAll ? GATHER_MS : 0;
  }

  /** Whether the lease is free, or its holder moves nothing. */
  async #mayTake(oldest: number | null): Promise<boolean> {
    const { holder, last_position: position } = await readFeed(this.#db.background);
    if (isNobody(holder) || this.#options.isAlone) return true;
    const now = performance.now();
    const reactions = oldest === null && (await this.#hasReactions()) ? `reactions after ${position}` : undefined;
    const what = oldest === null ? reactions : `events from ${oldest}`;
    if (what !== this.#stuck.what) this.#stuck = { what, since: now };
    // Reactions wait for a while by themselves.
    const leaseMs = oldest === null ? LEASE_MS + 2 * REACTIONS_MS : LEASE_MS;
    return what !== undefined && now - this.#stuck.since >= leaseMs;
  }

  async #oldest(): Promise<number | null> {
    const [row] = await this.#db.background.read<{ seq: number }>('SELECT seq FROM event_outbox ORDER BY seq LIMIT 1');
    return row?.seq ?? null;
  }

  async #hasReactions(): Promise<boolean> {
    return (await this.#db.background.read('SELECT record_id FROM event_reactions LIMIT 1')).length > 0;
  }

  /** Moves some events in a transaction, unless another relay has taken the lease. */
  async #move({ withReactions, isForced }: { withReactions: boolean; isForced: boolean }): Promise<Moved> {
    const moved = await this.#db.background.transaction(async (tx) => {
      const feed = await lockFeed(tx);
      this.#isReplaced = Buffer.compare(feed.holder, this.#id) !== 0 && !isNobody(feed.holder) && !isForced;
      if (this.#isReplaced) return { events: 0, isAll: true };
      // Before the other events, so that those of their records which happened earlier are among them.
      const reactions = withReactions ? await takeReactions(tx) : [];
      const rows = await tx.read<OutboxColumns>(
        `SELECT seq, happened_at, events FROM event_outbox ORDER BY seq LIMIT ${OUTBOX_ROWS}`,
      );
      if (rows.length > 0) {
        const { sql, parameters } = inList(rows.map(({ seq }) => seq));
        await tx.execute(`DELETE FROM event_outbox WHERE seq IN (${sql})`, parameters);
      }
      const events = [...rows.flatMap(eventsOf), ...reactions.map(reactionsEvent)];
      await this.#append(tx, feed, events);
      return { events: events.length, isAll: rows.length < OUTBOX_ROWS && reactions.length < REACTION_ROWS };
    });
    if (withReactions) this.#reactionsAt = performance.now();
    if (moved.events > 0) this.#options.onMoved?.();
    return moved;
  }

  /** Gives events the next positions, and takes the lease. */
  async #append(tx: Transaction, feed: FeedColumns, events: readonly NextEvent[]): Promise<void> {
    let position = feed.last_position;
    let lastId = feed.last_id;
    const rows = events.map(({ type, recordId, slug, actorId, happenedAt }): Parameter[] => {
      position += 1;
      lastId = storedIdToBytes(newId(new Date(timeFromDb(happenedAt))));
      return [position, lastId, type, recordId, slug, actorId, happenedAt];
    });
    if (rows.length > 0) await insertValues(tx, insertion, rows);
    await tx.execute('UPDATE event_feed SET last_position = ?, last_id = ?, holder = ?', [position, lastId, this.#id]);
  }

  async #leave(): Promise<void> {
    if (!this.#isHolder || (await this.#options.pause.isOn())) return;
    const nobody = Buffer.alloc(this.#id.length);
    await this.#db.background.transaction((tx) =>
      tx.execute('UPDATE event_feed SET holder = ? WHERE holder = ?', [nobody, this.#id]),
    );
  }

  /** Resolves after a time, or earlier: when it is closed and, while it polls, when this process has recorded events. */
  async #rest(ms: number): Promise<void> {
    if (this.#isStopped || (this.#isPolling && this.#isNotified)) return;
    await this.#sleep.for(ms);
  }
}

const isNobody = (holder: Bytes): boolean => holder.every((byte) => byte === 0);

const reactionsEvent = ({ record_id: recordId, type, happened_at: happenedAt }: ReactionColumns): NextEvent => ({
  type,
  recordId,
  slug: null,
  actorId: null,
  happenedAt,
});

/** Takes some of the records whose reactions changed. They stay locked, so that no further change is lost. */
const takeReactions = async (tx: Transaction): Promise<ReactionColumns[]> => {
  const rows = await tx.read<ReactionColumns>(
    `SELECT record_id, type, happened_at FROM event_reactions ORDER BY record_id LIMIT ${REACTION_ROWS} ${tx.dialect.forUpdate}`,
  );
  if (rows.length === 0) return rows;
  const { sql, parameters } = inList(rows.map(({ record_id: id }) => id));
  await tx.execute(`DELETE FROM event_reactions WHERE record_id IN (${sql})`, parameters);
  return rows;
};
