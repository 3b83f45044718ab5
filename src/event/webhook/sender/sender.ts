import { performance } from '../../../base/runtime.ts';
import type { WritePause } from '../../../db/batching/write-buffer.ts';
import type { Database } from '../../../db/database.ts';
import { newId } from '../../../db/values.ts';
import { BackgroundJob } from '../../../base/background-job.ts';
import { readFeed } from '../../outbox/feed.ts';
import { type DispatcherOptions, LEASE_MS, leaseEnd, WebhookDispatcher } from './dispatcher.ts';
import { type DueWebhook, dueWebhooks, readDue, readOverdue, tellUnreadable } from './due.ts';
import { firstMatched, type NewEvents, passOver, readNewEvents } from './new-events.ts';
import { takeLease } from './store.ts';

/** How often it looks for due deliveries: after a turn that found some, and after one that found none. */
const POLL_MS = 500;
const QUIET_POLL_MS = 1000;
/** How often webhooks move past events that they do not want. */
const PASS_OVER_MS = 1000;
/** How often it measures the delay of messages. */
const LAG_MS = 10_000;
const RETRY_MS = 2000;
/** The maximum number of webhooks served at once: one that hangs occupies its place for ten seconds. */
const MOST_AT_ONCE = 256;
/** The maximum number of places of one owner while others wait for a place. */
const MOST_OF_AN_OWNER = 8;
/** An owner gets at most this share of the free places plus one, so that a new owner always finds a place. */
const SHARE_OF_FREE = 1 / 8;
interface SenderOptions extends DispatcherOptions {
  /** Pauses delivery while it is on. */
  pause: WritePause;
  /** Pauses delivery while the database belongs to another deployment. */
  hold?: Pick<WritePause, 'isOn'> | undefined;
  /** Whether no other process uses the database: then it only looks for deliveries after this one queued some. */
  isAlone?: boolean | undefined;
}

const placeOf = ({ id, generation }: Pick<DueWebhook, 'id' | 'generation'>): string => `${id} ${generation}`;

/**
 * Delivers events to webhooks. Leases ensure that only one process at a time delivers to an endpoint. Each event is
 * delivered at least once, always with the same id, and the events of one record in their order.
 */
export class WebhookSender {
  readonly #db: Database;
  readonly #options: SenderOptions;
  readonly #holder: string;
  readonly #dispatcher: WebhookDispatcher;
  /** The webhooks that occupy a place, by id and generation. */
  readonly #serving = new Map<string, { ownerId: string; ending: Promise<void> }>();
  /** Whether a webhook waits for a place. */
  #isCrowded = false;
  readonly #job: BackgroundJob;
  #isStarted = false;
  /** The last position at which all webhooks were matched; undefined before the first turn. */
  #matchedThrough: number | undefined;
  #passedOverAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #lagSeconds: number | undefined;

  constructor(db: Database, options: SenderOptions) {
    this.#db = db;
    this.#options = options;
    this.#holder = newId(options.now());
    this.#job = new BackgroundJob({
      turn: async () => {
        if ((await options.pause.isOn()) || (await options.hold?.isOn())) return POLL_MS;
        return (await this.#turn()) ? POLL_MS : QUIET_POLL_MS;
      },
      retryMs: RETRY_MS,
      log: options.log,
      failure: 'webhooks could not be looked for yet',
    });
    this.#dispatcher = new WebhookDispatcher(db.background, this.#job.signal, options);
  }

  /** The number of attempts so far. */
  get counts(): WebhookDispatcher['counts'] {
    return this.#dispatcher.counts;
  }

  /**
   * How long the longest-waiting webhook has waited for an event, an attempt or a challenge, in seconds, as of the last
   * measurement; undefined if this process does not deliver.
   */
  get lagSeconds(): number | undefined {
    return this.#lagSeconds;
  }

  /** Delivers until it is closed, unless events are turned off. */
  start(): void {
    if (!this.#db.events.isOn || this.#options.pause.isPermanent) return;
    this.#isStarted = true;
    if (!this.#options.isAlone) this.#job.start();
  }

  /** Looks for due deliveries now, if it was started. */
  readonly poke = (): void => {
    if (this.#isStarted) this.#job.start();
    this.#job.wake();
  };

  /** Stops when the attempts under way have ended. Never rejects. */
  async close(): Promise<void> {
    await this.#job.close();
    await Promise.all(Array.from(this.#serving.values(), ({ ending }) => ending));
  }

  /** Serves the webhooks that are due. Returns whether it found any. */
  async #turn(): Promise<boolean> {
    const { background } = this.#db;
    const feed = await readFeed(background);
    const events = await readNewEvents(background, feed, this.#matchedThrough ?? firstMatched(feed));
    this.#matchedThrough = events.after;
    const keyIds = this.#options.secrets.keyIds;
    this.#isCrowded = this.#serving.size >= MOST_AT_ONCE;
    const isBusy = this.#isCrowded || (await this.#serveDue(events, keyIds));
    await this.#passOver(events);
    await this.#look(keyIds);
    return isBusy || events.wanting !== undefined;
  }

  /** Moves webhooks past new events that they do not want: once in a while, or when many events have gathered. */
  async #passOver(events: NewEvents): Promise<void> {
    const at = performance.now();
    if (!events.wanting || (!events.hasMore && at - this.#passedOverAt < PASS_OVER_MS)) return;
    await passOver(this.#db.background, events);
    this.#passedOverAt = at;
    this.#matchedThrough = events.end.position;
    if (events.hasMore) this.#job.wake();
  }

  /** Measures the delay of messages, and finds webhooks with unreadable secrets. */
  async #look(keyIds: readonly string[]): Promise<void> {
    const { background } = this.#db;
    const { now, log } = this.#options;
    const at = performance.now();
    if (at - this.#lookedAt < LAG_MS) return;
    this.#lookedAt = at;
    const overdueSince = (await readOverdue(background, this.#matchedThrough ?? 0)) ?? now();
    const lagMs = Math.max(now().getTime() - overdueSince.getTime(), 0);
    this.#lagSeconds = lagMs / 1000;
    if (lagMs < LEASE_MS) return;
    const told = await tellUnreadable(background, keyIds, new Date(now().getTime() - LEASE_MS), now());
    if (told > 0)
      log.warn({ webhooks: told }, 'the secrets of webhooks cannot be decrypted, and no instance serves them');
  }

  /** Serves due webhooks while places are free. Returns whether it found any. */
  async #serveDue(events: NewEvents, keyIds: readonly string[]): Promise<boolean> {
    const { background } = this.#db;
    const now = this.#options.now();
    const condition = dueWebhooks(now, events, keyIds);
    // Reads twice as many as there are places, since the owners of all places may sort first.
    const due = await readDue(background, condition, 2 * MOST_AT_ONCE);
    for (const { id, ownerId, place } of this.#inTurn(due)) {
      if (this.#job.signal.aborted) break;
      if (!this.#hasPlace(ownerId, due)) {
        this.#isCrowded = true;
        continue;
      }
      const lease = { holder: this.#holder, until: leaseEnd(this.#options.now()) };
      const webhook = await takeLease(background, id, lease, condition, now);
      if (!webhook) continue;
      const ending = this.#dispatcher.serve(webhook).finally(() => {
        this.#serving.delete(place);
        if (this.#isCrowded) this.#job.wake();
      });
      this.#serving.set(place, { ownerId, ending });
    }
    return due.length > 0;
  }

  /** Due webhooks without a place here; owners with fewer places come first. */
  #inTurn(due: readonly DueWebhook[]): { id: string; ownerId: string; place: string }[] {
    const before = new Map<string, number>();
    for (const { ownerId } of this.#serving.values()) before.set(ownerId, (before.get(ownerId) ?? 0) + 1);
    return due
      .map(({ id, userId: ownerId, generation }) => {
        const rank = before.get(ownerId) ?? 0;
        before.set(ownerId, rank + 1);
        return { id, ownerId, place: placeOf({ id, generation }), rank };
      })
      .filter(({ place }) => !this.#serving.has(place))
      .toSorted((a, b) => a.rank - b.rank);
  }

  /** Whether an owner may have one more place. */
  #hasPlace(ownerId: string, due: readonly DueWebhook[]): boolean {
    const free = MOST_AT_ONCE - this.#serving.size;
    const held = [...this.#serving.values()].filter((one) => one.ownerId === ownerId).length;
    if (held === 0) return free > 0;
    const othersWait = due.some(({ userId }) => userId !== ownerId);
    return held < Math.min(free * SHARE_OF_FREE, othersWait ? MOST_OF_AN_OWNER : MOST_AT_ONCE);
  }
}
