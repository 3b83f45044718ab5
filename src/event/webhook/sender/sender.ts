import type { Logger } from 'pino';
import { MAX_SIGNING_SECRETS } from '../../../../contract/index.ts';
import { performance, secureRandomBytes, sleep } from '../../../base/runtime.ts';
import type { WritePause } from '../../../db/batching/write-buffer.ts';
import type { Database } from '../../../db/database.ts';
import { newId } from '../../../db/values.ts';
import { BackgroundJob } from '../../../base/background-job.ts';
import { storedEvent } from '../../service.ts';
import { eventView } from '../../view.ts';
import { readFeed } from '../../outbox/feed.ts';
import { type DeliveryRow, eventOf, formerSecrets, type WebhookRow } from '../entity.ts';
import type { WebhookSecrets } from '../secrets.ts';
import { challengeFlaw } from './challenges.ts';
import type { WebhookPolicy } from './guard.ts';
import { InFlight } from './in-flight.ts';
import { firstMatched, type NewEvents, passOver, readNewEvents } from './new-events.ts';
import { type Answer, isTaken, send, signedHeaders } from './send.ts';
import {
  type DueWebhook,
  dueWebhooks,
  type LeasedWebhook,
  pullEvents,
  readDue,
  readDueDeliveries,
  readOverdue,
  releaseLease,
  storeAnswers,
  storeChallenge,
  storeReadable,
  takeLease,
  tellUnreadable,
  TEST_TYPE,
  UNREADABLE,
} from './store.ts';

/** How often it looks for something to deliver, and how often it does while there was nothing. */
const POLL_MS = 500;
const QUIET_POLL_MS = 1000;
/** How often webhooks are moved behind the events that they do not want. */
const PASS_OVER_MS = 1000;
/** How often it looks how late messages are. */
const LAG_MS = 10_000;
const RETRY_MS = 2000;
/** Longer than an attempt: a process that ends without a word loses its webhooks after that time. */
const LEASE_MS = 30_000;
/** Webhooks that are delivered to at once: one that hangs takes a place for ten seconds. */
const MOST_AT_ONCE = 256;
/** The places that an owner has at most while others wait for some. */
const MOST_OF_AN_OWNER = 8;
/** An owner has this part of the places that are free at most, and one: so a new owner always finds one. */
const SHARE_OF_FREE = 1 / 8;
/** Messages that begin in a turn, and the shortest time from one turn to the next: 50 a second for an endpoint at most. */
const STARTED_A_TURN = 10;
const TURN_MS = 200;
/** How long a turn waits for an endpoint that is slow to answer before it looks for more events. */
const SLOW_TURN_MS = 2000;
/** Messages that an endpoint may leave without an answer: some that hang do not hold up the others. */
const MOST_UNANSWERED = 20;
/** Turns after which other webhooks get theirs. */
const TURNS_AT_ONCE = 50;

interface SenderOptions {
  log: Logger;
  /** While it is on, nothing is delivered. */
  pause: WritePause;
  /** The same, where the database belongs to another deployment. */
  hold?: Pick<WritePause, 'isOn'> | undefined;
  now: () => Date;
  policy: WebhookPolicy;
  secrets: WebhookSecrets;
  /** Answers messages in place of endpoints (default: they are sent). */
  deliver?: typeof send | undefined;
  /** Whether no other process uses the database: then it looks for nothing until this one has something to deliver. */
  isAlone?: boolean | undefined;
}

const placeOf = ({ id, generation }: Pick<LeasedWebhook, 'id' | 'generation'>): string => `${id} ${generation}`;

/**
 * Delivers events to webhooks, by leases: of several processes, one delivers to an endpoint at a time. Each event gets there at
 * least once, with the same id each time, and those of one record in their order.
 */
export class WebhookSender {
  readonly #db: Database;
  readonly #options: SenderOptions;
  readonly #holder: string;
  /** Attempts so far. */
  readonly counts = { delivered: 0, failed: 0 };
  /** The webhooks that have a place, by id and generation. */
  readonly #serving = new Map<string, { ownerId: string; ending: Promise<void> }>();
  /** The webhooks of which the log tells that their secrets cannot be decrypted. */
  readonly #unreadable = new Set<string>();
  /** Whether something waits for a place. */
  #isCrowded = false;
  readonly #job: BackgroundJob;
  #isStarted = false;
  /** The position that all webhooks were matched through; undefined before the first turn. */
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
  }

  /**
   * For how long the webhook that has waited longest waits for an event that it wants, an attempt or a challenge, in seconds, as it
   * was seen last; undefined where this process does not deliver.
   */
  get lagSeconds(): number | undefined {
    return this.#lagSeconds;
  }

  /** Delivers until it is closed, unless there are no events. */
  start(): void {
    if (!this.#db.events.isOn || this.#options.pause.isPermanent) return;
    this.#isStarted = true;
    if (!this.#options.isAlone) this.#job.start();
  }

  /** Looks for events now, if it was started. */
  readonly poke = (): void => {
    if (this.#isStarted) this.#job.start();
    this.#job.wake();
  };

  /** Stops when the attempts under way have ended. Never rejects. */
  async close(): Promise<void> {
    await this.#job.close();
    await Promise.all(Array.from(this.#serving.values(), ({ ending }) => ending));
  }

  /** Serves what is due. Returns whether something was. */
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

  /** Moves the webhooks that want none of the new events behind these, once in a while or where there are many. */
  async #passOver(events: NewEvents): Promise<void> {
    const at = performance.now();
    if (!events.wanting || (!events.hasMore && at - this.#passedOverAt < PASS_OVER_MS)) return;
    await passOver(this.#db.background, events);
    this.#passedOverAt = at;
    this.#matchedThrough = events.end.position;
    if (events.hasMore) this.#job.wake();
  }

  /** Looks how late messages are, and what cannot be sent. */
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

  /** Serves webhooks that are due, as far as there are places. Returns whether there were some. */
  async #serveDue(events: NewEvents, keyIds: readonly string[]): Promise<boolean> {
    const { background } = this.#db;
    const now = this.#options.now();
    const condition = dueWebhooks(now, events, keyIds);
    // Twice as many as there are places: the owners of all places may be among the first.
    const due = await readDue(background, condition, 2 * MOST_AT_ONCE);
    for (const { id, ownerId, place } of this.#inTurn(due)) {
      if (this.#job.signal.aborted) break;
      if (!this.#hasPlace(ownerId, due)) {
        this.#isCrowded = true;
        continue;
      }
      const webhook = await takeLease(
        background,
        id,
        { holder: this.#holder, until: this.#leaseEnd() },
        condition,
        now,
      );
      if (!webhook) continue;
      const ending = this.#serve(webhook).finally(() => {
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

  #leaseEnd(): Date {
    return new Date(this.#options.now().getTime() + LEASE_MS);
  }

  /** Does what a webhook needs, and gives it back. Never rejects. */
  async #serve(webhook: WebhookRow): Promise<void> {
    const { background } = this.#db;
    const { now, log } = this.#options;
    const { id } = webhook;
    try {
      const secrets = this.#secretsOf(webhook);
      const isReadable = secrets.length > 0;
      if (!isReadable || webhook.reason === UNREADABLE) await storeReadable(background, webhook, isReadable, now());
      // It is looked at again when the lease ends.
      if (!isReadable) return;
      if (webhook.state === 'pending') await this.#challenge(webhook, secrets);
      else await this.#deliverEvents(webhook);
      await releaseLease(background, webhook, now());
    } catch (error) {
      // While the service stops, the database may be closed before an endpoint has answered: the lease ends by itself.
      if (!this.#job.signal.aborted) log.warn({ err: error, webhookId: id }, 'a webhook could not be served yet');
    }
  }

  /** Delivers events while there are some, until it is the turn of others or nothing is taken. */
  async #deliverEvents(held: LeasedWebhook): Promise<void> {
    const { background } = this.#db;
    const { id } = held;
    const { now } = this.#options;
    const inFlight = new InFlight();
    const store = (): Promise<void> => inFlight.store((tried) => storeAnswers(background, held, tried, now()));
    for (let turns = 0; turns < TURNS_AT_ONCE; turns += 1) {
      if (this.#job.signal.aborted || inFlight.failuresInRow >= STARTED_A_TURN) break;
      const webhook = await pullEvents(background, held, this.#leaseEnd(), now());
      const secrets = webhook ? this.#secretsOf(webhook) : [];
      if (!webhook || secrets.length === 0) break;
      const room = Math.min(STARTED_A_TURN, MOST_UNANSWERED - inFlight.size);
      const due = await readDueDeliveries(background, id, now(), inFlight.size + room);
      const next = due.filter((delivery) => !inFlight.has(delivery)).slice(0, room);
      for (const delivery of next) inFlight.add(delivery, this.#deliver(webhook, secrets, delivery));
      if (inFlight.size === 0) break;
      const turn = sleep(TURN_MS, undefined, { ref: false });
      await (next.length > 0
        ? Promise.race([inFlight.all(), turn])
        : Promise.race([inFlight.any(), sleep(SLOW_TURN_MS, undefined, { ref: false })]));
      await store();
      await turn;
    }
    await inFlight.all();
    await store();
  }

  async #deliver(webhook: WebhookRow, secrets: readonly string[], delivery: DeliveryRow): Promise<Answer> {
    const answer = await this.#send(webhook, secrets, delivery.id, this.#messageOf(delivery));
    if (isTaken(answer)) this.counts.delivered += 1;
    else this.counts.failed += 1;
    return answer;
  }

  /** The body by the Standard Webhooks specification: the same at each attempt. */
  #messageOf(delivery: DeliveryRow): object {
    const timestamp = delivery.happenedAt.toISOString();
    if (delivery.type === TEST_TYPE) return { type: 'webhook.test', timestamp, data: {} };
    const event = storedEvent(eventOf(delivery));
    return { type: event.type, timestamp, data: eventView(event) };
  }

  /** Asks an endpoint whether it wants events: it has to repeat a random text. So no stranger can be flooded. */
  async #challenge(webhook: WebhookRow, secrets: readonly string[]): Promise<void> {
    const { now } = this.#options;
    const challenge = secureRandomBytes(24).toString('base64url');
    const message = { type: 'webhook.challenge', timestamp: now().toISOString(), data: { challenge } };
    const answer = await this.#send(webhook, secrets, newId(now()), message);
    const flaw = challengeFlaw(answer, challenge);
    const isAnswered = isTaken(answer) && flaw === undefined;
    await storeChallenge(this.#db.background, webhook, { isAnswered, answer: { ...answer, flaw } }, now());
  }

  /** The secrets that sign the messages of a webhook; none where the one that it has cannot be decrypted. */
  #secretsOf(webhook: WebhookRow): string[] {
    const { now, log, secrets } = this.#options;
    const { id: webhookId, secret } = webhook;
    let fault: unknown;
    try {
      const current = secrets.decrypt(secret, webhookId);
      if (current !== undefined) {
        this.#unreadable.delete(webhookId);
        const former = formerSecrets(webhook, now()).map((one) => secrets.decrypt(one.secret, webhookId));
        return [current, ...former.filter((one) => one !== undefined)].slice(0, MAX_SIGNING_SECRETS);
      }
    } catch (error) {
      fault = error;
    }
    if (!this.#unreadable.has(webhookId))
      log.warn({ err: fault, webhookId }, 'the secret of a webhook cannot be decrypted');
    this.#unreadable.add(webhookId);
    return [];
  }

  async #send(webhook: WebhookRow, secrets: readonly string[], id: string, message: object): Promise<Answer> {
    const { now, policy, log, deliver = send } = this.#options;
    const { url } = webhook;
    const body = JSON.stringify(message);
    const answer = await deliver({ url, headers: signedHeaders(id, now(), body, secrets), body }, policy);
    // A dead endpoint fails often: the challenge tells the operator what its owner is not told.
    const level = webhook.state === 'pending' ? 'info' : 'debug';
    if (answer.fault) log[level]({ err: answer.fault, webhookId: webhook.id }, 'a webhook did not answer');
    return answer;
  }
}
