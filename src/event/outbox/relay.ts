import type { Logger } from 'pino';
import { In, MoreThan } from 'typeorm';
import { performance } from '../../base/runtime.ts';
import type { WritePause } from '../../db/batching/write-buffer.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { insertRows } from '../../db/sql/write-rows.ts';
import { idFromBytes, newId, NIL_ID } from '../../db/values.ts';
import { BackgroundJob } from '../../base/background-job.ts';
import {
  type EventRow,
  feedIn,
  type FeedRow,
  outboxIn,
  type OutboxRow,
  pendingReactionsIn,
  type PendingReactionsRow,
} from './entity.ts';
import { lockFeed, readFeed } from './feed.ts';
import { type RecordedEvent, slugId } from './record.ts';

/** The pause after events were moved, in which the next ones gather: each move is a transaction. */
const GATHER_MS = 100;
/** How often the holder of the lease looks for events of other processes, and how often it does where none came for a while. */
const POLL_MS = 100;
const QUIET_POLL_MS = 1000;
const QUIET_AFTER_MS = 5000;
/** How often it does, where there are no other processes. */
const ALONE_MS = 3_600_000;
/** How often the others look whether events wait. */
const WATCH_MS = 1000;
/** How often they do, while the same event waits. */
const STUCK_MS = 100;
/**
 * After this time without a move, another relay takes the lease. A holder that is only slow, or looks seldom, loses nothing by it:
 * the process whose events wait moves them.
 */
const LEASE_MS = 300;
/** How often reactions become events: one for each record at most. */
const REACTIONS_MS = 1000;
/** The pause after a failure. */
const RETRY_MS = 1000;
/** Transactions whose events are moved at once, and characters of these events: an import stores hundreds in a transaction. */
const OUTBOX_ROWS = 200;
const OUTBOX_CHARACTERS = 2 ** 17;
/** The transactions that are read first; the others are only read if these are small. */
const FIRST_ROWS = 16;
const REACTION_ROWS = 500;

/** An event that gets a position. */
type NextEvent = Omit<EventRow, 'position' | 'id'>;

const HEX_ID = /^[0-9a-f]{32}$/;
/** The types of tags, which are named by their slugs. */
const FIRST_TAG_TYPE = 31;

const idFromHex = (hex: string): string => idFromBytes(Buffer.from(hex, 'hex'));

const eventsOf = ({ happenedAt, events }: OutboxRow): NextEvent[] =>
  (JSON.parse(events) as RecordedEvent[]).map(([type, record, actor]) => {
    const isTag = type >= FIRST_TAG_TYPE || !HEX_ID.test(record);
    return {
      type,
      recordId: isTag ? slugId(record) : idFromHex(record),
      slug: isTag ? record : null,
      actorId: actor === undefined ? null : idFromHex(actor),
      happenedAt,
    };
  });

/** The number of the first events that have no position yet, and whether reactions changed. */
interface Waiting {
  oldest: number | null;
  hasReactions: boolean;
}

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
  /** Whether processes write into it that have no relay: then it looks for their events all the time. */
  hasWorkers?: boolean | undefined;
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
  readonly #id: string;
  readonly #job: BackgroundJob;
  /** Whether this process has recorded events since the last turn. */
  #isNotified = false;
  /** Whether it waits for events. */
  #isPolling = false;
  #isHolder = false;
  /** Whether the last move found the lease taken by another relay. */
  #isReplaced = false;
  #reactionsAt = Number.NEGATIVE_INFINITY;
  /** When the last events were seen. */
  #seenAt = Number.NEGATIVE_INFINITY;
  /** The events that wait without being moved, as seen by a relay without the lease, and since when. */
  #stuck: { what: string | undefined; since: number } = { what: undefined, since: 0 };

  constructor(db: Database, options: RelayOptions) {
    this.#db = db;
    this.#options = options;
    this.#id = newId(options.now());
    this.#job = new BackgroundJob({
      turn: () => this.#turn(),
      retryMs: RETRY_MS,
      log: options.log,
      failure: 'events could not be moved into the feed yet',
    });
  }

  /** Moves events until it is closed, unless there are none. */
  start(): void {
    if (!this.#db.events.isOn || this.#options.pause.isPermanent) return;
    this.#db.events.onRecorded = () => this.#notify();
    if (!this.#options.isAlone) this.#job.start();
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
    this.#db.events.onRecorded = undefined;
    await this.#job.close();
    await this.#leave().catch(() => undefined);
  }

  #notify(): void {
    this.#isNotified = true;
    this.#job.start();
    if (this.#isPolling) this.#job.wake();
  }

  /** Moves events, and returns how long to wait; not at all where this process has recorded events while it looked for some. */
  async #turn(): Promise<number> {
    const pauseMs = await this.#moveSome();
    return this.#isPolling && this.#isNotified ? 0 : pauseMs;
  }

  /** Moves events, if it is this relay's part. Returns how long to wait. */
  async #moveSome(): Promise<number> {
    this.#isPolling = false;
    if (await this.#options.pause.isOn()) return WATCH_MS;
    this.#isNotified = false;
    const waiting = await this.#waiting();
    const { oldest, hasReactions } = waiting;
    if (oldest !== null || hasReactions) this.#seenAt = performance.now();
    if (!this.#isHolder && !(await this.#mayTake(waiting))) {
      this.#isPolling = this.#stuck.what === undefined;
      return this.#isPolling ? WATCH_MS : STUCK_MS;
    }
    const withReactions = hasReactions && performance.now() - this.#reactionsAt >= REACTIONS_MS;
    if (this.#isHolder && oldest === null && !withReactions) {
      this.#isPolling = true;
      return this.#pollMs();
    }
    const { isAll } = await this.#move({ withReactions, isForced: !this.#isHolder });
    this.#isHolder = !this.#isReplaced;
    return isAll ? GATHER_MS : 0;
  }

  #pollMs(): number {
    const { isAlone, hasWorkers } = this.#options;
    if (isAlone) return ALONE_MS;
    return hasWorkers || performance.now() - this.#seenAt < QUIET_AFTER_MS ? POLL_MS : QUIET_POLL_MS;
  }

  /** Whether something waits while the lease is free, or its holder moves nothing. */
  async #mayTake({ oldest, hasReactions }: Waiting): Promise<boolean> {
    if (this.#options.isAlone) return true;
    if (oldest === null && !hasReactions) {
      this.#stuck = { what: undefined, since: 0 };
      return false;
    }
    const { holder, lastPosition: position } = await readFeed(this.#db.background);
    if (holder === NIL_ID) return true;
    const now = performance.now();
    const what = oldest === null ? `reactions after ${position}` : `events from ${oldest}`;
    if (what !== this.#stuck.what) this.#stuck = { what, since: now };
    // Reactions wait for a while by themselves.
    const leaseMs = oldest === null ? LEASE_MS + 2 * REACTIONS_MS : LEASE_MS;
    return now - this.#stuck.since >= leaseMs;
  }

  /** SQL: both in one statement, which runs all the time. */
  async #waiting(): Promise<Waiting> {
    const [row] = await this.#db.background.read<{ oldest: number | null; reactions: number }>(
      'SELECT (SELECT MIN(seq) FROM event_outbox) AS oldest, EXISTS (SELECT 1 FROM event_reactions) AS reactions',
    );
    return { oldest: row?.oldest ?? null, hasReactions: Number(row?.reactions) === 1 };
  }

  /** Moves some events in a transaction, unless another relay has taken the lease. */
  async #move({ withReactions, isForced }: { withReactions: boolean; isForced: boolean }): Promise<Moved> {
    const moved = await this.#db.background.transaction(async (tx) => {
      const feed = await lockFeed(tx);
      this.#isReplaced = feed.holder !== this.#id && feed.holder !== NIL_ID && !isForced;
      if (this.#isReplaced) return { events: 0, isLast: true, isAll: true };
      // They are locked before the other events are read, so that those of their records which happened earlier are among them.
      const pending = withReactions ? await lockReactions(tx) : [];
      const { rows, isLast } = await nextTransactions(tx);
      if (rows.length > 0) await outboxIn(tx).delete({ seq: In(rows.map(({ seq }) => seq)) });
      // Where more events wait, the creations of their records may be among those.
      const reactions = isLast ? pending : [];
      await removeReactions(tx, reactions);
      const events = [...rows.flatMap(eventsOf), ...reactions.map(reactionsEvent)];
      await this.#append(tx, feed, events);
      return { events: events.length, isLast, isAll: isLast && reactions.length < REACTION_ROWS };
    });
    if (withReactions && moved.isLast) this.#reactionsAt = performance.now();
    if (moved.events > 0) this.#options.onMoved?.();
    return moved;
  }

  /** Gives events the next positions, and takes the lease. */
  async #append(tx: Transaction, { name, ...feed }: FeedRow, events: readonly NextEvent[]): Promise<void> {
    const rows = events.map((event, index): EventRow => ({
      ...event,
      position: feed.lastPosition + 1 + index,
      id: newId(event.happenedAt),
    }));
    await insertRows(tx, 'Event', rows);
    const { position: lastPosition, id: lastId } = rows.at(-1) ?? { position: feed.lastPosition, id: feed.lastId };
    await feedIn(tx).update({ name }, { lastPosition, lastId, holder: this.#id });
  }

  async #leave(): Promise<void> {
    if (!this.#isHolder || (await this.#options.pause.isOn())) return;
    await this.#db.background.transaction((tx) => feedIn(tx).update({ holder: this.#id }, { holder: NIL_ID }));
  }
}

/** The transactions whose events are moved next, one at least, and whether no others wait. */
const nextTransactions = async (tx: Transaction): Promise<{ rows: OutboxRow[]; isLast: boolean }> => {
  const waiting = await outboxIn(tx).find({ order: { seq: 'ASC' }, take: FIRST_ROWS });
  const last = waiting.at(-1);
  if (last && waiting.length === FIRST_ROWS && fitting(waiting).length === FIRST_ROWS) {
    const where = { seq: MoreThan(last.seq) };
    waiting.push(...(await outboxIn(tx).find({ where, order: { seq: 'ASC' }, take: OUTBOX_ROWS - FIRST_ROWS })));
  }
  const rows = fitting(waiting);
  return { rows, isLast: rows.length === waiting.length && waiting.length < OUTBOX_ROWS };
};

/** The first of these transactions whose events can be moved at once. */
const fitting = (rows: readonly OutboxRow[]): OutboxRow[] => {
  let length = 0;
  return rows.filter(({ events }, index) => (length += events.length) <= OUTBOX_CHARACTERS || index === 0);
};

const reactionsEvent = (row: PendingReactionsRow): NextEvent => ({ ...row, slug: null, actorId: null });

/** Locks some of the records whose reactions changed, so that no further change is lost. */
const lockReactions = (tx: Transaction): Promise<PendingReactionsRow[]> =>
  pendingReactionsIn(tx).find({ order: { recordId: 'ASC' }, take: REACTION_ROWS, ...tx.dialect.lockingRows });

const removeReactions = async (tx: Transaction, rows: readonly PendingReactionsRow[]): Promise<void> => {
  if (rows.length > 0) await pendingReactionsIn(tx).delete({ recordId: In(rows.map(({ recordId }) => recordId)) });
};
