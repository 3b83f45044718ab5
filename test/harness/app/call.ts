import { scopes } from '../../../contract/index.ts';
import { Deadline } from '../../../src/base/deadline.ts';
import type { Caller } from '../../../src/auth/verifier.ts';
import type { Call } from '../../../src/auth/procedure.ts';

/** A call that has all the time there is, of a user, by a key of all scopes that there is not. */
export const callOf = (userId: string): Call<Caller> => ({
  caller: {
    userId,
    key: { id: userId, name: 'test', scopes: [...scopes], expiresAt: null },
  },
  address: '192.0.2.1',
  deadline: new Deadline(),
});

/** Likewise, of nobody in particular. */
export const anonymousCall = (): Call => ({ caller: undefined, address: '192.0.2.1', deadline: new Deadline() });
