import type { Contract, InputOf, OutputOf } from '../../../contract/index.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { deleteOnce, withoutSecret, type Writes } from '../../auth/idempotency/writes.ts';
import type { Call } from '../../auth/procedure.ts';
import type { WebhookSecrets } from './secrets.ts';
import type { WebhookPolicy } from './sender/guard.ts';
import { type Delivery, listDeliveries, redeliver, testWebhook } from './deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  listOwnWebhooks,
  readWebhook,
  rotateSecret,
  updateWebhook,
  type Webhook,
  type WebhookActor,
} from './webhooks.ts';

type Router = Contract['webhook'];
type OwnerCall = Call<Caller>;

/** The dependencies of the router `webhook`. */
export interface WebhookContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  writes: Writes;
  policy: WebhookPolicy;
  secrets: WebhookSecrets;
  /** Called when something is to be sent. */
  onWork: () => void;
}

type OwnerWork<T> = (tx: Transaction, owner: WebhookActor) => Promise<T>;

/** Does a write for the owner, and has sent what it leads to. See `Writes.do` for `look` and `keep`. */
const write = async <T extends object>(
  { writes, now, onWork }: WebhookContext,
  call: OwnerCall,
  work: OwnerWork<T>,
  { look, keep }: { look?: OwnerWork<T>; keep?: (output: T) => T } = {},
): Promise<T> => {
  const { userId: ownerId } = call.caller;
  const within = (does: OwnerWork<T>) => (tx: Transaction) => does(tx, { ownerId, now: now() });
  const output = await writes.do(call, within(work), { look: look && within(look), keep });
  onWork();
  return output;
};

/** Makes a webhook of the caller. @throws AppError WEBHOOK_URL_FORBIDDEN, WEBHOOK_LIMIT, EVENTS_OFF, WEBHOOK_SECRETS_OFF */
export const create = (
  c: WebhookContext,
  input: InputOf<Router['create']>,
  call: OwnerCall,
): Promise<OutputOf<Router['create']>> =>
  write(
    c,
    call,
    (tx, owner): Promise<OutputOf<Router['create']>> =>
      createWebhook(tx, { ...input, userId: call.caller.userId }, c, owner),
    { keep: withoutSecret },
  );

/** The webhooks of the caller, the oldest first. */
export const list = ({ db, secrets }: WebhookContext, { caller, deadline }: OwnerCall): Promise<Webhook[]> =>
  listOwnWebhooks(db.within(deadline), caller.userId, secrets);

/** Changes a webhook of the caller. @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_URL_FORBIDDEN */
export const update = (c: WebhookContext, input: InputOf<Router['update']>, call: OwnerCall): Promise<Webhook> =>
  write(c, call, (tx, owner) => updateWebhook(tx, input, c, owner), {
    look: (tx, owner) => readWebhook(tx, input.id, c.secrets, owner),
  });

/** Queues a test message. @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_NOT_ACTIVE */
export const test = (c: WebhookContext, id: string, call: OwnerCall): Promise<OutputOf<Router['test']>> =>
  write(c, call, async (tx, owner) => ({ deliveryId: await testWebhook(tx, id, owner) }));

/** Gives a webhook of the caller another secret. @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_SECRETS_OFF, WEBHOOK_SECRET_LIMIT */
export const rotate = (c: WebhookContext, id: string, call: OwnerCall): Promise<OutputOf<Router['rotateSecret']>> =>
  write(c, call, (tx, owner): Promise<OutputOf<Router['rotateSecret']>> => rotateSecret(tx, id, c.secrets, owner), {
    keep: withoutSecret,
  });

/** The deliveries of a webhook of the caller, the latest first. @throws AppError WEBHOOK_NOT_FOUND */
export const deliveries = (
  { db }: WebhookContext,
  { id, ...query }: InputOf<Router['deliveries']>,
  { caller, deadline }: OwnerCall,
): Promise<OutputOf<Router['deliveries']>> => listDeliveries(db.within(deadline), id, query, caller.userId);

/** Queues a delivery again. @throws AppError DELIVERY_NOT_FOUND */
export const deliverAgain = (c: WebhookContext, deliveryId: string, call: OwnerCall): Promise<Delivery> =>
  write(c, call, (tx, owner) => redeliver(tx, deliveryId, owner));

/** Deletes a webhook of the caller. @throws AppError WEBHOOK_NOT_FOUND */
export const remove = (c: WebhookContext, id: string, call: OwnerCall): Promise<OutputOf<Router['delete']>> =>
  deleteOnce(call, 'WEBHOOK_NOT_FOUND', () =>
    write(c, call, async (tx, owner) => {
      await deleteWebhook(tx, id, owner);
      return { id };
    }),
  );
