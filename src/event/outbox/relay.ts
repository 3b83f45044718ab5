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

/** The pause after a move, in which the next events gather: each move is a transaction. */
const GATHER_MS = 100;
/** How often the lease holder looks for events of other processes: normally, and after none came for a while. */
const POLL_MS = 100;
const QUIET_POLL_MS = 1000;
const QUIET_AFTER_MS = 5000;
/** How often it looks if no other processes exist. */
const ALONE_MS = 3_600_000;
/** How often the other relays check whether events wait. */
const WATCH_MS = 1000;
/** How often they check while the same event waits. */
const STUCK_MS = 100;
/**
 * Another relay takes the lease after this time without a move. A holder that is only slow or rarely looks loses
 * nothing by it: the process whose events wait moves them.
 */
const LEASE_MS = 300;
/** How often reactions become events: at most one for each record. */
const REACTIONS_MS = 1000;
/** The pause after a failure. */
const RETRY_MS = 1000;
/** The limits of a move, in transactions and in characters of events: an import stores hundreds in a transaction. */
const OUTBOX_ROWS = 200;
const OUTBOX_CHARACTERS = 2 ** 17;
/** Transactions to read first; more are read only if these are small. */
const FIRST_ROWS = 16;
const REACTION_ROWS = 500;

/** An event that is about to get its position. */
type NextEvent = Omit<EventRow, 'position' | 'id'>;

const HEX_ID = /^[0-9a-f]{32}$/;
/** The first code of tag events, which identify their tag by its slug. */
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

/** The first events that wait for a position, and whether reactions have changed. */
interface Waiting {
  oldest: number | null;
  hasReactions: boolean;
}

interface Moved {
  events: number;
  /** Whether no further events wait. */
  isAll: boolean;
}

interface RelayOptions {
  log: Logger;
  /** Events wait while it is on. */
  pause: WritePause;
  now: () => Date;
  /** Whether no other process writes into the database: then the relay waits until this process has recorded events. */
  isAlone?: boolean | undefined;
  /** Whether processes without a relay write into it: then the relay constantly looks for their events. */
  hasWorkers?: boolean | undefined;
  /** Called after events were moved. */
  onMoved?: () => void;
}

/**
 * Moves events into the feed, where each gets the next position after its transaction was committed: a reader never
 * sees an event before an earlier one. Among all relays of a database, the lease holder does this; when nothing moves
 * for a while, another relay takes the lease. Two relays that both believe they hold it do no harm: each move locks the
 * feed.
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
  /** When events were last seen. */
  #seenAt = Number.NEGATIVE_INFINITY;
  /** The event that waits unmoved, as last seen without the lease, and since when. */
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

  /** Moves events until it is closed, unless events are turned off. */
  start(): void {
    if (!this.#db.events.isOn || this.#options.pause.isPermanent) return;
    this.#db.events.onRecorded = () => this.#notify();
    if (!this.#options.isAlone) this.#job.start();
  }

  /** Moves all waiting events, including reactions, with or without the lease. Returns how many. */
  async moveNow(): Promise<number> {
    let moved = 0;
    for (;;) {
      const { events, isAll } = await this.#move({ withReactions: true, isForced: true });
      moved += events;
      if (isAll) return moved;
    }
  }

  /** Stops after the move under way, and releases the lease. Never rejects. */
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

  /** Moves events. Returns how long to wait: 0 if this process recorded events while it looked for some. */
  async #turn(): Promise<number> {
    const pauseMs = await this.#moveSome();
    return this.#isPolling && this.#isNotified ? 0 : pauseMs;
  }

  /** Moves events if this relay is responsible. Returns how long to wait. */
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

  /** Whether something waits while the lease is free or its holder moves nothing. */
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
    // Reactions normally wait for a while.
    const leaseMs = oldest === null ? LEASE_MS + 2 * REACTIONS_MS : LEASE_MS;
    return now - this.#stuck.since >= leaseMs;
  }

  /** SQL: one statement reads both, since it runs constantly. */
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
      // They are locked before the other events are read, to include events of their records that happened earlier.
      const pending = withReactions ? await lockReactions(tx) : [];
      const { rows, isLast } = await nextTransactions(tx);
      if (rows.length > 0) await outboxIn(tx).delete({ seq: In(rows.map(({ seq }) => seq)) });
      // If more events wait, the creations of the records may be among them.
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

  /** Assigns the next positions to events, and takes the lease. */
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

/** The transactions whose events are moved next, at least one, and whether no others wait. */
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

/** The first of these transactions, as many as can be moved at once. */
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
