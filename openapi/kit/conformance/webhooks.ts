import { setTimeout as sleep } from 'node:timers/promises';
import { type Contract, MAX_SIGNING_SECRETS, type OutputOf } from '../../../contract/index.ts';
import type { Operation } from './contract/operation.ts';
import type { Reply } from './exchange.ts';
import { Skip } from './findings/finding.ts';
import type { WebhookReceiver } from './receiver.ts';
import { valueAt } from './values.ts';

/** How a run calls the deployment. */
interface Calls {
  readonly client: { readonly replies: readonly Reply[] };
  /** Where webhooks are to lead, if the run has a receiver of its own. */
  readonly receiver: WebhookReceiver | undefined;
  operation: (id: string) => Operation;
  prepare: <T>(operation: Operation, json: unknown) => Promise<T>;
  post: (operation: Operation, json: unknown) => Promise<Reply>;
}

type Listed = OutputOf<Contract['webhook']['list']>;
type Created = OutputOf<Contract['webhook']['create']> & { secret: string };
type Tested = OutputOf<Contract['webhook']['test']>;

const ROUTER = 'webhook';
const CREATE = 'webhook.create';
/** How long an endpoint may take to answer the challenge. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 250;

/** The webhooks that a run makes. Each is deleted when the check ends for which it was made, as a user has a few at most. */
export class OwnWebhooks {
  readonly #session: Calls;
  /** How many replies have been looked through for webhooks. */
  #seen = 0;
  /** Why no endpoint answers, once that is known. */
  #unreached: string | undefined;

  constructor(session: Calls) {
    this.#session = session;
  }

  /** Whether an operation takes the id of a webhook, or of something delivered to one. */
  has({ router }: Pick<Operation, 'router'>): boolean {
    return router === ROUTER;
  }

  /** Makes a webhook of the example's input, which leads to the receiver of the run, if it has one. @throws Skip */
  create(choice: object = {}): Promise<Created> {
    const create = this.#session.operation(CREATE);
    const { receiver } = this.#session;
    const url = receiver && { url: receiver.newUrl() };
    return this.#session.prepare<Created>(create, { ...(create.example.input as object), ...choice, ...url });
  }

  /** Makes a webhook that gets events. @throws Skip */
  async active(choice: object = {}): Promise<Created> {
    const webhook = await this.create(choice);
    await this.#untilActive(webhook.id);
    return webhook;
  }

  /** The id of a new webhook that is paused. @throws Skip */
  async paused(): Promise<string> {
    const { id } = await this.create();
    await this.#session.prepare(this.#session.operation('webhook.update'), { id, state: 'paused' });
    return id;
  }

  /** The id of a new webhook with as many secrets as may sign. @throws Skip */
  async rotated(): Promise<string> {
    const { id } = await this.create();
    const rotate = this.#session.operation('webhook.rotateSecret');
    for (let secrets = 1; secrets < MAX_SIGNING_SECRETS; secrets += 1) await this.#session.prepare(rotate, { id });
    return id;
  }

  /** The id that an operation takes: of a new webhook, in the state that it needs, or of a new delivery. @throws Skip */
  async idFor({ idMember, reasons }: Pick<Operation, 'idMember' | 'reasons'>): Promise<string> {
    if (idMember === 'deliveryId') return (await this.delivery()).deliveryId;
    const { id } = await (reasons.includes('WEBHOOK_NOT_ACTIVE') ? this.active() : this.create());
    return id;
  }

  /** A new delivery. @throws Skip */
  async delivery(): Promise<Tested & { id: string }> {
    const { id } = await this.active();
    return { id, ...(await this.#session.prepare<Tested>(this.#session.operation('webhook.test'), { id })) };
  }

  /** Deletes the webhooks that were made since the last time. Never rejects. */
  async tidy(): Promise<void> {
    const { replies } = this.#session.client;
    const made = replies.slice(this.#seen).filter(({ subject, status }) => subject === CREATE && status === 200);
    const ids = new Set(made.map(({ json }) => String(valueAt(json, ['result', 'data', 'json', 'id']))));
    for (const id of ids) {
      // One that its check has deleted is no longer found.
      await this.#session.post(this.#session.operation('webhook.delete'), { id }).catch(() => undefined);
    }
    this.#seen = replies.length;
  }

  /** Waits for a webhook's endpoint to answer the challenge. @throws Skip if it does not */
  async #untilActive(id: string): Promise<void> {
    if (this.#unreached !== undefined) throw new Skip(this.#unreached);
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
      const { items } = await this.#session.prepare<Listed>(this.#session.operation('webhook.list'), {});
      const webhook = items.find((one) => one.id === id);
      if (webhook?.state === 'active') return;
      if (!webhook?.reason && Date.now() < deadline) continue;
      this.#unreached = `no endpoint answers the challenge: ${webhook?.reason ?? 'it was not asked in time'}`;
      throw new Skip(this.#unreached);
    }
  }
}
