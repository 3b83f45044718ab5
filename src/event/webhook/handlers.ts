import type { Contract } from '../../../contract/index.ts';
import type { Handlers } from '../../auth/procedure.ts';
import {
  create,
  deliverAgain,
  deliveries,
  list,
  remove,
  rotate,
  test,
  update,
  type WebhookContext,
} from './service.ts';

export const webhookHandlers = (c: WebhookContext): Handlers<Contract['webhook']> => ({
  create: (input, call) => create(c, input, call),
  list: async (_, call) => ({ items: await list(c, call) }),
  update: (input, call) => update(c, input, call),
  test: ({ id }, call) => test(c, id, call),
  rotateSecret: ({ id }, call) => rotate(c, id, call),
  deliveries: (input, call) => deliveries(c, input, call),
  redeliver: ({ deliveryId }, call) => deliverAgain(c, deliveryId, call),
  delete: ({ id }, call) => remove(c, id, call),
});
