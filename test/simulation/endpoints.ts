import { sleep } from '../../src/base/runtime.ts';
import { type Answer, type Message, type send, signedHeaders } from '../../src/event/webhook/sender/send.ts';
import type { Random } from '../../src/sandbox/seed/random.ts';
import { entryOf, type Entry, microseconds } from '../histories/history.ts';
import { eventIn, type Json } from '../histories/session.ts';

/** The addresses of the endpoint that takes messages, and of the one that takes none. */
export const LIVE = 'https://live.example.com/';
export const DEAD = 'https://dead.example.com/';

/** The part of the messages that an endpoint refuses, and of those that it takes without an answer. */
const REFUSED = 0.2;
const SILENT = 0.05;
const SLOWEST_MS = 500;
/** The time that the service waits for an answer. */
const PATIENCE_MS = 10_000;

const answer = (status: number, body = ''): Answer => ({ status, text: body, body, retryAfter: undefined });
const noAnswer: Answer = { status: undefined, text: '', body: '', retryAfter: undefined };

/** A webhook, as far as its endpoint knows it. */
export interface Subscription {
  user: string;
  types: readonly string[];
  secret: string;
  /** Whether it takes nothing but the challenge. */
  isDead: boolean;
}

/** The endpoints of webhooks, which are slow, refuse messages, or take them without an answer. */
export class Endpoints {
  readonly #random: Random;
  readonly #history: Entry[];
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #attempts = new Map<string, number>();
  /** Whether the endpoints that work take all messages at once. */
  isSound = false;

  constructor(random: Random, history: Entry[]) {
    this.#random = random;
    this.#history = history;
  }

  subscribe(url: string, subscription: Subscription): void {
    this.#subscriptions.set(url, subscription);
  }

  /** The messages that an endpoint got. */
  attempts(url: string): number {
    return this.#attempts.get(url) ?? 0;
  }

  readonly deliver: typeof send = async (message: Message): Promise<Answer> => {
    const data = (JSON.parse(message.body) as { data: Json }).data;
    if (data['challenge'] !== undefined) return answer(200, JSON.stringify({ challenge: data['challenge'] }));
    const subscription = this.#subscriptions.get(message.url)!;
    this.#attempts.set(message.url, this.attempts(message.url) + 1);
    if (subscription.isDead) return answer(503);
    const isTaken = this.isSound || !this.#random.chance(REFUSED);
    if (isTaken) this.#note(subscription, message, data);
    if (this.isSound) return answer(204);
    if (this.#random.chance(SILENT)) {
      await sleep(PATIENCE_MS);
      return noAnswer;
    }
    await sleep(this.#random.between(1, SLOWEST_MS));
    return answer(isTaken ? 204 : 503);
  };

  #note({ user, types, secret }: Subscription, { headers, body }: Message, data: Json): void {
    const event = eventIn(data);
    const messageId = headers['webhook-id'] ?? '';
    const signed = signedHeaders(messageId, new Date(Number(headers['webhook-timestamp']) * 1000), body, [secret]);
    this.#history.push(
      entryOf('message', {
        user,
        record: event.record,
        input: { types },
        events: [event],
        call: microseconds(),
        messageId,
        // After a rotation, the former secret signs too.
        isSigned: headers['webhook-signature']?.split(' ').includes(signed['webhook-signature'] ?? '') ?? false,
      }),
    );
  }
}
