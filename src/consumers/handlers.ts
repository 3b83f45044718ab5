import type { Contract } from '../../contract/index.ts';
import type { Handlers } from '../auth/procedure.ts';
import { type ApiKeyContext, calls, create, list, rename, revoke, rotate, usage } from './service.ts';

export const apiKeyHandlers = (c: ApiKeyContext): Handlers<Contract['apiKey']> => ({
  list: (input, call) => list(c, input, call),
  usage: (input, call) => usage(c, input, call),
  calls: (input, call) => calls(c, input, call),
  create: (input, call) => create(c, input, call),
  rename: (input, call) => rename(c, input, call),
  rotate: (input, call) => rotate(c, input, call),
  revoke: (input, call) => revoke(c, input, call),
});
