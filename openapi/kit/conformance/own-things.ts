import { setTimeout as sleep } from 'node:timers/promises';
import { type Contract, MAX_SIGNING_SECRETS, type OutputOf } from '../../../contract/index.ts';
import type { Calls } from './calls.ts';
import type { Operation } from './contract/operation.ts';
import { inputMembers } from './contract/places.ts';
import { Skip } from './findings/finding.ts';
import type { WebhookReceiver } from './receiver.ts';
import { pick, valueAt } from './values.ts';

type Input = Readonly<Record<string, unknown>>;
type Webhooks = Contract['webhook'];
type Webhook = OutputOf<Webhooks['create']> & { secret: string };
type Delivery = OutputOf<Webhooks['test']> & { id: string };
type Key = OutputOf<Contract['apiKey']['create']>;

/** The operations by which runs make temporary things, each with the operation that removes them. */
const REMOVERS: Readonly<Record<string, string>> = {
  'webhook.create': 'webhook.delete',
  'apiKey.create': 'apiKey.revoke',
  'apiKey.rotate': 'apiKey.revoke',
  'consumerContract.publish': 'consumerContract.delete',
};
const TAG = 'verify';
const PUBLISH = 'consumerContract.publish';
/** How long an endpoint may take to answer the challenge. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 250;

/**
 * The webhooks, keys and consumer contracts that a run makes. Each is removed when its check ends: a user may have only
 * a few. Otherwise keys would expire after a day.
 */
export class OwnThings {
  readonly #calls: Calls;
  readonly #run: string;
  /** The endpoint of webhooks, if the run has a receiver of its own. */
  readonly receiver: WebhookReceiver | undefined;
  /** The number of replies already searched for things. */
  #seen = 0;
  /** Why no endpoint answers, once known. */
  #unreached: string | undefined;

  constructor(calls: Calls, run: string, receiver: WebhookReceiver | undefined) {
    this.#calls = calls;
    this.#run = run;
    this.receiver = receiver;
  }

  /** The name of the run's contract: of a consumer that does not exist, under a tag that operators do not ask for. */
  get contractName(): { consumer: string; tag: string } {
    return { consumer: `verify ${this.#run}`, tag: TAG };
  }

  /** A tag and a contract to publish. */
  get contractInput(): { tag: string; contract: { consumer: string; contract: string; needs: readonly object[] } } {
    const { consumer, tag } = this.contractName;
    const { contract } = this.#calls.operation(PUBLISH).example.input as { contract: object };
    return { tag, contract: { ...contract, consumer } as never };
  }

  get #keyInput(): { name: string; expiresInDays: number } {
    return { name: `[${TAG} ${this.#run}] key`, expiresInDays: 1 };
  }

  /** The members that make an operation's example use a new thing; undefined if it uses none. @throws Skip */
  async inputFor(operation: Operation): Promise<Input | undefined> {
    const { id, router, effect, idMember, notFound } = operation;
    if (id === PUBLISH) return this.contractInput;
    if (id === 'apiKey.create') return this.#keyInput;
    if (router === 'consumerContract' && effect === 'write') {
      await this.#prepare(PUBLISH, this.contractInput);
      return this.contractName;
    }
    if (idMember === undefined || !notFound) return undefined;
    if (router === 'apiKey') return { [idMember]: (await this.key()).id };
    if (router !== 'webhook') return undefined;
    if (idMember === 'deliveryId') return { [idMember]: (await this.delivery()).deliveryId };
    const webhook = await (operation.reasons.includes('WEBHOOK_NOT_ACTIVE') ? this.activeWebhook() : this.webhook());
    return { [idMember]: webhook.id };
  }

  /** Makes a webhook from the example's input, to the receiver of the run, if any. @throws Skip */
  webhook(choice: object = {}): Promise<Webhook> {
    const url = this.receiver && { url: this.receiver.newUrl() };
    return this.#prepare('webhook.create', {
      ...this.#calls.operation('webhook.create').example.input,
      ...choice,
      ...url,
    });
  }

  /** Makes a webhook that gets events. @throws Skip if its endpoint does not answer the challenge */
  async activeWebhook(choice: object = {}): Promise<Webhook> {
    const webhook = await this.webhook(choice);
    if (this.#unreached !== undefined) throw new Skip(this.#unreached);
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
      const { items } = await this.#prepare<OutputOf<Webhooks['list']>>('webhook.list', {});
      const { state, reason } = items.find(({ id }) => id === webhook.id) ?? {};
      if (state === 'active') return webhook;
      if (!reason && Date.now() < deadline) continue;
      this.#unreached = `no endpoint answers the challenge: ${reason ?? 'it was not asked in time'}`;
      throw new Skip(this.#unreached);
    }
  }

  /** Makes a paused webhook. @throws Skip */
  async pausedWebhook(): Promise<Webhook> {
    const webhook = await this.webhook();
    await this.#prepare('webhook.update', { id: webhook.id, state: 'paused' });
    return webhook;
  }

  /** Makes a webhook with the greatest number of signing secrets. @throws Skip */
  async rotatedWebhook(): Promise<Webhook> {
    const webhook = await this.webhook();
    for (let secrets = 1; secrets < MAX_SIGNING_SECRETS; secrets += 1)
      await this.#prepare('webhook.rotateSecret', { id: webhook.id });
    return webhook;
  }

  /** Makes a delivery, and returns it with the `id` of its webhook. @throws Skip */
  async delivery(): Promise<Delivery> {
    const { id } = await this.activeWebhook();
    return { id, ...(await this.#prepare<OutputOf<Webhooks['test']>>('webhook.test', { id })) };
  }

  /** Makes a key with the scope to change keys, like the key in use. @throws Skip */
  key(): Promise<Key> {
    return this.#prepare<Key>('apiKey.create', { ...this.#keyInput, scopes: ['key:write'] });
  }

  /** Makes a revoked key. @throws Skip */
  async endedKey(): Promise<Key> {
    const key = await this.key();
    await this.#prepare('apiKey.revoke', { id: key.id });
    return key;
  }

  /** Removes the things made since the last call. Never rejects. */
  async tidy(): Promise<void> {
    const { replies } = this.#calls.client;
    const made = replies.slice(this.#seen).filter(({ subject, status }) => subject in REMOVERS && status === 200);
    const removals = new Map<string, readonly [Operation, Input]>();
    for (const { subject, json } of made) {
      const remover = this.#calls.operation(REMOVERS[subject] ?? '');
      const thing = Object(valueAt(json, ['result', 'data', 'json'])) as object;
      const input = pick(
        thing,
        inputMembers(remover).map(({ name }) => name),
      );
      removals.set(JSON.stringify([remover.id, input]), [remover, input]);
    }
    // A thing that its check removed is no longer found.
    for (const [remover, input] of removals.values()) await this.#calls.post(remover, input).catch(() => undefined);
    this.#seen = replies.length;
  }

  #prepare<T>(id: string, input: unknown): Promise<T> {
    return this.#calls.prepare<T>(this.#calls.operation(id), input);
  }
}
