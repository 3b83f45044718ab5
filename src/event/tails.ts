import type { Logger } from 'pino';
import type { EventType } from '../../contract/index.ts';
import type { Reader } from '../db/connection.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import type { Deadline } from '../base/deadline.ts';
import { NIL_ID } from '../db/values.ts';
import { BackgroundJob } from '../base/background-job.ts';
import { AppError } from '../base/errors.ts';
import { decodeEventCursor, encodeEventCursor, type EventCursor } from './cursor.ts';
import {
  type EventPage,
  type EventQuery,
  type EventReads,
  type EventStart,
  readEvents,
  readLatest,
  startOf,
} from './reads.ts';
import { type EventContext, readRecords, type StoredEvent, storedEvent } from './service.ts';
import { type EventView, eventView } from './view.ts';

/** How often to look for events that other processes moved, while tails exist. */
const POLL_MS = 100;
/** The pause after a failure. */
const RETRY_MS = 1000;
const EVENTS_AT_ONCE = 100;

/** The place of a tail that has none yet. */
const BEGINNING: EventCursor = { position: 0, id: NIL_ID };

/** The filter of a tail, and the place to start from. */
export interface TailQuery {
  after: string | undefined;
  start: EventStart;
  types: readonly EventType[] | undefined;
  recordId: string | undefined;
  includesRecord: boolean;
}

/** An event on its way to tails; all tails that want it share the same object. */
export interface TailedEvent {
  event: StoredEvent;
  /** The event in the form of the contract. */
  view: EventView;
  /** The cursor to the events after it. */
  cursor: string;
}

/** The receiver of a tail's events. */
export interface TailSink {
  /** Receives events, possibly none; `cursor` leads to the next ones. */
  take: (events: readonly TailedEvent[], cursor: string) => void;
  /** Resolves when the sink is closed, or can take more without holding much in memory. */
  ready: () => Promise<void>;
  /** Called when the tail has ended because the feed no longer holds the next events. */
  fail: (error: AppError) => void;
}

/** An open tail. */
interface Tail {
  query: TailQuery;
  sink: TailSink;
  cursor: EventCursor;
  /** Whether it has all events that the hub has, and gets the next ones from the hub. */
  isLive: boolean;
  isClosed: boolean;
}

interface TailsContext {
  db: Reader & Pick<WorkloadPool, 'within'>;
  /** Whether changes are recorded as events. */
  isOn: boolean;
  /** The clock. */
  now: () => Date;
  log: Logger;
  events: EventReads;
  readShown: EventContext['readShown'];
}

/**
 * Delivers new events to all tails of this process: the feed is read once for all of them. A tail that begins earlier
 * first reads the events that it lacks by itself, then joins the others.
 */
export class EventTails {
  readonly #c: TailsContext;
  readonly #tails = new Set<Tail>();
  /** The place of the first event that live tails do not have yet; undefined while it is unknown. */
  #cursor: EventCursor | undefined;
  readonly #job: BackgroundJob;
  #beginning: Promise<EventCursor> | undefined;

  constructor(context: TailsContext) {
    this.#c = context;
    this.#job = new BackgroundJob({
      turn: () => this.#turn(),
      retryMs: RETRY_MS,
      log: context.log,
      failure: 'events could not be read for tails yet',
      level: 'debug',
    });
  }

  /** The number of tails. */
  get size(): number {
    return this.#tails.size;
  }

  /** Looks for new events now. */
  readonly poke = (): void => this.#job.wake();

  /**
   * Begins a tail: `sink` gets the events until the returned function is called.
   * @throws AppError CURSOR_INVALID, EVENTS_GONE, EVENTS_OFF, and as a read
   */
  async open(query: TailQuery, sink: TailSink, deadline: Deadline): Promise<() => void> {
    const { db, isOn, now } = this.#c;
    if (!isOn) throw new AppError('EVENTS_OFF');
    const { after, start } = query;
    const tail: Tail = { query, sink, cursor: BEGINNING, isLive: false, isClosed: false };
    this.#tails.add(tail);
    try {
      if (after === undefined && start === 'latest') {
        // Many tails open at once after a service has stopped: none of them costs a read.
        do await deadline.race(this.#begin());
        while (!this.#join(tail));
        sink.take([], encodeEventCursor(tail.cursor));
      } else {
        tail.cursor = after === undefined ? await startOf(start, db.within(deadline), now()) : decodeEventCursor(after);
        // An invalid cursor is rejected before anything is sent.
        const page = await this.#read(tail, deadline);
        await deadline.race(this.#begin());
        void this.#catchUp(tail, page);
      }
    } catch (error) {
      this.#end(tail);
      throw error;
    }
    return () => this.#end(tail);
  }

  /** Ends all tails without notifying them. */
  async close(): Promise<void> {
    for (const tail of this.#tails) this.#end(tail);
    await this.#job.close();
  }

  #end(tail: Tail): void {
    tail.isClosed = true;
    this.#tails.delete(tail);
  }

  #read({ query, cursor }: Tail, deadline?: Deadline): Promise<EventPage> {
    const { types, recordId } = query;
    const { position } = cursor;
    const wanted: EventQuery = { after: cursor, types, recordId, limit: EVENTS_AT_ONCE };
    const key = JSON.stringify([encodeEventCursor(cursor), types, recordId, EVENTS_AT_ONCE, position]);
    return this.#c.events.load(wanted, deadline, key);
  }

  /** Delivers the missing events to a tail, page by page, until it has all that the others have. */
  async #catchUp(tail: Tail, first: EventPage): Promise<void> {
    try {
      for (let page = first; ; page = await this.#read(tail)) {
        const tailed = await this.#tailed(page, tail.query.includesRecord);
        if (tail.isClosed) return;
        this.#hand(tail, tailed, page.end, encodeEventCursor(page.end));
        await tail.sink.ready();
        if (tail.isClosed) return;
        await this.#begin();
        if (this.#join(tail)) return;
      }
    } catch (error) {
      if (tail.isClosed) return;
      this.#end(tail);
      tail.sink.fail(error instanceof AppError ? error : new AppError('INTERNAL', { cause: error }));
    }
  }

  async #tailed({ events }: EventPage, withRecords: boolean): Promise<TailedEvent[]> {
    const { db, readShown } = this.#c;
    const stored = events.map(storedEvent);
    const records = withRecords && stored.length > 0 ? await readRecords(readShown, db, stored) : undefined;
    return stored.map((event) => ({ event, view: eventView(event, records), cursor: encodeEventCursor(event) }));
  }

  /** Delivers the wanted ones of some events to a tail, in the same turn in which its place moves. */
  #hand(tail: Tail, events: readonly TailedEvent[], end: EventCursor, cursor: string): void {
    if (end.position < tail.cursor.position) return;
    const { types, recordId } = tail.query;
    const wanted = events.filter(
      ({ event }) =>
        event.position > tail.cursor.position &&
        (types === undefined || types.includes(event.type)) &&
        (recordId === undefined || event.recordId === recordId),
    );
    tail.cursor = end;
    tail.sink.take(wanted, cursor);
  }

  /** Starts reading the feed for live tails, from its current end. */
  async #begin(): Promise<void> {
    await this.#place();
    this.#job.start();
  }

  /** Resolves when the place of live tails is known. */
  async #place(): Promise<void> {
    while (this.#cursor === undefined) {
      this.#beginning ??= readLatest(this.#c.db).finally(() => (this.#beginning = undefined));
      const latest = await this.#beginning;
      this.#cursor ??= latest;
    }
  }

  /** Makes a tail live, unless it lacks events that live tails have. A new tail begins at their place. */
  #join(tail: Tail): boolean {
    const cursor = this.#cursor;
    // The feed ended meanwhile.
    if (cursor === undefined) return false;
    if (tail.cursor === BEGINNING) tail.cursor = cursor;
    tail.isLive = cursor.position <= tail.cursor.position;
    return tail.isLive;
  }

  /** Delivers events to live tails. Returns how long to wait; undefined if no tails exist. */
  async #turn(): Promise<number | undefined> {
    if (this.#tails.size === 0) {
      this.#cursor = undefined;
      return undefined;
    }
    try {
      return (await this.#handAll()) ? 0 : POLL_MS;
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'EVENTS_GONE') throw error;
      this.#fail(error);
      return RETRY_MS;
    }
  }

  /** Reads events once for all live tails. Returns whether more exist. */
  async #handAll(): Promise<boolean> {
    const { db } = this.#c;
    await this.#place();
    const query = { after: this.#cursor, types: undefined, recordId: undefined, limit: EVENTS_AT_ONCE };
    const page = await readEvents(db, query);
    if (page.events.length === 0) {
      this.#cursor = page.end;
      return false;
    }
    const wantRecords = [...this.#tails].some(({ query: { includesRecord } }) => includesRecord);
    const plain = await this.#tailed(page, false);
    const full = wantRecords ? await this.#tailed(page, true) : plain;
    const cursor = encodeEventCursor(page.end);
    for (const tail of this.#tails) {
      if (tail.isLive) this.#hand(tail, tail.query.includesRecord ? full : plain, page.end, cursor);
    }
    this.#cursor = page.end;
    return page.hasMore;
  }

  /** Ends all tails, since the feed was restored or ended. */
  #fail(error: AppError): void {
    for (const tail of this.#tails) {
      this.#end(tail);
      tail.sink.fail(error);
    }
    this.#cursor = undefined;
  }
}
