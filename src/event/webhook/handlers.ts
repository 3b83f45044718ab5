import type { Contract, OutputOf } from '../../../contract/index.ts';
import { deleteOnce, withoutSecret, type Writes } from '../../auth/idempotency/writes.ts';
import type { Call, Handlers } from '../../auth/procedure.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { listDeliveries, redeliver, testWebhook } from './deliveries.ts';
import type { WebhookSecrets } from './secrets.ts';
import type { WebhookPolicy } from './sender/guard.ts';
import {
  createWebhook,
  deleteWebhook,
  listOwnWebhooks,
  readWebhook,
  rotateSecret,
  updateWebhook,
  type WebhookActor,
} from './webhooks.ts';

/** The dependencies of the router `webhook`. */
interface WebhookContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  writes: Writes;
  policy: WebhookPolicy;
  secrets: WebhookSecrets;
  /** Called when messages are due. */
  onWork: () => void;
}

type OwnerWork<T> = (tx: Transaction, owner: WebhookActor) => Promise<T>;

/** The procedures of the router `webhook`: each has access to the webhooks of its caller only. */
export const webhookHandlers = (c: WebhookContext): Handlers<Contract['webhook']> => {
  /** Does a write for the caller, then has the due messages sent. See `Writes.do` for `look` and `keep`. */
  const write = async <T extends object>(
    call: Call<Caller>,
    work: OwnerWork<T>,
    { look, keep }: { look?: OwnerWork<T>; keep?: (output: T) => T } = {},
  ): Promise<T> => {
    const forOwner = (does: OwnerWork<T>) => (tx: Transaction) =>
      does(tx, { ownerId: call.caller.userId, now: c.now() });
    const output = await c.writes.do(call, forOwner(work), { look: look && forOwner(look), keep });
    c.onWork();
    return output;
  };

  return {
    create: (input, call) =>
      write<OutputOf<Contract['webhook']['create']>>(
        call,
        (tx, owner) => createWebhook(tx, { ...input, userId: call.caller.userId }, c, owner),
        { keep: withoutSecret },
      ),
    list: async (_, { caller, deadline }) => ({
      items: await listOwnWebhooks(c.db.within(deadline), caller.userId, c.secrets),
    }),
    update: (input, call) =>
      write(call, (tx, owner) => updateWebhook(tx, input, c, owner), {
        look: (tx, owner) => readWebhook(tx, input.id, c.secrets, owner),
      }),
    test: ({ id }, call) => write(call, async (tx, owner) => ({ deliveryId: await testWebhook(tx, id, owner) })),
    rotateSecret: ({ id }, call) =>
      write<OutputOf<Contract['webhook']['rotateSecret']>>(
        call,
        (tx, owner) => rotateSecret(tx, id, c.secrets, owner),
        {
          keep: withoutSecret,
        },
      ),
    deliveries: ({ id, ...query }, { caller, deadline }) =>
      listDeliveries(c.db.within(deadline), id, query, caller.userId),
    redeliver: ({ deliveryId }, call) => write(call, (tx, owner) => redeliver(tx, deliveryId, owner)),
    delete: ({ id }, call) =>
      deleteOnce(call, 'WEBHOOK_NOT_FOUND', () =>
        write(call, async (tx, owner) => {
          await deleteWebhook(tx, id, owner);
          return { id };
        }),
      ),
  };
};
