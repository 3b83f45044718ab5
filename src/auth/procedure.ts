import type { InputOf, OutputOf, Route, StreamRoute } from '../../contract/index.ts';
import type { Deadline } from '../base/deadline.ts';
import type { IdempotentCall } from './idempotency/call.ts';
import type { Caller } from './verifier.ts';

/** A call under way. */
export interface Call<C extends Caller | undefined = Caller | undefined> {
  /** The caller; undefined for an anonymous one. */
  caller: C;
  /** The caller's address, according to trusted proxies. */
  address: string;
  /** The time limit of the call. */
  deadline: Deadline;
  /** Set for writes with an `Idempotency-Key`. */
  idempotent?: IdempotentCall | undefined;
}

/** A call of a procedure. If the procedure needs a scope, the call has a caller. */
export type CallOf<R extends Route> = Call<R['metadata']['access'] extends 'public' ? Caller | undefined : Caller>;

/** The functions of a router, one for each procedure: contract input in, contract output out. */
export type Handlers<Router extends Record<string, Route | StreamRoute>> = {
  [K in keyof Router as Router[K] extends Route ? K : never]: Router[K] extends Route
    ? (input: InputOf<Router[K]>, call: CallOf<Router[K]>) => Promise<OutputOf<Router[K]>>
    : never;
};
