import type { Contract } from '../../../contract/index.ts';
import type { Handlers } from '../../auth/procedure.ts';
import { type ConsumerContractContext, list, publish, remove } from './service.ts';

export const consumerContractHandlers = (c: ConsumerContractContext): Handlers<Contract['consumerContract']> => ({
  publish: (input, call) => publish(c, input, call),
  list: async (_, call) => ({ items: await list(c, call) }),
  delete: (input, call) => remove(c, input, call),
});
