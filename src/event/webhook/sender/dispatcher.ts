import type { Logger } from 'pino';
import { MAX_SIGNING_SECRETS } from '../../../../contract/index.ts';
import { secureRandomBytes, sleep } from '../../../base/runtime.ts';
import type { WorkloadPool } from '../../../db/workload-pool.ts';
import { newId } from '../../../db/values.ts';
import { storedEvent } from '../../service.ts';
import { eventView } from '../../view.ts';
import { type DeliveryRow, eventOf, formerSecrets, type WebhookRow } from '../entity.ts';
import type { WebhookSecrets } from '../secrets.ts';
import { challengeFlaw } from './challenges.ts';
import type { WebhookPolicy } from './guard.ts';
import { InFlight } from './in-flight.ts';
import { type Answer, isTaken, send, signedHeaders } from './send.ts';
import {
  type LeasedWebhook,
  pullEvents,
  readDueDeliveries,
  releaseLease,
  storeAnswers,
  storeChallenge,
  storeReadable,
  TEST_TYPE,
  UNREADABLE,
} from './store.ts';

/** Longer than an attempt: a process that crashes loses its webhooks after this time. */
export const LEASE_MS = 30_000;
/** Messages started per turn, and the minimum time from one turn to the next: at most 50 a second for an endpoint. */
const STARTED_A_TURN = 10;
const TURN_MS = 200;
/** How long a turn waits for a slow endpoint before it looks for more events. */
const SLOW_TURN_MS = 2000;
/** Messages to an endpoint that may await an answer at once: a few that hang do not block the others. */
const MOST_UNANSWERED = 20;
/** Turns that a webhook gets before others get theirs. */
const TURNS_AT_ONCE = 50;

export interface DispatcherOptions {
  log: Logger;
  now: () => Date;
  policy: WebhookPolicy;
  secrets: WebhookSecrets;
  /** Answers messages in place of endpoints (default: they are sent). */
  deliver?: typeof send | undefined;
}

/** The end of a lease that is taken or extended now. */
export const leaseEnd = (now: Date): Date => new Date(now.getTime() + LEASE_MS);

/** Sends challenges and events to the webhooks whose lease this process holds. */
export class WebhookDispatcher {
  readonly #db: WorkloadPool;
  /** Aborted when the sender closes: then no further attempts begin. */
  readonly #stopping: AbortSignal;
  readonly #options: DispatcherOptions;
  /** The number of attempts so far. */
  readonly counts = { delivered: 0, failed: 0 };
  /** The webhooks whose unreadable secrets have been logged. */
  readonly #unreadable = new Set<string>();

  constructor(db: WorkloadPool, stopping: AbortSignal, options: DispatcherOptions) {
    this.#db = db;
    this.#stopping = stopping;
    this.#options = options;
  }

  /** Serves a webhook, then releases its lease. Never rejects. */
  async serve(webhook: WebhookRow): Promise<void> {
    const { now, log } = this.#options;
    try {
      const secrets = this.#secretsOf(webhook);
      const isReadable = secrets.length > 0;
      if (!isReadable || webhook.reason === UNREADABLE) await storeReadable(this.#db, webhook, isReadable, now());
      // The webhook is due again when its lease ends.
      if (!isReadable) return;
      if (webhook.state === 'pending') await this.#challenge(webhook, secrets);
      else await this.#deliverEvents(webhook);
      await releaseLease(this.#db, webhook, now());
    } catch (error) {
      // While the service stops, the database may close before an endpoint has answered: the lease then expires.
      if (!this.#stopping.aborted) log.warn({ err: error, webhookId: webhook.id }, 'a webhook could not be served yet');
    }
  }

  /** Delivers events until none is left, other webhooks get their turn, or the endpoint takes nothing. */
  async #deliverEvents(held: LeasedWebhook): Promise<void> {
    const { now } = this.#options;
    const inFlight = new InFlight();
    const store = (): Promise<void> => inFlight.store((tried) => storeAnswers(this.#db, held, tried, now()));
    for (let turns = 0; turns < TURNS_AT_ONCE; turns += 1) {
      if (this.#stopping.aborted || inFlight.failuresInRow >= STARTED_A_TURN) break;
      const webhook = await pullEvents(this.#db, held, leaseEnd(now()), now());
      const secrets = webhook ? this.#secretsOf(webhook) : [];
      if (!webhook || secrets.length === 0) break;
      const room = Math.min(STARTED_A_TURN, MOST_UNANSWERED - inFlight.size);
      const due = await readDueDeliveries(this.#db, held.id, now(), inFlight.size + room);
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

  /** The body by the Standard Webhooks specification. It is the same at each attempt. */
  #messageOf(delivery: DeliveryRow): object {
    const timestamp = delivery.happenedAt.toISOString();
    if (delivery.type === TEST_TYPE) return { type: 'webhook.test', timestamp, data: {} };
    const event = storedEvent(eventOf(delivery));
    return { type: event.type, timestamp, data: eventView(event) };
  }

  /** Asks an endpoint whether it wants events: it must repeat a random text. This prevents floods of third parties. */
  async #challenge(webhook: WebhookRow, secrets: readonly string[]): Promise<void> {
    const { now } = this.#options;
    const challenge = secureRandomBytes(24).toString('base64url');
    const message = { type: 'webhook.challenge', timestamp: now().toISOString(), data: { challenge } };
    const answer = await this.#send(webhook, secrets, newId(now()), message);
    const flaw = challengeFlaw(answer, challenge);
    const isAnswered = isTaken(answer) && flaw === undefined;
    await storeChallenge(this.#db, webhook, { isAnswered, answer: { ...answer, flaw } }, now());
  }

  /** The secrets that sign the messages of a webhook; empty if its current secret cannot be decrypted. */
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
    // A dead endpoint fails often. For a challenge, the operator's log gives details that the owner does not get.
    const level = webhook.state === 'pending' ? 'info' : 'debug';
    if (answer.fault) log[level]({ err: answer.fault, webhookId: webhook.id }, 'a webhook did not answer');
    return answer;
  }
}
