import type { InputOf, OutputOf, Route } from '../contract/index.ts';
import type { Deadline } from './deadline.ts';
import type { IdempotentCall } from './idempotency/call.ts';
import type { Caller } from './auth/verifier.ts';

/** A call under way. */
export interface Call<C extends Caller | undefined = Caller | undefined> {
  /** Who calls; undefined for nobody in particular. */
  caller: C;
  /** Whence, as far as trusted proxies tell. */
  address: string;
  /** How long it may take. */
  deadline: Deadline;
  /** How a repetition of it is known, where it is a write whose caller asks for that. */
  idempotent?: IdempotentCall | undefined;
}

/** A call of a procedure: certainly someone's where a scope is needed. */
export type CallOf<R extends Route> = Call<R['metadata']['access'] extends 'public' ? Caller | undefined : Caller>;

/** One function for each procedure of a router: contract input in, contract output out. */
export type Handlers<Router extends Record<string, Route>> = {
  [K in keyof Router]: (input: InputOf<Router[K]>, call: CallOf<Router[K]>) => Promise<OutputOf<Router[K]>>;
};
