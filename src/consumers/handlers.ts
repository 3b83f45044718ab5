import type { Contract } from '../../contract/index.ts';
import type { Handlers } from '../auth/procedure.ts';
import { type ApiKeyContext, calls, create, list, rename, revoke, rotate, usage } from './service.ts';
import { callsView, usageView } from './view.ts';

export const apiKeyHandlers = (c: ApiKeyContext): Handlers<Contract['apiKey']> => ({
  list: (input, call) => list(c, input, call),
  usage: async (input, call) => usageView(await usage(c, input, call)),
  calls: async (input, call) => callsView(await calls(c, input, call)),
  create: (input, call) => create(c, input, call),
  rename: (input, call) => rename(c, input, call),
  rotate: (input, call) => rotate(c, input, call),
  revoke: ({ id }, call) => revoke(c, id, call),
});
